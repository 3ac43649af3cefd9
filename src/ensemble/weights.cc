#include "headspan/ensemble/weights.h"

#include <fmt/format.h>

#include <boost/math/tools/roots.hpp>
#include <cmath>
#include <cstdint>
#include <functional>
#include <numeric>
#include <vector>

#include "ensemble/face_minimum.h"
#include "ensemble/second_moments.h"
#include "ensemble/simplex_minimum.h"
#include "headspan/numeric/decompose.h"
#include "headspan/numeric/error.h"

namespace headspan::ensemble {
namespace {

// Eigenvalues below this share of the largest are rounding.
constexpr double kNullEigenvalue = 1e-12;
constexpr Index kPointsPerBlock = 4096;

/// Of all minima the closest to uniform: a = u - (P M P)^+ P M u, P = I - 11^T/H, u = 1/H.
Vector closest_to_uniform(const Matrix& m) {
  const Index n = m.rows();
  const Matrix centre = Matrix::Identity(n, n) - Matrix::Constant(n, n, 1.0 / static_cast<double>(n));
  const Vector uniform = Vector::Constant(n, 1.0 / static_cast<double>(n));
  const ThinSvd svd = thin_svd(centre * m * centre);
  Vector along = svd.u.transpose() * (centre * (m * uniform));
  // Against M itself: what is left of it between alike members is rounding, however large its own largest.
  const double floor = kNullEigenvalue * std::max(svd.s[0], m.cwiseAbs().maxCoeff());
  for (Index j = 0; j < n; ++j) along[j] = svd.s[j] > floor ? along[j] / svd.s[j] : 0.0;
  Vector shift = svd.vt.transpose() * along;
  // Directions of small eigenvalues mix with that of the ones, which has none.
  shift.array() -= shift.mean();
  return uniform - shift;
}

double free_residual(const Matrix& m, const Vector& a) {
  const Vector slope = m * a;
  const double scale = m.cwiseAbs().maxCoeff();
  return scale > 0.0 ? (slope.array() - slope.mean()).abs().maxCoeff() / scale : 0.0;
}

/// Column j - 1 is uniform on the first j members.
Matrix first_members(Index n) {
  Matrix t = Matrix::Zero(n, n);
  for (Index j = 0; j < n; ++j) t.col(j).head(j + 1).setConstant(1.0 / static_cast<double>(j + 1));
  return t;
}

/// Mixtures a = T b of the columns of T, b on the simplex.
class Mixtures {
 public:
  Mixtures(MatrixView m, Matrix corners) : m_(checked_convex_moments(m)), corners_(std::move(corners)) {}

  Weighting least_risk(std::optional<double> greatest_norm2) const {
    const double equal = 1.0 / static_cast<double>(m_.rows());
    if (greatest_norm2 && !(*greatest_norm2 >= equal))
      throw ArgumentError(
          fmt::format("greatest_norm2: {} is below 1/H = {}, which equal weights have and no others "
                      "of sum one can go below",
                      *greatest_norm2, equal));
    SimplexMinimum free = at_ridge(0.0);
    // Of many minima the closest to uniform: the limit of a ridge that vanishes, to about 1e-7.
    if (free.singular) free.at = at_ridge(kTieBreak * scale()).at;
    const double norm2 = (corners_ * free.at).squaredNorm();
    if (!greatest_norm2 || norm2 <= *greatest_norm2) return weighting(free, 0.0);
    const double ridge = ridge_for(*greatest_norm2);
    // Bounded below its own norm, a minimum is unique.
    return weighting({at_ridge(ridge).at, false}, ridge);
  }

 private:
  Matrix form(double ridge) const {
    Matrix m = m_;
    m.diagonal().array() += ridge;
    Matrix mixed = corners_.transpose() * m * corners_;
    return 0.5 * (mixed + mixed.transpose());
  }

  /// What a ridge is to be measured by: of members without any error, anything.
  double scale() const {
    const double largest = m_.cwiseAbs().maxCoeff();
    return largest > 0.0 ? largest : 1.0;
  }

