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

/// Throws ArgumentError on sizes that disagree, what is not finite, fewer than 8 rows, a constant y, and
/// where no column varies.
PilotInputs pilot_inputs(MatrixView x, VectorView y);

/// Bandwidths tried for a head dimension, half an octave apart: from 0.12 to 2 times sqrt(head_dim).
Vector pilot_bandwidths(Index head_dim);

/// Equal heads but for their projections, `frames` [n_heads*head_dim, d].
std::vector<nw::Head> heads_on(const Matrix& frames, Index head_dim, double bandwidth);

/// y less the estimate of every head from all other points [n, H].
Matrix left_out_residuals(const nw::HeadsEstimate<double>& estimate, VectorView y);

/// Mean squared leave-one-out residual of the mean of the heads.
double ensemble_loo(const Matrix& x, VectorView y, const Matrix& frames, Index head_dim, double bandwidth);

}  // namespace headspan::estimator
