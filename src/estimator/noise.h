#pragma once
// The noise of a model's targets, estimated from its residuals.

#include "estimator/target_weights.h"

namespace headspan::estimator {

/// s2 in squared standard units: squared residuals over the degrees of freedom that the fit leaves.
double constant_noise(const Model& model, const TargetWeights& weights);

/// s2 of every training row [n] and at `standard_x` [m], in squared standard units.
struct LocalNoise {
  Vector rows, points;
};
LocalNoise local_noise(const Model& model, MatrixView standard_x);

}  // namespace headspan::estimator
