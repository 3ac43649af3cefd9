#include "estimator/trend.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace headspan::estimator {
namespace {

constexpr int kRidges = 33;  // four a decade
// Directions of less than this share of the largest singular value are rounding of exact dependence.
constexpr double kRankTolerance = 1e-10;
// A row that decides its own fit alone has no residual without it; a large one stands in.
constexpr double kLeastLeft = 1e-6;

ThinSvd without_null_directions(ThinSvd svd) {
  Index rank = 0;
  while (rank < svd.s.size() && svd.s[rank] > kRankTolerance * svd.s[0]) ++rank;
  return {svd.u.leftCols(rank), svd.s.head(rank), svd.vt.topRows(rank)};
}

}  // namespace

RidgeRows::RidgeRows(MatrixView x, VectorView frequency)
    : frequency_(frequency),
      root_(frequency.cwiseSqrt()),
      total_(frequency.sum()),
      center_(frequency.transpose() * x / total_),
      svd_(without_null_directions(thin_svd(root_.asDiagonal() * (x.rowwise() - center_)))) {}

Vector RidgeRows::kept(double ridge) const {
  const Eigen::ArrayXd square = svd_.s.array().square();
  return square / (square + ridge * total_);
}

Matrix RidgeRows::centred(MatrixView targets) const {
  const Eigen::RowVectorXd level = frequency_.transpose() * targets / total_;
  return root_.asDiagonal() * (targets.rowwise() - level);
}

Matrix RidgeRows::centred_adjoint(const Matrix& g) const {
  const Matrix scaled = g * root_.asDiagonal();
  return scaled - scaled.rowwise().sum() * frequency_.transpose() / total_;
}

/// [n] sqrt(c_i) (1 - leverage_i) of one copy of every row.
Vector RidgeRows::left(const Vector& keep) const {
  const Vector leverage = svd_.u.array().square().matrix() * keep;
  const Eigen::ArrayXd one = 1.0 - 1.0 / total_ - leverage.array() / frequency_.array();
  return root_.array() * one.max(kLeastLeft);
}

Matrix RidgeRows::left_out(MatrixView targets, double ridge) const {
  const Matrix rows = centred(targets);
  const Vector keep = kept(ridge);
  const Matrix residual = rows - svd_.u * (keep.asDiagonal() * (svd_.u.transpose() * rows));
  return left(keep).cwiseInverse().asDiagonal() * residual;
}

Matrix RidgeRows::coefficients(MatrixView targets, double ridge) const {
  Matrix out(center_.size() + 1, targets.cols());
  const Vector gain = kept(ridge).cwiseQuotient(svd_.s);
  out.topRows(center_.size()) =
      svd_.vt.transpose() * (gain.asDiagonal() * (svd_.u.transpose() * centred(targets)));
  out.bottomRows(1) = frequency_.transpose() * targets / total_ - center_ * out.topRows(center_.size());
  return out;
}

Matrix RidgeRows::weights_at(MatrixView at, double ridge) const {
  const Vector gain = kept(ridge).cwiseQuotient(svd_.s);
  const Matrix along = (at.rowwise() - center_) * svd_.vt.transpose() * gain.asDiagonal();
  return centred_adjoint(along * svd_.u.transpose()).rowwise() + frequency_.transpose() / total_;
}

Matrix RidgeRows::left_out_adjoint(MatrixView g, double ridge) const {
  const Vector keep = kept(ridge);
  const Matrix divided = g * left(keep).cwiseInverse().asDiagonal();
  return centred_adjoint(divided - ((divided * svd_.u) * keep.asDiagonal()) * svd_.u.transpose());
}

Trend fit_trend(MatrixView x, VectorView y, VectorView frequency) {
  const RidgeRows rows(x, frequency);
  Trend best;
  double least = std::numeric_limits<double>::infinity();
  for (int step = 0; step < kRidges; ++step) {
    const double ridge = std::pow(10.0, -6.0 + 0.25 * step);
    Vector residual = rows.left_out(y, ridge);
    const double loo = frequency.dot(residual.cwiseAbs2());
    if (!(loo < least)) continue;
    least = loo;
    best.ridge = ridge;
    best.loo_residual = std::move(residual);
  }
  const Matrix line = rows.coefficients(y, best.ridge);
  best.slope = line.topRows(x.cols());
  best.intercept = line(x.cols(), 0);
  return best;
}

}  // namespace headspan::estimator
