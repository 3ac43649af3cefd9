#include "nw/bandwidth_objective.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "headspan/numeric/error.h"
#include "nw/bandwidth_scores.h"
#include "nw/constants.h"

namespace headspan::nw {
namespace {

// Rounding of a criterion: of its own size, or of the residuals of a y of variance 1.
constexpr int kDigits = 40;
constexpr double kLeastGrain = 0x1p-100;

// To a multiple of a power of two.
double rounded(double criterion) {
  const double grain = std::max(std::ldexp(1.0, std::ilogb(std::abs(criterion)) - kDigits), kLeastGrain);
  return std::nearbyint(criterion / grain) * grain;
}

Vector standardised(VectorView y, double& unit) {
  const Vector centred = y.array() - y.mean();
  const double deviation = std::sqrt(centred.array().square().mean());
  unit = deviation > 0.0 ? deviation : 1.0;
  return centred / unit;
}

// Of a fit that all but reproduces the data, GCV is the ratio of two numbers next to 0.
constexpr double kMostTraceOfGcv = 0.9;

bool has_one_level(const CategoryFactor& factor) {
  return std::all_of(factor.level.begin(), factor.level.end(),
                     [&](Index level) { return level == factor.level.front(); });
}

}  // namespace

BandwidthObjective::BandwidthObjective(MatrixView x, VectorView y, const SelectionOptions& options,
                                       const Categories& categories)
    : criterion_(options.criterion), brackets_(brackets(x, options.kernel.function)) {
  data_ = smoother_data(options.kernel, x, Vector::Ones(x.cols()), standardised(y, value_unit_));
  data_.categories = category_factors(categories, x.rows());
  for (std::size_t k = 0; k < data_.categories.size(); ++k)
    if (has_one_level(data_.categories[k]))
      throw ArgumentError(fmt::format(
          "categories: column {} has one level only, so no lambda of it can be judged; leave the column out",
          k));
  const Index d = x.cols(), c = std::ssize(data_.categories);
  Vector lower(d), upper(d);
  for (Index k = 0; k < d; ++k) {
    const Bracket& bracket = brackets_[static_cast<std::size_t>(k)];
    lower[k] = std::log(bracket.lower / bracket.unit);
    upper[k] = std::log(bracket.upper / bracket.unit);
  }
  n_bandwidths_ = options.per_dimension ? d : std::min<Index>(d, 1);
  lower_ = Vector::Constant(n_bandwidths_ + c, std::log(kLeastShare));
  upper_ = Vector::Zero(n_bandwidths_ + c);
  if (d == 0) return;
  lower_.head(n_bandwidths_) = options.per_dimension ? lower : Vector::Constant(1, lower.minCoeff());
  upper_.head(n_bandwidths_) = options.per_dimension ? upper : Vector::Constant(1, upper.maxCoeff());
}

Vector BandwidthObjective::bandwidth(const Vector& theta) const {
  Vector h(static_cast<Index>(brackets_.size()));
  for (Index k = 0; k < h.size(); ++k)
    h[k] = std::exp(theta[n_bandwidths_ == 1 ? 0 : k]) * brackets_[static_cast<std::size_t>(k)].unit;
  return h;
}

Vector BandwidthObjective::lambda(const Vector& theta) const {
  Vector all(std::ssize(data_.categories));
  for (Index k = 0; k < all.size(); ++k) {
    const CategoryFactor& factor = data_.categories[static_cast<std::size_t>(k)];
    all[k] =
        std::exp(std::min(0.0, theta[n_bandwidths_ + k])) * largest_lambda(factor.kernel, factor.n_levels);
  }
  return all;
}

void BandwidthObjective::set(const Vector& theta) {
  data_.points.bandwidth = bandwidth(theta);
  const Vector lambdas = lambda(theta);
  for (Index k = 0; k < lambdas.size(); ++k) {
    CategoryFactor& factor = data_.categories[static_cast<std::size_t>(k)];
    if (std::isfinite(theta[n_bandwidths_ + k]))
      set_lambda(factor, lambdas[k]);
    else
      factor.log_value.clear();
  }
  ++n_evaluations_;
}

double BandwidthObjective::residual(const RowScore& row, Index i) const {
  if (!row.isolated) return data_.points.values[i] - row.others_mean;
  // The values are centred, so the mean of the others is -values_i / (n - 1).
  const double n = static_cast<double>(data_.points.values.size());
  return data_.points.values[i] * n / std::max(1.0, n - 1.0);
}

struct BandwidthObjective::Totals {
  double loo = 0.0;     ///< mean squared leave-one-out residual
  double sigma2 = 0.0;  ///< mean squared residual
  double trace = 0.0;
};

BandwidthObjective::Totals BandwidthObjective::totals_of(const OtherSums& sums) const {
  const Index n = data_.points.values.size();
  Totals totals;
  for (Index i = 0; i < n; ++i) {
    const RowScore row = row_score(sums, i, self_log_weight(data_, i));
    const double error = residual(row, i);
    totals.loo += error * error;
    totals.sigma2 += std::pow(error * row.others, 2);
    totals.trace += row.self_weight;
  }
  totals.loo /= static_cast<double>(n);
  totals.sigma2 /= static_cast<double>(n);
  return totals;
}

double BandwidthObjective::criterion_of(const Totals& totals) const {
  const double n = static_cast<double>(data_.points.values.size());
  if (criterion_ == Criterion::loo) return totals.loo;
  if (criterion_ == Criterion::gcv && totals.trace > kMostTraceOfGcv * n) return kInfinity;
  const auto score = criterion_ == Criterion::gcv ? gcv(totals.sigma2, totals.trace, n)
                                                  : aicc(totals.sigma2, totals.trace, n);
  return score.value_or(kInfinity);
}

Vector BandwidthObjective::gradient_of(const OtherSums& sums, const Totals& totals) const {
  const Index size = data_.points.values.size();
  const double n = static_cast<double>(size), left = 1.0 - totals.trace / n;
  // Derivatives of the criterion with respect to sigma2 and the trace.
  double by_sigma2 = 1.0, by_trace = 0.0;
  if (criterion_ == Criterion::gcv) {
    by_sigma2 = 1.0 / (left * left);
    by_trace = 2.0 * totals.sigma2 / (n * left * left * left);
  } else if (criterion_ == Criterion::aicc) {
    const double below = 1.0 - (totals.trace + 2.0) / n;
    by_sigma2 = 1.0 / totals.sigma2;
    by_trace = (below + 1.0 + totals.trace / n) / (n * below * below);
  }
  Vector p = Vector::Zero(size), q = Vector::Zero(size);
  for (Index i = 0; i < size; ++i) {
    const RowScore row = row_score(sums, i, self_log_weight(data_, i));
    if (row.isolated) continue;
    // The residual is r * others: r = y - value / weight leaves i out; others = weight / (weight + w_ii's).
    const double r = residual(row, i), others = criterion_ == Criterion::loo ? 1.0 : row.others;
    const double d_others = criterion_ == Criterion::loo ? 0.0 : others * row.self_weight;
    const double slope = by_sigma2 * 2.0 / n * r * others;
    q[i] = -slope * others / sums.weight[i];
    p[i] = (slope * (others * row.others_mean + r * d_others) - by_trace * d_others) / sums.weight[i];
  }
  const Vector slopes = other_slopes(data_, sums, std::move(p), std::move(q));
  const Index c = std::ssize(data_.categories), d = slopes.size() - c;
  Vector gradient(n_bandwidths_ + c);
  if (n_bandwidths_ == d)
    gradient.head(d) = slopes.head(d);
  else
    gradient[0] = slopes.head(d).sum();
  gradient.tail(c) = slopes.tail(c);
  return gradient;
}

double BandwidthObjective::value(const Vector& theta, Vector* gradient) {
  set(theta);
  for (const CategoryFactor& factor : data_.categories)
    if (factor.log_value.empty() && factor.kernel == CategoryKernel::wang_van_ryzin) return kInfinity;
  const OtherSums sums = other_sums(data_, false);
  const Totals totals = totals_of(sums);
  double criterion = criterion_of(totals);
  // A search by values alone would take rounding for slopes where the criterion is flat, as a compact
  // kernel's is.
  if (!has_gradient() && criterion < kInfinity && criterion != 0.0) criterion = rounded(criterion);
  if (gradient) *gradient = criterion < kInfinity ? gradient_of(sums, totals) : Vector::Zero(theta.size());
  return criterion;
}

Vector BandwidthObjective::squared_residuals(const Vector& theta) {
  set(theta);
  const OtherSums sums = other_sums(data_, false);
  Vector squares(data_.points.values.size());
  for (Index i = 0; i < squares.size(); ++i)
    squares[i] = std::pow(residual(row_score(sums, i, self_log_weight(data_, i)), i), 2);
  return squares;
}

}  // namespace headspan::nw
