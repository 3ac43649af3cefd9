#pragma once
// A head's smoothing run backwards: from how much each of its outputs counts to how much each value counts.

#include "estimator/smooth.h"

namespace headspan::estimator {

/// [b, n] g W for `g` [b, m] and W [m, n] the weights at `queries`, whose `log_normaliser` [m] smooth() gave.
/// Weights are made in tiles and never kept. O(m n (k + b)); same bits for any number of threads.
Matrix smooth_adjoint(const SmoothedRows& rows, const Matrix& projection, MatrixView queries,
                      VectorView log_normaliser, MatrixView g);

/// The same of smooth_left_out(): the rows are the queries, each without one copy of itself.
Matrix smooth_left_out_adjoint(const SmoothedRows& rows, const Matrix& projection, VectorView log_normaliser,
                               MatrixView g);

}  // namespace headspan::estimator
