#include "nw/bandwidth_objective.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "nw/bandwidth_scores.h"

namespace headspan::nw {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Vector standardised(VectorView y, double& unit) {
  const Vector centred = y.array() - y.mean();
  const double deviation = std::sqrt(centred.array().square().mean());
  unit = deviation > 0.0 ? deviation : 1.0;
  return centred / unit;
}

}  // namespace

BandwidthObjective::BandwidthObjective(MatrixView x, VectorView y, const SelectionOptions& options)
    : criterion_(options.criterion), brackets_(brackets(x, options.kernel.function)) {
  data_ = {options.kernel, x.transpose(), Vector(x.cols()), standardised(y, value_unit_)};
  const Index d = x.cols();
  lower_.resize(d);
  upper_.resize(d);
  for (Index k = 0; k < d; ++k) {
    const Bracket& bracket = brackets_[static_cast<std::size_t>(k)];
    lower_[k] = std::log(bracket.lower / bracket.unit);
    upper_[k] = std::log(bracket.upper / bracket.unit);
  }
  if (options.per_dimension) return;
  lower_ = Vector::Constant(1, lower_.minCoeff());
  upper_ = Vector::Constant(1, upper_.maxCoeff());
}

Vector BandwidthObjective::bandwidth(const Vector& theta) const {
  Vector h(static_cast<Index>(brackets_.size()));
  for (Index k = 0; k < h.size(); ++k)
    h[k] = std::exp(theta[theta.size() == 1 ? 0 : k]) * brackets_[static_cast<std::size_t>(k)].unit;
  return h;
}

void BandwidthObjective::set(const Vector& theta) {
  data_.inverse_bandwidth = bandwidth(theta).cwiseInverse();
  ++n_evaluations_;
}

double BandwidthObjective::residual(const RowScore& row, Index i) const {
  if (!row.isolated) return data_.values[i] - row.others_mean;
  // The values are centred, so the mean of the others is -values_i / (n - 1).
  const double n = static_cast<double>(data_.values.size());
  return data_.values[i] * n / std::max(1.0, n - 1.0);
}

double BandwidthObjective::criterion_of(const OtherSums& sums) const {
  const Index n = data_.values.size();
  const double count = static_cast<double>(n);
  double loo = 0.0, sigma2 = 0.0, trace = 0.0;
  for (Index i = 0; i < n; ++i) {
    const RowScore row = row_score(sums, i, self_log_weight(data_, i));
    const double error = residual(row, i);
    loo += error * error;
    sigma2 += std::pow(error * row.others, 2);
    trace += row.self_weight;
  }
  if (criterion_ == Criterion::loo) return loo / count;
  const auto score =
      criterion_ == Criterion::gcv ? gcv(sigma2 / count, trace, count) : aicc(sigma2 / count, trace, count);
  return score.value_or(kInfinity);
}

double BandwidthObjective::value(const Vector& theta) {
  set(theta);
  return criterion_of(other_sums(data_));
}

Vector BandwidthObjective::squared_residuals(const Vector& theta) {
  set(theta);
  const OtherSums sums = other_sums(data_);
  Vector squares(data_.values.size());
  for (Index i = 0; i < squares.size(); ++i)
    squares[i] = std::pow(residual(row_score(sums, i, self_log_weight(data_, i)), i), 2);
  return squares;
}

}  // namespace headspan::nw
