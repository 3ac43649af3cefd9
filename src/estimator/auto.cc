#include "headspan/estimator/auto.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "estimator/candidates.h"
#include "estimator/folds.h"
#include "estimator/multi_head.h"
#include "estimator/planned_heads.h"
#include "estimator/prepare.h"
#include "headspan/estimator/combine.h"
#include "headspan/numeric/error.h"

namespace headspan::estimator {
namespace {

constexpr double kLeastWeight = 0.02;
// The held-out errors of a hundred rows are uncertain by more than their weights know: candidates this much
// worse than the best are left out, and the best few share the weight.
constexpr double kNear = 1.1;
// Below 200 rows the best few are more, up to four: the fewer the rows, the more of a choice is chance.
constexpr double kFewestMembers = 2.0, kMostFewestMembers = 4.0, kRowsOfAClearChoice = 400.0;
constexpr std::uint64_t kNextChain = 7919;  // between the seeds of chains

void check(const AutoOptions& options) {
  if (options.n_folds < 2)
    throw ArgumentError(fmt::format("n_folds: is {}, must be at least 2", options.n_folds));
  if (!(options.effort >= 0.0))
    throw ArgumentError(fmt::format("effort: is {}, must not be negative", options.effort));
  if (options.learn_rows < 2 || options.select_rows < kFewestForFolds)
    throw ArgumentError(fmt::format("learn_rows and select_rows: are {} and {}, must be at least 2 and {}",
                                    options.learn_rows, options.select_rows, kFewestForFolds));
  if (!(options.relative_error >= 0.0 && options.relative_error < 1.0))
    throw ArgumentError(
        fmt::format("relative_error: is {}, must be at least 0 and below 1", options.relative_error));
  if (options.seconds && !(*options.seconds >= 0.0))
    throw ArgumentError(fmt::format("seconds: is {}, must not be negative", *options.seconds));
}

/// The rows of a model that a member may see.
struct View {
  std::vector<Index> rows;
  Matrix x;
  Vector y, frequency;

  View(const Model& model, std::vector<Index> which)
      : rows(std::move(which)),
        x(model.keys(rows, Eigen::all)),
        y(model.target(rows)),
        frequency(model.frequency(rows)) {}
};

/// A candidate's chains without one fold, and what they predict for it.
struct FoldFit {
  std::vector<MultiHead> chains;
  Matrix path;  // [held out, 1 + H] prediction after every head; one column unless stages
};

struct Tried {
  std::size_t candidate;
  std::vector<FoldFit> folds;
  Vector held_out;  // [n] prediction with the number of heads kept
};

class Search {
 public:
  Search(const Model& model, const AutoOptions& options)
      : model_(model),
        options_(options),
        fold_of_row_(folds(model.target.size(), options.n_folds, options.seed)) {
    const Index n_folds = 1 + *std::max_element(fold_of_row_.begin(), fold_of_row_.end());
    for (Index k = 0; k < n_folds; ++k) {
      const FoldRows split = rows_of_fold(fold_of_row_, k);
      seen_.emplace_back(model, split.seen);
      held_out_.emplace_back(model, split.held_out);
    }
  }

  Tried attempt(std::size_t index, Candidate& candidate) const {
    Tried tried{index, {}, Vector(model_.target.size())};
    for (std::size_t k = 0; k < seen_.size(); ++k) tried.folds.push_back(fit_fold(candidate, k));
    const Vector error = errors(tried);
    Index kept = 0;
    candidate.error = std::sqrt(error.minCoeff(&kept));
    candidate.tried = true;
    const bool stages = candidate.recipe.combiner == Combiner::sum;
    for (std::size_t k = 0; k < seen_.size(); ++k) {
      tried.held_out(held_out_[k].rows) = tried.folds[k].path.col(kept);
      for (MultiHead& chain : tried.folds[k].chains)
        if (stages) chain = first_heads(std::move(chain), std::min<Index>(kept, std::ssize(chain.heads)));
    }
    candidate.n_heads = stages ? kept : std::ssize(tried.folds.front().chains.front().heads);
    return tried;
  }

  const std::vector<View>& seen() const { return seen_; }
  const std::vector<View>& held_out() const { return held_out_; }
  const std::vector<Index>& fold_of_row() const { return fold_of_row_; }

