#include "headspan/estimator/combine.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "headspan/ensemble/weights.h"
#include "headspan/numeric/decompose.h"
#include "headspan/numeric/error.h"

namespace headspan::estimator {
namespace {

void check_outputs(MatrixView outputs, VectorView y, VectorView frequency) {
  if (outputs.rows() < 1 || outputs.cols() < 1)
    throw ArgumentError(fmt::format("outputs: has shape [{}, {}], wants at least one row and one column",
                                    outputs.rows(), outputs.cols()));
  if (y.size() != outputs.rows() || frequency.size() != outputs.rows())
    throw ArgumentError(fmt::format("y and frequency: have {} and {} values for {} rows of outputs", y.size(),
                                    frequency.size(), outputs.rows()));
}

/// Squared residuals, each with its own row left out, of a ridge regression in singular coordinates.
double left_out_error(const ThinSvd& svd, const Vector& target, const Vector& along, double ridge) {
  const Vector keep = svd.s.array().square() / (svd.s.array().square() + ridge);
  const Vector fit = svd.u * keep.cwiseProduct(along);
  const Vector leverage = svd.u.array().square().matrix() * keep;
  return ((target - fit).array() / (1.0 - leverage.array()).max(1e-6)).square().sum();
}

}  // namespace

Vector simplex_weights(MatrixView outputs, VectorView y, VectorView frequency,
                       std::optional<double> greatest_norm2) {
  check_outputs(outputs, y, frequency);
  // With sum a = 1 the residual is sum_h a_h (y - F_h), so the error is a^T M a.
  const Matrix residual = (-outputs).colwise() + Vector(y);
  const Matrix moment = residual.transpose() * frequency.asDiagonal() * residual / frequency.sum();
  if (greatest_norm2) greatest_norm2 = std::max(*greatest_norm2, 1.0 / static_cast<double>(outputs.cols()));
  return ensemble::simplex_weights(0.5 * (moment + moment.transpose()), greatest_norm2).weights;
}

Vector shrunk_weights(MatrixView outputs, VectorView y, VectorView frequency) {
  check_outputs(outputs, y, frequency);
  const Index n_heads = outputs.cols();
  const Vector root = frequency.cwiseSqrt();
  const Vector equal = Vector::Constant(n_heads, 1.0 / static_cast<double>(n_heads));
  const ThinSvd svd = thin_svd(root.asDiagonal() * outputs);
  const Vector target = root.cwiseProduct(Vector(y) - outputs * equal);
  const Vector along = svd.u.transpose() * target;
  double least = std::numeric_limits<double>::infinity(), best = 0.0;
  for (int step = 0; step <= 32; ++step) {
    const double ridge = svd.s.squaredNorm() * std::pow(10.0, -6.0 + 0.25 * step);
    const double error = left_out_error(svd, target, along, ridge);
    if (error < least) {
      least = error;
      best = ridge;
    }
  }
  const Vector gain = svd.s.array() / (svd.s.array().square() + best).max(std::numeric_limits<double>::min());
  return equal + svd.vt.transpose() * gain.cwiseProduct(along);
}

}  // namespace headspan::estimator
