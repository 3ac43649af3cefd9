#include "headspan/numeric/gaussian_laws.h"

#include <fmt/format.h>

#include <cmath>

#include "headspan/numeric/decompose.h"
#include "headspan/numeric/error.h"

namespace headspan {
namespace {

/// log(exp(x) - 1) for x > 0, without overflow for large x or cancellation for small x.
double log_expm1(double x) { return x > 30.0 ? x + std::log1p(-std::exp(-x)) : std::log(std::expm1(x)); }

/// log det(I - gram / root) by elimination. The part subtracted from the identity is carried instead of the
/// difference: it only ever grows by positive terms, so that small overlaps and wide bandwidths lose no
/// digits.
double log_det_complement(const Matrix& gram, double root) {
  Eigen::MatrixXd taken = gram / root;
  double log_det = 0.0;
  for (Index j = 0; j < taken.rows(); ++j) {
    const double pivot = taken(j, j);
    if (!(pivot < 1.0))
      throw ArgumentError(
          "log_v_product: the cross product has singular values above 1, so its frames are not "
          "orthonormal");
    log_det += std::log1p(-pivot);
    const Index left = taken.rows() - j - 1;
    const Vector column = taken.col(j).tail(left);
    taken.bottomRightCorner(left, left)
        .selfadjointView<Eigen::Lower>()
        .rankUpdate(column, 1.0 / (1.0 - pivot));
  }
  return log_det;
}

/// log V(1) where the roots lose it, V(1) = (1 + b^2)^(3/2) / (b^2 sqrt(3 + b^2)): of a narrow kernel by the
/// logarithms of the factors, of a wide one by u = 1/b^2, (3 log(1 + u) - log(1 + 3u)) / 2 = 3 u^2 / 2 - 4
/// u^3 + ...
double log_v_of_one_far_out(double bandwidth) {
  const double b2 = bandwidth * bandwidth, u = 1.0 / bandwidth / bandwidth;
  if (bandwidth < 1.0) return 1.5 * std::log1p(b2) - 2.0 * std::log(bandwidth) - 0.5 * std::log(3.0 + b2);
  return u * u * (1.5 - 4.0 * u);
}

double log_v_by_roots(double cos2, double root_small, double root_large) {
  return -0.5 * (std::log1p(-cos2 / root_small) + std::log1p(-cos2 / root_large));
}

}  // namespace

GaussianKernelLaw::GaussianKernelLaw(double bandwidth) : bandwidth_(bandwidth) {
  if (!(bandwidth > 0.0) || !std::isfinite(bandwidth))
    throw ArgumentError(fmt::format("bandwidth must be positive and finite, not {}", bandwidth));
  const double b2 = bandwidth * bandwidth;
  const double t = (1.0 + b2) * (1.0 + b2);
  const double half = t + 0.5 * b2 * b2;
  // half^2 - t^2 = b^4 (t + b^4/4), written so that it does not cancel.
  root_large_ = half + b2 * std::sqrt(t + 0.25 * b2 * b2);
  root_small_ = t / root_large_ * t;
  const bool far_out = bandwidth < 1e-3 || bandwidth > 1e4;
  log_v_one_ = far_out ? log_v_of_one_far_out(bandwidth) : log_v_by_roots(1.0, root_small_, root_large_);
}

double GaussianKernelLaw::log_v(double cos2) const {
  return cos2 == 1.0 ? log_v_one_ : log_v_by_roots(cos2, root_small_, root_large_);
}

double GaussianKernelLaw::log_v_product(MatrixView cross) const {
  const bool wide = cross.rows() <= cross.cols();
  const Matrix thin = wide ? Matrix(cross) : Matrix(cross.transpose());
  Matrix gram(thin.rows(), thin.rows());
  multiply_transposed(thin, thin, gram);
  return -0.5 * (log_det_complement(gram, root_small_) + log_det_complement(gram, root_large_));
}

double GaussianKernelLaw::correlation(double log_product, Index k, Index l) const {
  if (log_product <= 0.0) return 0.0;  // orthogonal, up to rounding
  const double scale =
      0.5 * (log_expm1(static_cast<double>(k) * log_v_one_) + log_expm1(static_cast<double>(l) * log_v_one_));
  return std::exp(log_expm1(log_product) - scale);
}

}  // namespace headspan
