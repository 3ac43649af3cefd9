#pragma once
// What a table says about how many heads of which dimension suit it: a pilot of heads on random projections,
// and the plan that follows.

#include "headspan/estimator/pilot_facts.h"

namespace headspan::estimator {

/// Heads on orthonormal blocks of random bases of the standardised inputs: [n_heads*head_dim, d], orthogonal
/// to one another as far as one basis goes. Throws ArgumentError unless 1 <= n_heads and 1 <= head_dim <= d.
Matrix projection_blocks(Index n_heads, Index head_dim, Index d, std::uint64_t seed);

/// Measures heads of several of the admissible dimensions, each at bandwidths half an octave apart: exact
/// leave-one-out residuals and covariances of their weights, and both noise estimates. `x` [n, inputs], `y`
/// [n]; columns are centred and scaled, constant ones left out. `rules`: the pairs that a plan will be asked
/// for; heads are no wider than the inputs. Throws ArgumentError on sizes that disagree, what is not finite,
/// fewer than 8 rows, a constant y, no column that varies, options below 1, and rules without a pair. O(m^2
/// (k + H) H) per bandwidth and dimension, m the rows used; same bits for any number of threads.
Pilot run_pilot(MatrixView x, VectorView y, const plan::PairRules& rules, const PilotOptions& options = {});

/// The plan for `n` training points: per head dimension the bandwidth of least predicted error, the bias
/// measured there, and the measured weights carried to n points, r / (1 - r) falling as 1/n for a variance r
/// s2 (a mean of n values has r = 1/n). At the pilot's own n nothing is carried. Throws ArgumentError for n
/// <= 2 and rules without a pair. O(n_bootstrap (m x cells + D)).
PilotPlan plan_from(const Pilot& pilot, const plan::PairRules& rules, double n,
                    const PilotOptions& options = {});

/// Fits every pair of the plan on the whole table, with new projections (`seed`) in each of `n_draws` draws
/// and the bandwidth of least leave-one-out error on the same grid. Throws ArgumentError as run_pilot does,
/// and for n_draws < 1. O(n_draws n^2 D) per pair and bandwidth tried.
GridCheck check_grid(MatrixView x, VectorView y, const PilotPlan& plan, Index n_draws, std::uint64_t seed);

}  // namespace headspan::estimator
