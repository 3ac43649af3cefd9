#include <cmath>

#include "experiments/measure.h"
#include "headspan/ensemble/replicates.h"
#include "headspan/experiments/heads.h"
#include "headspan/numeric/parallel.h"
#include "headspan/numeric/random.h"
#include "headspan/nw/heads.h"

namespace headspan::experiments {
namespace {

void check(const AdditiveOptions& o) {
  require_at_least("n_heads", o.n_heads, 2);
  require_at_least("n", o.n, 2);
  require_at_least("n_points", o.n_points, 1);
  require_at_least("n_replicates", o.n_replicates, 3);
  require_positive("frequency", o.frequency);
  require_positive("bandwidth", o.bandwidth);
  require_within("noise_variance", o.noise_variance, 0.0, 1e300);
}

/// sum_h sin(frequency x_h) at every row.
Vector target(const Matrix& x, double frequency) { return (frequency * x.array()).sin().rowwise().sum(); }

std::vector<nw::Head> coordinate_heads(const AdditiveOptions& o) {
  std::vector<nw::Head> heads;
  for (Index h = 0; h < o.n_heads; ++h)
    heads.push_back({Matrix::Identity(o.n_heads, o.n_heads).row(h), Vector::Constant(1, o.bandwidth)});
  return heads;
}

/// What every replicate gives: the heads [H, m], and their mean and sum [1, m].
struct Predictions {
  ensemble::Replicates heads, mean, sum;
};

Predictions replicated(const AdditiveOptions& o, const Matrix& points) {
  const std::vector<nw::Head> heads = coordinate_heads(o);
  Predictions all;
  const auto count = static_cast<std::size_t>(o.n_replicates);
  for (ensemble::Replicates* one : {&all.heads, &all.mean, &all.sum}) {
    one->predictions.resize(count);
    one->truth = target(points, o.frequency);
  }
  parallel_for(o.n_replicates, [&](Index r) {
    RandomStream random(o.seed, stream_of(1, r, 0));
    const Matrix keys = random.normal_matrix(o.n, o.n_heads);
    const Matrix y =
        target(keys, o.frequency) + std::sqrt(o.noise_variance) * random.normal_matrix(o.n, 1).col(0);
    const auto found = nw::estimate_heads<double>(points, keys, y, heads, {});
    const auto at = static_cast<std::size_t>(r);
    Matrix& each = all.heads.predictions[at];
    each.resize(o.n_heads, o.n_points);
    for (Index h = 0; h < o.n_heads; ++h)
      each.row(h) = found.heads[static_cast<std::size_t>(h)].output.col(0).transpose();
    all.mean.predictions[at] = each.colwise().mean();
    all.sum.predictions[at] =
        (each.colwise().sum().array() - static_cast<double>(o.n_heads - 1) * y.mean()).matrix();
  });
  return all;
}

CombinerRow row_of(const ensemble::Replicates& combined) {
  const ensemble::Decomposition parts = ensemble::decompose_replicates(combined);
  CombinerRow row;
  row.mse = *parts.mse;
  row.squared_bias = *parts.squared_bias;
  row.variance = parts.variance;
  return row;
}

/// A Gaussian kernel over a normal coordinate moves a head to E sin(f (u + b sqrt(1+b^2) g) / (1 + b^2)).
double limit_bias(const Matrix& points, const AdditiveOptions& o, double share) {
  const double a = 1.0 + o.bandwidth * o.bandwidth, f = o.frequency;
  const double shrink = std::exp(-0.5 * f * f * o.bandwidth * o.bandwidth / a);
  const Matrix smoothed = (f / a * points.array()).sin() * shrink;
  const Vector bias = share * smoothed.rowwise().sum() - target(points, f);
  return bias.squaredNorm() / static_cast<double>(points.rows());
}

}  // namespace

AdditiveFacts simulate_additive(const AdditiveOptions& options, const Progress& progress) {
  check(options);
  const Matrix points =
      RandomStream(options.seed, stream_of(0, 0, 0)).normal_matrix(options.n_points, options.n_heads);
  const Predictions all = replicated(options, points);
  if (progress) progress(1, 1);
  AdditiveFacts facts;
  facts.options = options;
  facts.mean = row_of(all.mean);
  facts.sum = row_of(all.sum);
  facts.mean.squared_bias_predicted = limit_bias(points, options, 1.0 / static_cast<double>(options.n_heads));
  facts.sum.squared_bias_predicted = limit_bias(points, options, 1.0);
  Part head = ensemble::decompose_replicates(all.heads).variance;
  head.value *= static_cast<double>(options.n_heads);
  if (head.standard_error) *head.standard_error *= static_cast<double>(options.n_heads);
  facts.head_variance = head;
  return facts;
}

}  // namespace headspan::experiments
