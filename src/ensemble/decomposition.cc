#include "headspan/ensemble/decomposition.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "ensemble/head_weights.h"
#include "headspan/numeric/error.h"

namespace headspan::ensemble {
namespace {

Index heads_of(MatrixView covariance) {
  const auto root = static_cast<Index>(std::lround(std::sqrt(static_cast<double>(covariance.cols()))));
  if (covariance.rows() == 0 || root == 0 || root * root != covariance.cols())
    throw ArgumentError(fmt::format("covariance: rows of H*H numbers wanted, at least one; it is {} x {}",
                                    covariance.rows(), covariance.cols()));
  return root;
}

void check_shape(const char* name, MatrixView matrix, Index rows, Index cols) {
  if (matrix.rows() != rows || matrix.cols() != cols)
    throw ArgumentError(
        fmt::format("{}: {} x {} wanted, it is {} x {}", name, rows, cols, matrix.rows(), matrix.cols()));
}

void check_finite(const char* name, MatrixView matrix) {
  if (!matrix.allFinite()) throw ArgumentError(fmt::format("{}: must be finite", name));
}

/// The H x H matrix in row i.
Eigen::Map<const Matrix> matrix_in(MatrixView rows, Index i, Index n_heads) {
  return {rows.data() + i * rows.outerStride(), n_heads, n_heads};
}

/// Everything but the bias.
void add_covariances(const HeadMoments& heads, const Vector& a, Decomposition& out) {
  const Index n_heads = a.size(), m = heads.covariance.rows();
  Matrix mean = Matrix::Zero(n_heads, n_heads);
  for (Index i = 0; i < m; ++i) mean += matrix_in(heads.covariance, i, n_heads);
  mean /= static_cast<double>(m);
  const double own = (a.array().square() * mean.diagonal().array()).sum();
  const double cross = (a.asDiagonal() * mean * a.asDiagonal()).sum() - own;
  const auto part = [&](double value) {
    Part made{value * heads.noise.value, heads.noise.origin, std::nullopt};
    if (heads.noise.standard_error) made.standard_error = std::abs(value) * *heads.noise.standard_error;
    return made;
  };
  out.n_points = m;
  out.variance = part(own);
  out.covariance = part(n_heads > 1 ? cross : 0.0);
  out.vbar = heads.noise.value * mean.trace() / static_cast<double>(n_heads);
  if (n_heads < 2) return;
  out.cbar = heads.noise.value * (mean.sum() - mean.trace()) / static_cast<double>(n_heads * (n_heads - 1));
  if (out.vbar > 0.0) out.hdi = 1.0 - *out.cbar / out.vbar;
}

Part known_bias(const HeadMoments& heads, const Vector& a) {
  check_shape("bias", heads.bias, heads.covariance.rows(), a.size());
  check_finite("bias", heads.bias);
  return {(heads.bias * a).squaredNorm() / static_cast<double>(heads.bias.rows()), Origin::exact, {}};
}

/// The squared bias that leave-one-out residuals show: mean and standard error of the points' terms.
Part estimated_bias(const HeadMoments& heads, const Vector& a, Index& n_isolated) {
  const Index n = heads.residual.rows(), n_heads = a.size();
  check_shape("residual", heads.residual, n, n_heads);
  check_shape("left_out_covariance", heads.left_out_covariance, n, n_heads * n_heads);
  const double s2 = heads.noise.value;
  double mean = 0.0, squares = 0.0, spread = 0.0, count = 0.0;
  for (Index i = 0; i < n; ++i) {
    const double residual = heads.residual.row(i).dot(a);
    const double share = 1.0 + a.dot(matrix_in(heads.left_out_covariance, i, n_heads) * a);
    if (std::isnan(residual) || std::isnan(share)) {
      ++n_isolated;
      continue;
    }
    count += 1.0;
    const double term = residual * residual - s2 * share, step = term - mean;
    mean += step / count;
    squares += step * (term - mean);
    spread += (share - spread) / count;
  }
  if (!(count > 1.0) || !std::isfinite(mean))
    throw ArgumentError("residual: at least two finite rows are needed to estimate a bias");
  const double of_points = std::sqrt(squares / (count - 1.0) / count);
  return {mean, Origin::estimated, of_points + spread * heads.noise.standard_error.value_or(0.0)};
}

/// The sum of all parts; bounds the standard error by the sum of theirs.
Part total(const Decomposition& parts) {
  Part sum = *parts.squared_bias;
  double error = sum.standard_error.value_or(0.0);
  bool known = sum.origin == Origin::exact || sum.standard_error;
  for (const Part& part : {parts.variance, parts.covariance}) {
    sum.value += part.value;
    if (part.origin == Origin::exact) continue;
    sum.origin = Origin::estimated;
    known = known && part.standard_error.has_value();
    error += part.standard_error.value_or(0.0);
  }
  sum.standard_error.reset();
  if (sum.origin == Origin::estimated && known) sum.standard_error = error;
  return sum;
}

}  // namespace

const char* to_string(Origin origin) { return origin == Origin::exact ? "exact" : "estimated"; }

Decomposition decompose(const HeadMoments& heads, VectorView weights) {
  const Index n_heads = heads_of(heads.covariance);
  check_finite("covariance", heads.covariance);
  if (!(heads.noise.value >= 0.0) || !std::isfinite(heads.noise.value))
    throw ArgumentError(fmt::format("noise: must be finite and not negative, it is {}", heads.noise.value));
  const bool bias = heads.bias.size() > 0, residual = heads.residual.size() > 0;
  const Vector a = head_weights(weights, n_heads, bias || residual);
  Decomposition out;
  add_covariances(heads, a, out);
  if (bias)
    out.squared_bias = known_bias(heads, a);
  else if (residual)
    out.squared_bias = estimated_bias(heads, a, out.n_isolated);
  if (out.squared_bias) out.mse = total(out);
  return out;
}

Matrix leave_one_out_covariance(MatrixView covariance, MatrixView self_weight) {
  const Index n_heads = heads_of(covariance);
  check_shape("self_weight", self_weight, covariance.rows(), n_heads);
  Matrix out(covariance.rows(), covariance.cols());
  for (Index i = 0; i < out.rows(); ++i)
    for (Index h = 0; h < n_heads; ++h)
      for (Index l = 0; l < n_heads; ++l) {
        const double own_h = self_weight(i, h), own_l = self_weight(i, l);
        const Index at = h * n_heads + l;
        out(i, at) = own_h < 1.0 && own_l < 1.0
                         ? (covariance(i, at) - own_h * own_l) / ((1.0 - own_h) * (1.0 - own_l))
                         : std::numeric_limits<double>::quiet_NaN();
      }
  return out;
}

}  // namespace headspan::ensemble
