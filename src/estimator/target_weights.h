#pragma once
// What every training target weighs in a prediction, the structure of a fit held fixed.

#include <memory>
#include <vector>

#include "estimator/trend.h"
#include "headspan/estimator/model.h"

namespace headspan::estimator {

/// A model's ensemble as a linear map of its targets. Holds what does not depend on where it predicts: O(n)
/// per head, and one decomposition where there is a trend.
class TargetWeights {
 public:
  /// Throws ArgumentError for a sharpened head whose sharpness is not known (an old model file). Keeps a
  /// reference to `model`.
  explicit TargetWeights(const Model& model);
  ~TargetWeights();
  TargetWeights(const TargetWeights&) = delete;
  TargetWeights& operator=(const TargetWeights&) = delete;

  /// [b, n] z L: L [m, n] the weights of the targets at `standard_x` [m, q], `z` [b, m] any factors.
  Matrix times(MatrixView z, MatrixView standard_x) const;

 private:
  class Estimate;

  const Model& model_;
  std::unique_ptr<RidgeRows> trend_;
  std::vector<Estimate> estimates_;
};

/// Queries that a block of weights [queries, n] of moderate size has.
Index queries_per_block(const Model& model);

}  // namespace headspan::estimator
