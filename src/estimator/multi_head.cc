#include "estimator/multi_head.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "estimator/prepare.h"
#include "estimator/sharpen.h"
#include "estimator/trend.h"
#include "headspan/estimator/combine.h"
#include "headspan/estimator/heads.h"
#include "headspan/estimator/learn.h"
#include "headspan/numeric/random.h"

namespace headspan::estimator {
namespace {

constexpr std::uint64_t kBandwidthStream = 1u << 21;  // of the seed; low numbers are those of the heads

/// The rows that heads are learned on.
struct LearningRows {
  Matrix x;
  Vector frequency;
  std::vector<Index> rows;
  double scale = 1.0;  // of a projection learned on them, for all rows
  double ratio = 1.0;  // all rows per row of these
};

LearningRows learning_rows(const SmoothedRows& rows, const Recipe& recipe, const Learning& learning) {
  const Index head_dim = recipe.heads == HeadKind::diagonal ? rows.x.cols() : recipe.head_dim;
  const Index most_rows =
      recipe.sharpen ? std::min(learning.most_rows, kMostSharpLearningRows) : learning.most_rows;
  const Index n = rows.x.rows();
  if (n <= most_rows) return {rows.x, rows.frequency, all_rows(n)};
  std::vector<Index> chosen = sampled_rows(n, most_rows, RandomStream(learning.seed, kSampleStream));
  // The best bandwidth of k dimensions falls as n^(-1/(4+k)).
  const double ratio = static_cast<double>(n) / static_cast<double>(most_rows);
  const double scale = std::pow(ratio, 1.0 / (4.0 + static_cast<double>(head_dim)));
  return {rows.x(chosen, Eigen::all), rows.frequency(chosen), std::move(chosen), scale, ratio};
}

std::vector<Matrix> diagonal_heads(Index n_heads, Index p, double n, std::uint64_t seed) {
  std::vector<Matrix> heads;
  RandomStream random(seed, kBandwidthStream);
  const double scale = 0.75 * starting_scale(n, p) / std::sqrt(static_cast<double>(p));
  for (Index h = 0; h < n_heads; ++h) {
    Vector diagonal(p);
    for (Index j = 0; j < p; ++j) diagonal[j] = scale * (0.7 + 0.7 * random.uniform());
    heads.emplace_back(diagonal.asDiagonal());
  }
  return heads;
}

std::vector<Matrix> starting_heads(const LearningRows& rows, const Recipe& recipe, std::uint64_t seed) {
  const Index p = rows.x.cols(), k = std::min(recipe.head_dim, p);
  const double n = rows.frequency.sum();
  if (recipe.heads == HeadKind::diagonal) return diagonal_heads(recipe.n_heads, p, n, seed);
  std::vector<Matrix> heads = recipe.heads == HeadKind::principal
                                  ? principal_heads(recipe.n_heads, k, rows.x, rows.frequency)
                                  : random_orthogonal_heads(recipe.n_heads, k, p, seed);
  for (Matrix& head : heads) head *= starting_scale(n, head.rows());
  return heads;
}

Freedom freedom_of(HeadKind kind) {
  if (kind == HeadKind::learned) return Freedom::projection;
  return kind == HeadKind::diagonal ? Freedom::diagonal : Freedom::scale;
}

/// Fits heads to the values of its rows, and keeps count of evaluations.
class Learner {
 public:
  Learner(const SmoothedRows& rows, const Recipe& recipe, const Learning& learning)
      : all_(rows),
        recipe_(recipe),
        how_{.relative_error = learning.relative_error, .n_eff = false},
        rows_(learning_rows(rows, recipe, learning)),
        starts_(starting_heads(rows_, recipe, learning.seed)) {}

  Index n_heads() const { return std::ssize(starts_); }
  Index n_evaluations() const { return n_evaluations_; }

  /// Heads `first` .. `first` + `count` moved together, each of weight 1 / count; sharpened ones each alone.
  std::vector<SharpHead> learn(Index first, Index count, VectorView values) {
    if (recipe_.sharpen) return learn_sharp(first, count, values(rows_.rows));
    std::vector<Matrix> start(starts_.begin() + first, starts_.begin() + first + count);
    const Vector weights = Vector::Constant(count, 1.0 / static_cast<double>(count));
    const Vector sampled = values(rows_.rows);
    LearnedHeads learned =
        learn_heads(rows_.x, sampled, rows_.frequency, std::move(start), weights,
                    {freedom_of(recipe_.heads), recipe_.diversity_penalty, evaluations_of(recipe_)});
    n_evaluations_ += learned.n_evaluations;
    std::vector<SharpHead> heads;
    for (Matrix& projection : learned.projections) heads.push_back({rows_.scale * projection, 0.0});
    return heads;
  }

  /// [n] left-out predictions of one head, which becomes part of `estimate`.
  Vector add(SharpHead head, double weight, VectorView values, MultiHead& estimate) {
    const Smoothed smoothed = smooth_left_out(all_, head.projection, Matrix(values), how_);
    const Index h = std::ssize(estimate.heads);
    Vector left_out = smoothed.value.col(0);
    FittedHead fitted{
        .projection = head.projection, .weight = weight, .loneliest = smoothed.log_normaliser.minCoeff()};
    estimate.values.col(h) = values;
    if (recipe_.sharpen) {
      const Sharpened sharpened = sharpen(all_, head, values);
      fitted.sharpness = head.sharpness;
      const double slack = kBeyondTargets * (values.maxCoeff() - values.minCoeff());
      fitted.lowest = values.minCoeff() - slack;
      fitted.highest = values.maxCoeff() + slack;
      estimate.values.col(h) = sharpened.values;
      left_out = (values - sharpened.loo_residual).cwiseMax(fitted.lowest).cwiseMin(fitted.highest);
    }
    estimate.heads.push_back(std::move(fitted));
    return left_out;
  }

