#include "ensemble/head_weights.h"

#include <fmt/format.h>

#include <cmath>

#include "headspan/numeric/error.h"

namespace headspan::ensemble {

// Weights are typed or solved for, so their sum is held to what an iterative solver leaves.
constexpr double kSumTolerance = 1e-8;

Vector head_weights(VectorView weights, Index n_heads, bool sum_to_one) {
  if (weights.size() == 0) return Vector::Constant(n_heads, 1.0 / static_cast<double>(n_heads));
  if (weights.size() != n_heads)
    throw ArgumentError(fmt::format("weights: {} of them for {} heads", weights.size(), n_heads));
  if (!weights.allFinite()) throw ArgumentError("weights: must be finite");
  if (sum_to_one && std::abs(weights.sum() - 1.0) > kSumTolerance)
    throw ArgumentError(fmt::format("weights: sum to {}; a bias is defined for a sum of one", weights.sum()));
  return weights;
}

}  // namespace headspan::ensemble