  SimplexMinimum at_ridge(double ridge) const { return minimize_on_simplex(form(ridge)); }

  /// The multiplier of the bound: |a|^2 falls as it rises, from too much to 1/H. Returned on the side where
  /// the bound is kept.
  double ridge_for(double greatest_norm2) const {
    const auto excess = [&](double ridge) {
      return (corners_ * at_ridge(ridge).at).squaredNorm() - greatest_norm2;
    };
    double high = scale();
    // Beyond this the ridge hides M, and equal weights are kept to within rounding.
    while (high < kLargestRidge * scale() && excess(high) > 0.0) high *= kRidgeStep;
    if (excess(high) > 0.0) return high;
    std::uintmax_t n_steps = kMostSteps;
    return boost::math::tools::toms748_solve(excess, 0.0, high, boost::math::tools::eps_tolerance<double>(),
                                             n_steps)
        .second;
  }

  Weighting weighting(const SimplexMinimum& found, double ridge) const {
    Weighting out;
    out.weights = corners_ * found.at;
    out.risk = risk(m_, out.weights);
    out.status = found.singular ? WeightsStatus::singular : WeightsStatus::ok;
    out.residual = simplex_residual(form(ridge), found.at);
    return out;
  }

  static constexpr double kLargestRidge = 1e8, kRidgeStep = 8.0;
  // Far above rounding, far below what anyone estimates.
  static constexpr double kTieBreak = 1e-9;
  static constexpr std::uintmax_t kMostSteps = 100;

  Matrix m_, corners_;
};

}  // namespace

const char* to_string(WeightsStatus status) { return status == WeightsStatus::ok ? "ok" : "singular"; }

double risk(MatrixView m, VectorView weights) {
  if (m.rows() != m.cols() || m.rows() != weights.size())
    throw ArgumentError(
        fmt::format("risk: M is {} x {} and there are {} weights", m.rows(), m.cols(), weights.size()));
  return weights.dot(m * weights);
}

Matrix error_second_moments(MatrixView predictions, VectorView y) {
  const Index n_members = predictions.rows(), n = predictions.cols();
  if (n_members == 0 || n == 0) throw ArgumentError("predictions: at least one member and one point wanted");
  if (y.size() != n) throw ArgumentError(fmt::format("y: {} of them for {} points", y.size(), n));
  if (!predictions.allFinite() || !y.allFinite()) throw ArgumentError("predictions and y: must be finite");
  Matrix sum = Matrix::Zero(n_members, n_members), product(n_members, n_members);
  for (Index start = 0; start < n; start += kPointsPerBlock) {
    const Index count = std::min(kPointsPerBlock, n - start);
    const Matrix errors =
        predictions.middleCols(start, count).rowwise() - y.segment(start, count).transpose();
    multiply_transposed(errors, errors, product);
    sum += product;
  }
  for (Index h = 0; h < n_members; ++h)
    for (Index l = 0; l < h; ++l) sum(l, h) = sum(h, l);
  return sum / static_cast<double>(n);
}

Weighting optimal_weights(MatrixView m) {
  const Matrix moments = checked_moments(m);
  std::vector<Index> all(static_cast<std::size_t>(moments.rows()));
  std::iota(all.begin(), all.end(), Index{0});
  FaceMinimum found = face_minimum(moments, all);
  Weighting out;
  out.status = found.singular ? WeightsStatus::singular : WeightsStatus::ok;
  out.weights = found.singular ? closest_to_uniform(moments) : std::move(found.weights);
  out.risk = risk(moments, out.weights);
  out.residual = free_residual(moments, out.weights);
  return out;
}

Weighting simplex_weights(MatrixView m, std::optional<double> greatest_norm2) {
  return Mixtures(m, Matrix::Identity(m.rows(), m.rows())).least_risk(greatest_norm2);
}

Weighting monotone_weights(MatrixView m, std::optional<double> greatest_norm2) {
  return Mixtures(m, first_members(m.rows())).least_risk(greatest_norm2);
}

}  // namespace headspan::ensemble