 private:
  std::vector<SharpHead> learn_sharp(Index first, Index count, const Vector& values) {
    std::vector<SharpHead> heads;
    for (Index h = first; h < first + count; ++h) {
      LearnedSharpHead learned =
          learn_sharp_head({rows_.x, rows_.frequency}, values, starts_[static_cast<std::size_t>(h)],
                           freedom_of(recipe_.heads), evaluations_of(recipe_));
      n_evaluations_ += learned.n_evaluations;
      // The sharpness stands for the rows per unit of noise, as one over the penalty of a ridge regression
      // does.
      learned.head.sharpness *= rows_.ratio;
      heads.push_back(std::move(learned.head));
    }
    return heads;
  }

  SmoothedRows all_;
  const Recipe& recipe_;
  SmoothOptions how_;
  LearningRows rows_;
  std::vector<Matrix> starts_;
  Index n_evaluations_ = 0;
};

void fit_stages(Learner& learner, const Recipe& recipe, FittedMultiHead& fit) {
  for (Index h = 0; h < learner.n_heads(); ++h) {
    const Vector values = fit.loo_residual;
    std::vector<SharpHead> head = learner.learn(h, 1, values);
    fit.loo_residual -=
        recipe.shrinkage * learner.add(std::move(head.front()), recipe.shrinkage, values, fit.estimate);
  }
}

void fit_together(Learner& learner, const SmoothedRows& rows, const Recipe& recipe, FittedMultiHead& fit) {
  const Index n_heads = learner.n_heads();
  const Vector values = fit.loo_residual;
  std::vector<SharpHead> heads = learner.learn(0, n_heads, values);
  Matrix outputs(values.size(), n_heads);
  for (Index h = 0; h < n_heads; ++h)
    outputs.col(h) = learner.add(std::move(heads[static_cast<std::size_t>(h)]), 1.0, values, fit.estimate);
  Vector weights = Vector::Constant(n_heads, 1.0 / static_cast<double>(n_heads));
  if (recipe.combiner == Combiner::simplex) weights = simplex_weights(outputs, values, rows.frequency);
  if (recipe.combiner == Combiner::least_squares) weights = shrunk_weights(outputs, values, rows.frequency);
  for (Index h = 0; h < n_heads; ++h) fit.estimate.heads[static_cast<std::size_t>(h)].weight = weights[h];
  fit.loo_residual = values - outputs * weights;
}

void start_with_trend(const SmoothedRows& rows, VectorView y, const Recipe& recipe, FittedMultiHead& fit) {
  MultiHead& estimate = fit.estimate;
  estimate.trend = Vector::Zero(rows.x.cols());
  estimate.ridge = std::numeric_limits<double>::infinity();
  fit.loo_residual = y;
  if (!recipe.trend) return;
  Trend trend = fit_trend(rows.x, y, rows.frequency);
  estimate.intercept = trend.intercept;
  estimate.trend = std::move(trend.slope);
  estimate.ridge = trend.ridge;
  fit.loo_residual = std::move(trend.loo_residual);
}

}  // namespace

FittedMultiHead fit_multi_head(const SmoothedRows& rows, VectorView y, const Recipe& recipe,
                               const Learning& learning) {
  FittedMultiHead fit;
  fit.estimate.recipe = recipe;
  start_with_trend(rows, y, recipe, fit);
  const bool something_to_explain =
      y.size() > 1 && y.minCoeff() < y.maxCoeff() && rows.x.cols() > 0 && recipe.n_heads > 0;
  if (!something_to_explain) {
    fit.estimate.values.resize(y.size(), 0);
    return fit;
  }
  Learner learner(rows, recipe, learning);
  fit.estimate.values.resize(y.size(), learner.n_heads());
  if (recipe.combiner == Combiner::sum)
    fit_stages(learner, recipe, fit);
  else
    fit_together(learner, rows, recipe, fit);
  fit.n_evaluations = learner.n_evaluations();
  return fit;
}

Vector within_bounds(const FittedHead& head, const Smoothed& smoothed) {
  return smoothed.value.col(0).cwiseMax(head.lowest).cwiseMin(head.highest);
}

Matrix contributions(const MultiHead& estimate, const SmoothedRows& rows, MatrixView queries) {
  const Index n_heads = std::ssize(estimate.heads);
  Matrix out(queries.rows(), 1 + n_heads);
  out.col(0) = (queries * estimate.trend).array() + estimate.intercept;
  for (Index h = 0; h < n_heads; ++h) {
    const FittedHead& head = estimate.heads[static_cast<std::size_t>(h)];
    const Matrix values = estimate.values.col(h);
    const Smoothed smoothed =
        smooth(rows, head.projection, queries, values, {.relative_error = 0.0, .n_eff = false});
    out.col(1 + h) = head.weight * within_bounds(head, smoothed);
  }
  return out;
}

MultiHead first_heads(MultiHead estimate, Index n_heads) {
  estimate.heads.resize(static_cast<std::size_t>(n_heads));
  estimate.values = Matrix(estimate.values.leftCols(n_heads));
  return estimate;
}

}  // namespace headspan::estimator
