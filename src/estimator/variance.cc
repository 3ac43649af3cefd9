#include "headspan/estimator/variance.h"

#include <algorithm>
#include <utility>

#include "estimator/noise.h"
#include "estimator/standardise.h"
#include "estimator/target_weights.h"

namespace headspan::estimator {
namespace {

/// [rows, n] the weights at standardised inputs.
Matrix weights_at(const TargetWeights& weights, MatrixView at) {
  return weights.times(Matrix::Identity(at.rows(), at.rows()), at);
}

}  // namespace

const char* to_string(Noise noise) { return noise == Noise::constant ? "constant" : "local"; }

std::optional<Noise> noise_named(std::string_view name) {
  for (const Noise noise : {Noise::constant, Noise::local})
    if (name == to_string(noise)) return noise;
  return std::nullopt;
}

Matrix target_weights(const Model& model, MatrixView x) {
  const Matrix at = standardised(model, x);
  return weights_at(TargetWeights(model), at);
}

PredictionVariance prediction_variance(const Model& model, MatrixView x, Noise noise) {
  const Matrix at = standardised(model, x);
  const TargetWeights weights(model);
  LocalNoise s2;
  if (noise == Noise::local) {
    s2 = local_noise(model, at);
  } else {
    const double everywhere = constant_noise(model, weights);
    s2 = {Vector::Constant(model.target.size(), everywhere), Vector::Constant(at.rows(), everywhere)};
  }
  const double unit = model.target_scale * model.target_scale;
  PredictionVariance out{Vector(at.rows()), unit * s2.points};
  const Vector per_weight = unit * s2.rows.cwiseQuotient(model.frequency);
  const Index block = queries_per_block(model);
  for (Index first = 0; first < at.rows(); first += block) {
    const Index count = std::min(block, at.rows() - first);
    out.fit.segment(first, count) = weights_at(weights, at.middleRows(first, count)).cwiseAbs2() * per_weight;
  }
  return out;
}

}  // namespace headspan::estimator
