#include "headspan/nw/bandwidth.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "headspan/numeric/error.h"
#include "nw/bandwidth_scores.h"

namespace headspan::nw {

const char* to_string(Criterion criterion) {
  switch (criterion) {
    case Criterion::loo:
      return "loo";
    case Criterion::gcv:
      return "gcv";
    case Criterion::aicc:
      return "aicc";
  }
  throw ArgumentError("criterion: not one of the enumeration");
}

std::optional<Criterion> criterion_named(std::string_view name) {
  for (const Criterion criterion : {Criterion::loo, Criterion::gcv, Criterion::aicc})
    if (name == to_string(criterion)) return criterion;
  return std::nullopt;
}

void check_smoother_data(MatrixView x, VectorView y) {
  if (x.rows() < 1) throw ArgumentError("x: has no row");
  if (y.size() != x.rows())
    throw ArgumentError(fmt::format("y: has {} values, x has {} rows", y.size(), x.rows()));
  if (!x.allFinite()) throw ArgumentError("x: holds NaN or infinity; leave such rows out");
  if (!y.allFinite()) throw ArgumentError("y: holds NaN or infinity; leave such rows out");
}

void check_some_column(MatrixView x, const Categories& categories) {
  if (x.cols() + categories.codes.cols() < 1)
    throw ArgumentError("x: there is no column of numbers or categories");
}

void check_distances(const Kernel& kernel, MatrixView x, VectorView bandwidth) {
  if (is_compact(kernel.function) || x.rows() == 0) return;
  constexpr double kMostBandwidths = 1e150;
  for (Index k = 0; k < x.cols(); ++k) {
    const double low = x.col(k).minCoeff(), high = x.col(k).maxCoeff();
    const double size = kernel.function == KernelFunction::softmax ? std::max(-low, high) : high - low;
    if (!(size / bandwidth[k] <= kMostBandwidths))
      throw ArgumentError(fmt::format(
          "bandwidth: {} in column {}, whose values span {}, asks for squares beyond double; widen it",
          bandwidth[k], k, size));
  }
}

Vector every_bandwidth(VectorView bandwidth, Index d) {
  if (bandwidth.size() != 1 && bandwidth.size() != d)
    throw ArgumentError(fmt::format("bandwidth: has {} values, wants 1 or {}", bandwidth.size(), d));
  Vector all(d);
  for (Index k = 0; k < d; ++k) {
    const double h = bandwidth.size() == 1 ? bandwidth[0] : bandwidth[k];
    if (!(h > 0.0)) throw ArgumentError(fmt::format("bandwidth: is {} in column {}, must be positive", h, k));
    all[k] = h;
  }
  return all;
}

namespace {

void finish(SmootherScores& scores, double sum_loo) {
  const double n = static_cast<double>(scores.fit.size());
  if (scores.n_isolated < scores.fit.size())
    scores.loo = sum_loo / (n - static_cast<double>(scores.n_isolated));
  scores.gcv = gcv(scores.sigma2, scores.trace, n);
  scores.aicc = aicc(scores.sigma2, scores.trace, n);
}

}  // namespace

std::optional<double> gcv(double sigma2, double trace, double n) {
  const double left = 1.0 - trace / n;
  return left > 0.0 ? std::optional(sigma2 / (left * left)) : std::nullopt;
}

std::optional<double> aicc(double sigma2, double trace, double n) {
  if (!(sigma2 > 0.0) || !(trace + 2.0 < n)) return std::nullopt;
  return std::log(sigma2) + (1.0 + trace / n) / (1.0 - (trace + 2.0) / n);
}

namespace {

SmootherScores scores_of(const SmootherData& data, VectorView y) {
  const Index n = y.size();
  const OtherSums sums = other_sums(data, true);
  SmootherScores scores;
  for (Vector* each : {&scores.fit, &scores.loo_residual, &scores.n_eff, &scores.self_weight})
    each->resize(n);
  double sum_loo = 0.0, sum_residual = 0.0;
  for (Index i = 0; i < n; ++i) {
    const RowScore row = row_score(sums, i, self_log_weight(data, i));
    const double loo = data.points.values[i] - row.others_mean;
    const double residual = row.isolated ? 0.0 : loo * row.others;
    scores.loo_residual[i] = loo;
    scores.fit[i] = y[i] - residual;
    scores.n_eff[i] = row.n_eff;
    scores.self_weight[i] = row.self_weight;
    scores.n_isolated += row.isolated ? 1 : 0;
    sum_loo += row.isolated ? 0.0 : loo * loo;
    sum_residual += residual * residual;
    scores.trace += row.self_weight;
    scores.trace_wwt += 1.0 / row.n_eff;
  }
  scores.sigma2 = sum_residual / static_cast<double>(n);
  finish(scores, sum_loo);
  return scores;
}

}  // namespace

SmootherScores smoother_scores(MatrixView x, VectorView y, const Kernel& kernel, VectorView bandwidth) {
  check_smoother_data(x, y);
  if (x.cols() < 1) throw ArgumentError("x: has no column");
  const Vector h = every_bandwidth(bandwidth, x.cols());
  check_distances(kernel, x, h);
  return scores_of(smoother_data(kernel, x, h, y.array() - y.mean()), y);
}

SmootherScores smoother_scores(MatrixView x, VectorView y, const Kernel& kernel, VectorView bandwidth,
                               const Categories& categories, VectorView lambda) {
  check_smoother_data(x, y);
  check_some_column(x, categories);
  const Vector h = x.cols() > 0 ? every_bandwidth(bandwidth, x.cols()) : Vector();
  check_distances(kernel, x, h);
  SmootherData data = smoother_data(kernel, x, h, y.array() - y.mean());
  data.categories = category_factors(categories, x.rows());
  set_lambdas(data.categories, lambda);
  return scores_of(data, y);
}

}  // namespace headspan::nw
