#pragma once
// What a table says about how many heads of which dimension suit it: a pilot of heads on random projections,
// and the plan that follows.

#include <cstddef>
#include <functional>
#include <optional>

#include "headspan/estimator/pilot_facts.h"

namespace headspan::estimator {

/// Heads on orthonormal blocks of random bases of the standardised inputs: [n_heads*head_dim, d]; the first
/// `per_basis` are of one basis and so orthogonal to one another, and so on. By default as many as a basis
/// holds. Throws ArgumentError unless 1 <= n_heads, 1 <= head_dim <= d and 1 <= per_basis <= d/head_dim.
Matrix projection_blocks(Index n_heads, Index head_dim, Index d, std::uint64_t seed,
                         std::optional<Index> per_basis = {});

/// What run_pilot asks of a table. Throws ArgumentError on sizes that disagree, what is not finite, fewer
/// than 8 rows, a constant y, no column that varies, and a y whose powers leave the range of double.
void check_pilot_table(MatrixView x, VectorView y);

/// Measures heads of several of the admissible dimensions, each at bandwidths half an octave apart: exact
/// leave-one-out residuals and covariances of their weights, and both noise estimates. `x` [n, inputs], `y`
/// [n]; columns are centred and scaled, constant ones left out. `rules`: the pairs that a plan will be asked
/// for; heads are no wider than the inputs. Throws ArgumentError as check_pilot_table does, on
/// options below 1, and rules without a pair. O(m^2
/// (k H + W^2)) per bandwidth and dimension, m the rows used, H heads of which W are weighted; same bits for
/// any number of threads.
Pilot run_pilot(MatrixView x, VectorView y, const plan::PairRules& rules, const PilotOptions& options = {});

/// The plan for `n` training points: per head dimension the bandwidth of least predicted error, the bias
/// measured there, and the measured weights carried to n points, r / (1 - r) falling as 1/n for a variance r
/// s2 (a mean of n values has r = 1/n). At the pilot's own n nothing is carried. Throws ArgumentError for n
/// <= 2 and rules without a pair. O(n_bootstrap (m x cells + D)).
PilotPlan plan_from(const Pilot& pilot, const plan::PairRules& rules, double n,
                    const PilotOptions& options = {});

/// Draws done, and the most there may be; called from the calling thread.
using GridProgress = std::function<void(std::size_t done, std::size_t most)>;

/// Fits every pair of the plan on the whole table, each draw with new projections and the bandwidth of least
/// leave-one-out error on the pilot's grid. Every pair gets three draws; then the planned pair, and all that
/// are within three standard errors of the best, get twice as many as they have, until every one of them has
/// the most allowed or is known to a quarter of a percent. Throws ArgumentError as run_pilot does, and for
/// n_draws < 1. O(n^2 D) per draw and bandwidth tried; same bits for any number of threads.
GridCheck check_grid(MatrixView x, VectorView y, const PilotPlan& plan, const GridOptions& options = {},
                     const GridProgress& progress = {});

}  // namespace headspan::estimator