 private:
  FoldFit fit_fold(const Candidate& candidate, std::size_t k) const {
    const View& seen = seen_[k];
    const View& held_out = held_out_[k];
    const SmoothedRows rows{seen.x, seen.frequency};
    const bool stages = candidate.recipe.combiner == Combiner::sum;
    // A fold of a tiny table may have fewer heads (principal ones): the last column stands for the rest.
    FoldFit fit{{}, Matrix::Zero(held_out.x.rows(), stages ? 1 + candidate.recipe.n_heads : 1)};
    for (Index c = 0; c < candidate.n_chains; ++c) {
      fit.chains.push_back(fit_multi_head(rows, seen.y, candidate.recipe, learning(c)).estimate);
      const Matrix parts = contributions(fit.chains.back(), rows, held_out.x);
      Vector sum = stages ? Vector(parts.col(0)) : Vector(parts.rowwise().sum());
      for (Index h = 0; h < fit.path.cols(); ++h) {
        if (h > 0 && h < parts.cols()) sum += parts.col(h);
        fit.path.col(h) += sum / static_cast<double>(candidate.n_chains);
      }
    }
    return fit;
  }

  Learning learning(Index chain) const {
    return {options_.seed + kNextChain * static_cast<std::uint64_t>(chain), options_.learn_rows};
  }

  /// Mean squared held-out error for every number of heads.
  Vector errors(const Tried& tried) const {
    Vector sum = Vector::Zero(tried.folds.front().path.cols());
    for (std::size_t k = 0; k < held_out_.size(); ++k) {
      const Matrix residual = tried.folds[k].path.colwise() - held_out_[k].y;
      sum += residual.cwiseAbs2().transpose() * held_out_[k].frequency;
    }
    return sum / model_.frequency.sum();
  }

