#include "headspan/ensemble/replicates.h"

#include <fmt/format.h>

#include <cmath>

#include "ensemble/head_weights.h"
#include "headspan/numeric/error.h"

namespace headspan::ensemble {
namespace {

void check(const Replicates& all, std::size_t at_least) {
  if (all.predictions.size() < at_least)
    throw ArgumentError(
        fmt::format("predictions: {} replicates, at least {} wanted", all.predictions.size(), at_least));
  const Index n_heads = all.predictions.front().rows();
  if (n_heads == 0 || all.truth.size() == 0)
    throw ArgumentError("predictions: at least one member and one point wanted");
  for (const Matrix& f : all.predictions) {
    if (f.rows() != n_heads || f.cols() != all.truth.size())
      throw ArgumentError(
          fmt::format("predictions: {} members x {} points wanted of every replicate, one is "
                      "{} x {}",
                      n_heads, all.truth.size(), f.rows(), f.cols()));
    if (!f.allFinite()) throw ArgumentError("predictions: must be finite");
  }
  if (!all.truth.allFinite()) throw ArgumentError("truth: must be finite");
}

/// Sums over replicates of predictions less their mean: enough for every moment, cheap to take one replicate
/// out of, and nothing cancels.
struct Sums {
  Matrix member, member2;      // [H, m]
  Vector ensemble, ensemble2;  // [m]

  Sums(Index n_heads, Index m)
      : member(Matrix::Zero(n_heads, m)), member2(member), ensemble(Vector::Zero(m)), ensemble2(ensemble) {}
  void add(const Matrix& f, const Vector& a, double sign) {
    const Vector mean = f.transpose() * a;
    member += sign * f;
    member2.array() += sign * f.array().square();
    ensemble += sign * mean;
    ensemble2.array() += sign * mean.array().square();
  }
};

struct Moments {
  double squared_bias = 0.0, variance = 0.0, covariance = 0.0, mse = 0.0, vbar = 0.0, total = 0.0;
};

/// Unbiased moments of `count` replicates; `offset` [m] is what was taken off the ensemble's error.
Moments moments(const Sums& sums, double count, const Vector& a, const Vector& offset) {
  const double m = static_cast<double>(sums.ensemble.size());
  const auto unbiased = [&](const auto& squares, const auto& sum) {
    return ((squares.array() - sum.array().square() / count) / (count - 1.0)).eval();
  };
  const auto member = unbiased(sums.member2, sums.member);
  const auto ensemble = unbiased(sums.ensemble2, sums.ensemble);
  Moments out;
  out.total = ensemble.mean();
  out.variance = (member.rowwise().sum() * a.array().square()).sum() / m;
  out.covariance = a.size() > 1 ? out.total - out.variance : 0.0;
  out.vbar = member.mean();
  out.squared_bias = (sums.ensemble / count + offset).squaredNorm() / m - out.total / count;
  out.mse = out.squared_bias + out.variance + out.covariance;
  return out;
}

/// Jackknife standard error of one moment from its values with each replicate left out.
template <class Member>
Part jackknifed(const Moments& whole, const std::vector<Moments>& without, Member member) {
  const double count = static_cast<double>(without.size());
  double mean = 0.0, squares = 0.0;
  for (const Moments& one : without) mean += one.*member / count;
  for (const Moments& one : without) squares += (one.*member - mean) * (one.*member - mean);
  return {whole.*member, Origin::estimated, std::sqrt(squares * (count - 1.0) / count)};
}

}  // namespace

Decomposition decompose_replicates(const Replicates& replicates, VectorView weights) {
  // Leaving one of two out leaves a single one, which has no variance.
  check(replicates, 3);
  const Index n_heads = replicates.predictions.front().rows(), m = replicates.truth.size();
  const Vector a = head_weights(weights, n_heads, true);
  const double count = static_cast<double>(replicates.predictions.size());
  Matrix centre = Matrix::Zero(n_heads, m);
  for (const Matrix& f : replicates.predictions) centre += f / count;
  Sums sums(n_heads, m);
  for (const Matrix& f : replicates.predictions) sums.add(f - centre, a, 1.0);
  const Vector offset = centre.transpose() * a - replicates.truth;
  const Moments whole = moments(sums, count, a, offset);
  std::vector<Moments> without;
  for (const Matrix& f : replicates.predictions) {
    Sums rest = sums;
    rest.add(f - centre, a, -1.0);
    without.push_back(moments(rest, count - 1.0, a, offset));
  }
  Decomposition out;
  out.squared_bias = jackknifed(whole, without, &Moments::squared_bias);
  out.variance = jackknifed(whole, without, &Moments::variance);
  out.covariance = jackknifed(whole, without, &Moments::covariance);
  out.mse = jackknifed(whole, without, &Moments::mse);
  out.vbar = whole.vbar;
  out.n_points = m;
  if (n_heads < 2) return out;
  // Var of the plain mean is vbar/H + (1 - 1/H) cbar, whatever the weights a are.
  const double h = static_cast<double>(n_heads);
  const Vector equal = Vector::Constant(n_heads, 1.0 / h);
  Sums plain(n_heads, m);
  for (const Matrix& f : replicates.predictions) plain.add(f - centre, equal, 1.0);
  out.cbar = (moments(plain, count, equal, offset).total - out.vbar / h) / (1.0 - 1.0 / h);
  if (out.vbar > 0.0) out.hdi = 1.0 - *out.cbar / out.vbar;
  return out;
}

LinkedMoments linked_moments(const Replicates& replicates) {
  check(replicates, 1);
  const Index n_heads = replicates.predictions.front().rows(), m = replicates.truth.size();
  const double count = static_cast<double>(replicates.predictions.size());
  const double h = static_cast<double>(n_heads), points = static_cast<double>(m);
  Matrix mean = Matrix::Zero(n_heads, m);
  for (const Matrix& f : replicates.predictions) mean += f / count;
  const Eigen::RowVectorXd grand = mean.colwise().mean(), truth = replicates.truth.transpose();
  LinkedMoments out;
  out.squared_bias = (grand - truth).squaredNorm() / points;
  out.mean_squared_bias = (mean.rowwise() - truth).squaredNorm() / (h * points);
  out.disparity = (mean.rowwise() - grand).squaredNorm() / (h * points);
  for (const Matrix& f : replicates.predictions) {
    const Eigen::RowVectorXd ensemble = f.colwise().mean();
    const Matrix off = f - mean, gram = off * off.transpose();
    out.variance += (ensemble - grand).squaredNorm() / (points * count);
    out.mean_variance += gram.trace() / (h * points * count);
    out.diversity += (f.rowwise() - ensemble).squaredNorm() / (h * points * count);
    if (n_heads > 1) out.cbar += (gram.sum() - gram.trace()) / (h * (h - 1.0) * points * count);
  }
  return out;
}

Ambiguity ambiguity(MatrixView predictions, VectorView y, VectorView weights) {
  check({{predictions}, y}, 1);
  const Vector a = head_weights(weights, predictions.rows(), true);
  // Errors first: weighted predictions far from zero would lose digits that their differences have.
  const Matrix errors = predictions.rowwise() - y.transpose();
  const Eigen::RowVectorXd ensemble = a.transpose() * errors;
  const double points = static_cast<double>(y.size());
  Ambiguity out;
  out.ensemble_error = ensemble.squaredNorm() / points;
  for (Index h = 0; h < predictions.rows(); ++h) {
    out.member_error += a(h) * errors.row(h).squaredNorm() / points;
    out.ambiguity += a(h) * (errors.row(h) - ensemble).squaredNorm() / points;
  }
  return out;
}

}  // namespace headspan::ensemble
