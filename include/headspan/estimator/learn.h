#pragma once
// Heads moved to where the ensemble's leave-one-out error is least.

#include <vector>

#include "headspan/numeric/matrix.h"

namespace headspan::estimator {

/// What may be moved.
enum class Freedom {
  projection,  ///< every entry
  diagonal,    ///< the entries [j, j]
  scale,       ///< one factor for all heads together: their common bandwidth
};

struct LearnOptions {
  Freedom freedom = Freedom::projection;
  double diversity_penalty =
      0.0;                   ///< gamma: times subspace::diversity_penalty() times the variance of the values
  int max_evaluations = 30;  ///< of the error and its gradient
};

struct LearnedHeads {
  std::vector<Matrix> projections;
  double loo = 0.0;  ///< weighted mean squared leave-one-out residual of the ensemble, without the penalty
  Index n_evaluations = 0;
};

/// Minimises mean_i c_i (v_i - sum_h a_h f_h^(-i)(x_i))^2 + gamma var(v) overlap by L-BFGS from `start`,
/// heads of projection [k, p] and bandwidth 1; stopping early is part of the method, since the leave-one-out
/// error of many free entries fits noise. `x` [n, p], `values` [n], `frequency` [n] positive, `weights` [H].
/// Deterministic. O(n^2 k) per head and evaluation. Throws ArgumentError as nw::ensemble_loo().
LearnedHeads learn_heads(MatrixView x, VectorView values, VectorView frequency, std::vector<Matrix> start,
                         VectorView weights, const LearnOptions& options);

}  // namespace headspan::estimator
