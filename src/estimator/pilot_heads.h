#pragma once
// Heads on random projections of a table in standard units: what the pilot and the check of its plan both
// fit.

#include <cstdint>
#include <vector>

#include "headspan/numeric/matrix.h"
#include "headspan/nw/heads.h"

namespace headspan::estimator {

/// Columns centred and divided by their standard deviation, constant ones left out.
struct PilotInputs {
  Matrix x;
  std::vector<Index> constant;
};

/// Throws ArgumentError as check_pilot_table does.
PilotInputs pilot_inputs(MatrixView x, VectorView y);

/// Bandwidths tried for a head dimension, half an octave apart: from 0.12 to 2 times sqrt(head_dim).
Vector pilot_bandwidths(Index head_dim);

/// Equal heads but for their projections, `frames` [n_heads*head_dim, d].
std::vector<nw::Head> heads_on(const Matrix& frames, Index head_dim, double bandwidth);

/// y less the estimate of every head from all other points [n, H].
Matrix left_out_residuals(const nw::HeadsEstimate<double>& estimate, VectorView y);

/// Means over the pairs of each kind of products of heads [H, H], `per_basis` of them in one basis; what is
/// empty as HeadProducts says.
struct MeanProducts {
  double own, within, across;
};
MeanProducts mean_products(MatrixView products, Index per_basis);

/// Share of the pairs of `n_heads` heads that are of one basis, which holds `per_basis`; 0 for one head.
double share_within(double n_heads, double per_basis);

/// Mean squared leave-one-out residual of the mean of the heads.
double ensemble_loo(const Matrix& x, VectorView y, const Matrix& frames, Index head_dim, double bandwidth);

}  // namespace headspan::estimator
