#include "headspan/experiments/forest.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "experiments/measure.h"
#include "experiments/tree.h"
#include "headspan/numeric/error.h"
#include "headspan/numeric/parallel.h"

namespace headspan::experiments {
namespace {

constexpr Index kTargetInputs = 5;

void check(const ForestOptions& o) {
  require_some("mtry", o.mtry.size());
  require_at_least("n_inputs", o.n_inputs, kTargetInputs);
  for (const Index mtry : o.mtry)
    require_within("mtry", static_cast<double>(mtry), 1.0, static_cast<double>(o.n_inputs));
  require_at_least("n_trees", o.n_trees, 2);
  require_at_least("n", o.n, 2);
  require_at_least("least_leaf", o.least_leaf, 1);
  require_at_least("n_points", o.n_points, 1);
  require_at_least("n_replicates", o.n_replicates, 3);
  require_within("noise_variance", o.noise_variance, 0.0, 1e300);
}

/// [p, n] uniform inputs, one input a row.
Matrix uniform_inputs(RandomStream& random, Index p, Index n) {
  Matrix x(p, n);
  for (Index i = 0; i < x.size(); ++i) x.data()[i] = random.uniform();
  return x;
}

double target(VectorView x) {
  const double off = x[2] - 0.5;
  return 10.0 * std::sin(std::numbers::pi * x[0] * x[1]) + 20.0 * off * off + 10.0 * x[3] + 5.0 * x[4];
}

Vector targets(const Matrix& x) {
  Vector m(x.cols());
  for (Index i = 0; i < x.cols(); ++i) m[i] = target(x.col(i));
  return m;
}

std::vector<Index> training_rows(const ForestOptions& o, RandomStream& random) {
  std::vector<Index> rows(static_cast<std::size_t>(o.n));
  std::iota(rows.begin(), rows.end(), Index{0});
  if (!o.bootstrap) return rows;
  for (Index& row : rows)
    row = std::min(o.n - 1, static_cast<Index>(random.uniform() * static_cast<double>(o.n)));
  return rows;
}

/// Errors of every tree at the fixed points of one replicate, counted from `first`, and the squared error of
/// their mean.
double grow_replicate(const ForestOptions& o, Index at, Index first, Index replicate, const Matrix& points,
                      const Vector& truth, ErrorSums& errors) {
  RandomStream data(o.seed, stream_of(at + 1, first + replicate, 0));
  const SortedInputs inputs(uniform_inputs(data, o.n_inputs, o.n));
  const Vector y = targets(inputs.values) + std::sqrt(o.noise_variance) * data.normal_matrix(o.n, 1).col(0);
  const TreeOptions options{o.mtry[static_cast<std::size_t>(at)], o.least_leaf};
  for (Index t = 0; t < o.n_trees; ++t) {
    RandomStream random(o.seed, stream_of(at + 1, first + replicate, t + 1));
    std::vector<Index> rows = training_rows(o, random);
    const RegressionTree tree(inputs, y, std::move(rows), options, random);
    for (Index p = 0; p < o.n_points; ++p) errors.add(replicate, p, tree.predict(points.col(p)) - truth[p]);
  }
  return (errors.sum.row(replicate) / static_cast<double>(o.n_trees)).squaredNorm() /
         static_cast<double>(o.n_points);
}

/// Replicates `first` and those after it.
ForestRow measured(const ForestOptions& o, Index at, Index first, const Matrix& points, const Vector& truth) {
  ErrorSums errors(o.n_replicates, o.n_points);
  Vector squared(o.n_replicates);
  parallel_for(o.n_replicates,
               [&](Index r) { squared[r] = grow_replicate(o, at, first, r, points, truth, errors); });
  ForestRow row;
  row.law = measured_law(errors);
  row.mtry = o.mtry[static_cast<std::size_t>(at)];
  row.law.dial = 1.0 - static_cast<double>(row.mtry) / static_cast<double>(o.n_inputs);
  row.mse = mean_of(squared);
  return row;
}

}  // namespace

ForestFacts simulate_forest(const ForestOptions& options, const Progress& progress) {
  check(options);
  RandomStream random(options.seed, stream_of(0, 0, 0));
  const Matrix points = uniform_inputs(random, options.n_inputs, options.n_points);
  const Vector truth = targets(points);
  ForestFacts facts;
  facts.options = options;
  std::vector<DialPoint> fitted;
  for (std::size_t at = 0; at < options.mtry.size(); ++at) {
    const Index row = static_cast<Index>(at);
    facts.rows.push_back(measured(options, row, 0, points, truth));
    const LawRow others = measured(options, row, options.n_replicates, points, truth).law;
    fitted.push_back({others.dial, others.rho});
    if (progress) progress(at + 1, options.mtry.size());
  }
  std::vector<LawRow*> rows;
  for (ForestRow& row : facts.rows) rows.push_back(&row.law);
  predict_from(fitted, rows);
  const auto [least, most] = ends_of_dial(facts.rows);
  facts.trend = trend_between(least->law.rho, most->law.rho);
  return facts;
}

}  // namespace headspan::experiments