  const Model& model_;
  const AutoOptions& options_;
  std::vector<Index> fold_of_row_;
  std::vector<View> seen_, held_out_;
};

Matrix outputs_of(const std::vector<Tried>& tried) {
  Matrix out(tried.front().held_out.size(), std::ssize(tried));
  for (Index c = 0; c < out.cols(); ++c) out.col(c) = tried[static_cast<std::size_t>(c)].held_out;
  return out;
}

double fewest_members(Index n) {
  return std::clamp(kRowsOfAClearChoice / static_cast<double>(n), kFewestMembers, kMostFewestMembers);
}

/// Weights of the candidates whose error is near the least: on the simplex, at least fewest_members() in
/// effect, those too small to matter given to the others.
Vector few_weights(const Matrix& outputs, const Vector& y, const Vector& frequency) {
  const Matrix residual = (-outputs).colwise() + y;
  const Vector error = residual.cwiseAbs2().transpose() * frequency;
  std::vector<Index> near;
  for (Index c = 0; c < error.size(); ++c)
    if (error[c] <= kNear * kNear * error.minCoeff()) near.push_back(c);
  const Vector among =
      simplex_weights(outputs(Eigen::all, near), y, frequency, 1.0 / fewest_members(y.size()));
  Vector weights = Vector::Zero(error.size());
  for (std::size_t c = 0; c < near.size(); ++c) {
    const double weight = among[static_cast<Index>(c)];
    if (weight >= kLeastWeight) weights[near[c]] = weight;
  }
  return weights / weights.sum();
}

/// Root mean squared error of the mixture, the weights of every fold found without it.
double honest_error(const Model& model, const Search& search, const Matrix& outputs) {
  double sum = 0.0;
  for (std::size_t k = 0; k < search.seen().size(); ++k) {
    const View& seen = search.seen()[k];
    const View& held_out = search.held_out()[k];
    const Vector weights = few_weights(outputs(seen.rows, Eigen::all), seen.y, seen.frequency);
    const Vector residual = held_out.y - outputs(held_out.rows, Eigen::all) * weights;
    sum += held_out.frequency.dot(residual.cwiseAbs2());
  }
  return std::sqrt(sum / model.frequency.sum());
}

/// The candidates that the effort allows, the first always.
std::vector<std::size_t> affordable(const std::vector<Candidate>& candidates, double effort) {
  std::vector<std::size_t> chosen;
  double spent = 0.0;
  for (std::size_t c = 0; c < candidates.size(); ++c) {
    const double cost = candidates[c].cost;
    if (!chosen.empty() && (cost > kMostOfEffort * effort || spent + cost > effort)) continue;
    chosen.push_back(c);
    spent += cost;
  }
  return chosen;
}

/// Tries what the effort and the clock allow.
std::vector<Tried> try_candidates(const Search& search, const AutoOptions& options, AutoResult& result) {
  const auto begin = std::chrono::steady_clock::now();
  double total = result.effort_spent;
  const std::vector<std::size_t> chosen = affordable(result.candidates, options.effort - total);
  for (const std::size_t c : chosen) total += result.candidates[c].cost;
  std::vector<Tried> tried;
  for (const std::size_t c : chosen) {
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
    if (!tried.empty() && options.seconds && passed.count() > *options.seconds) {
      result.partial = true;
      break;
    }
    tried.push_back(search.attempt(c, result.candidates[c]));
    result.effort_spent += result.candidates[c].cost;
    if (options.progress)
      options.progress(static_cast<std::size_t>(result.effort_spent), static_cast<std::size_t>(total));
  }
  return tried;
}

/// The chains of a candidate on all rows.
void add_to_ensemble(const Candidate& candidate, const AutoOptions& options, const View& all,
                     FitResult& result) {
  Recipe recipe = candidate.recipe;
  if (recipe.combiner == Combiner::sum) recipe.n_heads = candidate.n_heads;
  const double weight = candidate.weight / static_cast<double>(candidate.n_chains);
  const double error = all.y.size() > options.select_rows ? options.relative_error : 0.0;
  for (Index c = 0; c < candidate.n_chains; ++c) {
    FittedMultiHead fit = fit_multi_head(
        {all.x, all.frequency}, all.y, recipe,
        {options.seed + kNextChain * static_cast<std::uint64_t>(c), options.learn_rows, error});
    fit.estimate.weight = weight;
    result.model.loo_residual += weight * fit.loo_residual;
    result.n_evaluations += fit.n_evaluations;
    result.model.ensemble.estimates.push_back(std::move(fit.estimate));
  }
}

void add_folds(const Search& search, const AutoResult& found, std::vector<Tried>& tried,
               const Vector& held_out, Model& model) {
  model.fold_of_row = search.fold_of_row();
  model.fold_residual = model.target - held_out;
  for (std::size_t k = 0; k < search.seen().size(); ++k) {
    Member member{search.seen()[k].rows, {}};
    for (Tried& one : tried) {
      const Candidate& candidate = found.candidates[one.candidate];
      if (candidate.weight == 0.0) continue;
      for (MultiHead& chain : one.folds[k].chains) {
        chain.weight = candidate.weight / static_cast<double>(candidate.n_chains);
        member.estimates.push_back(std::move(chain));
      }
    }
    model.folds.push_back(std::move(member));
  }
}

/// The rows that choose: all of a small table.
Model selection_model(const Model& model, const AutoOptions& options) {
  const View some(model, sampled_rows(model.target.size(), options.select_rows,
                                      RandomStream(options.seed, kSampleStream)));
  Model out = model;
  out.keys = some.x;
  out.target = some.y;
  out.frequency = some.frequency;
  return out;
}

/// Too few rows to choose by: the mean.
void fit_mean(FitResult& result, const AutoOptions& options) {
  const View all(result.model, all_rows(result.model.target.size()));
  result.model.ensemble.rows = all.rows;
  result.model.loo_residual = Vector::Zero(all.y.size());
  Candidate mean{.recipe = {}, .weight = 1.0};
  mean.recipe.n_heads = 0;
  add_to_ensemble(mean, options, all, result);
}

}  // namespace

AutoResult fit_auto(MatrixView x, VectorView y, VectorView row_weight, const AutoOptions& options) {
  check(options);
  AutoResult result;
  result.fit = prepare(x, y, row_weight);
  Model& model = result.fit.model;
  const Index n = model.target.size();
  if (n < kFewestForFolds || model.inputs.empty() || !(model.target.minCoeff() < model.target.maxCoeff())) {
    fit_mean(result.fit, options);
    return result;
  }
  const Model chosen_by = selection_model(model, options);
  result.plan = planned_heads(chosen_by.keys, chosen_by.target, n, options);
  if (result.plan) result.effort_spent = result.plan->cost;
  result.candidates = candidates_for(n, std::ssize(model.inputs), result.plan, options);
  const Search search(chosen_by, options);
  std::vector<Tried> tried = try_candidates(search, options, result);
  const Matrix outputs = outputs_of(tried);
  const Vector weights = few_weights(outputs, chosen_by.target, chosen_by.frequency);
  for (std::size_t c = 0; c < tried.size(); ++c)
    result.candidates[tried[c].candidate].weight = weights[static_cast<Index>(c)];
  result.error = honest_error(chosen_by, search, outputs);
  const View all(model, all_rows(n));
  model.ensemble.rows = all.rows;
  model.loo_residual = Vector::Zero(n);
  for (const Candidate& candidate : result.candidates)
    if (candidate.weight > 0.0) add_to_ensemble(candidate, options, all, result.fit);
  if (chosen_by.target.size() == n) add_folds(search, result, tried, outputs * weights, model);
  return result;
}

}  // namespace headspan::estimator
