#include "headspan/estimator/learn.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "estimator/coordinates.h"
#include "estimator/left_out.h"
#include "headspan/numeric/error.h"
#include "headspan/numeric/optimize.h"
#include "headspan/subspace/frames.h"

namespace headspan::estimator {
namespace {

struct Problem {
  MatrixView x;
  VectorView values, frequency, weights;
  double penalty;  // gamma times the variance of the values
};

/// The error, the penalty apart, and the derivatives of both together.
double loo_error(const Problem& problem, const std::vector<Matrix>& projections,
                 std::vector<Matrix>* gradient) {
  std::vector<std::unique_ptr<nw::LeftOutHead>> heads;
  Vector residual = problem.values;
  for (std::size_t h = 0; h < projections.size(); ++h) {
    heads.push_back(left_out_head(problem.x, problem.values, problem.frequency, projections[h]));
    residual -= problem.weights[static_cast<Index>(h)] * heads.back()->prediction();
  }
  const double total = problem.frequency.sum();
  const Vector pull = problem.frequency.cwiseProduct(residual) / total;
  if (gradient) {
    gradient->clear();
    for (std::size_t h = 0; h < projections.size(); ++h)
      gradient->push_back(heads[h]->by_projection(-2.0 * problem.weights[static_cast<Index>(h)] * pull));
  }
  return pull.dot(residual);
}

double penalised(const Problem& problem, const std::vector<Matrix>& projections,
                 std::vector<Matrix>* gradient) {
  const double value = loo_error(problem, projections, gradient);
  if (problem.penalty == 0.0) return value;
  const Index k = projections.front().rows(), n_heads = std::ssize(projections);
  Matrix stacked(n_heads * k, problem.x.cols());
  for (Index h = 0; h < n_heads; ++h) stacked.middleRows(h * k, k) = projections[static_cast<std::size_t>(h)];
  const subspace::DiversityPenalty apart = subspace::diversity_penalty(stacked, n_heads);
  for (Index h = 0; gradient && h < n_heads; ++h)
    (*gradient)[static_cast<std::size_t>(h)] += problem.penalty * apart.gradient.middleRows(h * k, k);
  return value + problem.penalty * apart.value;
}

double variance(VectorView values, VectorView frequency) {
  const double total = frequency.sum(), mean = frequency.dot(values) / total;
  return frequency.dot((values.array() - mean).square().matrix()) / total;
}

}  // namespace

LearnedHeads learn_heads(MatrixView x, VectorView values, VectorView frequency, std::vector<Matrix> start,
                         VectorView weights, const LearnOptions& options) {
  if (weights.size() != std::ssize(start) || start.empty())
    throw ArgumentError(fmt::format("weights: has {} values for {} heads", weights.size(), start.size()));
  const double spread = variance(values, frequency);
  if (!(spread > 0.0)) return {std::move(start), 0.0, 0};
  // Only projections can turn: the overlap of the other heads is what it is.
  const double gamma = options.freedom == Freedom::projection ? options.diversity_penalty : 0.0;
  const Problem problem{x, values, frequency, weights, gamma * spread};
  const Coordinates coordinates(options.freedom, start);
  const Objective objective = [&](const Vector& at, Vector* slope) {
    const std::vector<Matrix> projections = coordinates.projections(at);
    std::vector<Matrix> gradient;
    const double value = penalised(problem, projections, slope ? &gradient : nullptr);
    if (slope) *slope = coordinates.slope(projections, gradient) / spread;
    return value / spread;
  };
  const Vector begin = coordinates.begin();
  const Vector bound = Vector::Constant(begin.size(), coordinates.bound());
  const Minimum minimum =
      minimize(objective, begin, -bound, bound,
               {.x_tolerance = 1e-4, .value_tolerance = 1e-5, .max_evaluations = options.max_evaluations});
  LearnedHeads out{coordinates.projections(minimum.at), 0.0, minimum.n_evaluations};
  out.loo = loo_error(problem, out.projections, nullptr);
  return out;
}

}  // namespace headspan::estimator
