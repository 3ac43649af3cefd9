#include "headspan/estimator/learn.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "estimator/left_out.h"
#include "headspan/numeric/error.h"
#include "headspan/numeric/optimize.h"
#include "headspan/subspace/frames.h"

namespace headspan::estimator {
namespace {

// Projections beyond it see every row as its own only neighbour, and a common scale beyond its exponential.
constexpr double kLargestEntry = 1e4;
constexpr double kLargestLogScale = 5.0;

/// The free numbers of projections as one vector, and back.
class Coordinates {
 public:
  Coordinates(Freedom freedom, const std::vector<Matrix>& start) : freedom_(freedom), start_(start) {}

  Vector begin() const { return freedom_ == Freedom::scale ? Vector::Zero(1) : gather(start_); }

  double bound() const { return freedom_ == Freedom::scale ? kLargestLogScale : kLargestEntry; }

  std::vector<Matrix> projections(const Vector& at) const {
    std::vector<Matrix> out = start_;
    Index next = 0;
    for (Matrix& projection : out) {
      if (freedom_ == Freedom::scale) {
        projection *= std::exp(at[0]);
      } else if (freedom_ == Freedom::diagonal) {
        projection.diagonal() = at.segment(next, projection.rows());
        next += projection.rows();
      } else {
        projection = at.segment(next, projection.size())
                         .reshaped<Eigen::RowMajor>(projection.rows(), projection.cols());
        next += projection.size();
      }
    }
    return out;
  }

  /// Derivatives by the coordinates from those by the projections.
  Vector slope(const std::vector<Matrix>& projections, const std::vector<Matrix>& gradient) const {
    if (freedom_ != Freedom::scale) return gather(gradient);
    double sum = 0.0;
    for (std::size_t h = 0; h < projections.size(); ++h)
      sum += projections[h].cwiseProduct(gradient[h]).sum();
    return Vector::Constant(1, sum);
  }

 private:
  Vector gather(const std::vector<Matrix>& all) const {
    Index size = 0, next = 0;
    for (const Matrix& one : all) size += freedom_ == Freedom::diagonal ? one.rows() : one.size();
    Vector out(size);
    for (const Matrix& one : all) {
      const Vector part =
          freedom_ == Freedom::diagonal ? Vector(one.diagonal()) : Vector(one.reshaped<Eigen::RowMajor>());
      out.segment(next, part.size()) = part;
      next += part.size();
    }
    return out;
  }

  Freedom freedom_;
  const std::vector<Matrix>& start_;
};

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
