#include <fmt/format.h>

#include <array>
#include <cmath>

#include "estimator/folds.h"
#include "estimator/spread.h"
#include "headspan/estimator/intervals.h"
#include "headspan/estimator/predict.h"
#include "headspan/estimator/table_fit.h"
#include "headspan/numeric/error.h"

namespace headspan::estimator {
namespace {

constexpr std::uint64_t kEvaluationSeed = 0x6576616c;  // "eval": not the folds that a fit makes inside
constexpr std::array kScores = {&ScoreFacts::rmse, &ScoreFacts::relative_rmse, &ScoreFacts::mae,
                                &ScoreFacts::r2,   &ScoreFacts::coverage,      &ScoreFacts::width};

TargetRows some_of(const TargetRows& rows, const std::vector<Index>& which) {
  TargetRows some;
  for (const Index i : which) some.rows.push_back(rows.rows[static_cast<std::size_t>(i)]);
  some.target = rows.target(which);
  if (rows.weight.size() > 0) some.weight = rows.weight(which);
  return some;
}

Vector weights_of(const TargetRows& rows) {
  return rows.weight.size() > 0 ? rows.weight : Vector(Vector::Ones(rows.target.size()));
}

ScoreFacts score(const TableModel& model, const table::Table& table, const TargetRows& rows, double interval,
                 double deviation) {
  const Matrix x = encode(model.encoding, table, rows.rows).x;
  const Vector weight = weights_of(rows);
  const Vector error = rows.target - predict(model.model, x).value;
  const Intervals intervals = predict_intervals(model.model, x, interval);
  const Vector inside =
      ((rows.target.array() >= intervals.lower.array()) && (rows.target.array() <= intervals.upper.array()))
          .cast<double>();
  ScoreFacts facts;
  facts.rmse = root_mean_square(error, weight);
  facts.relative_rmse = facts.rmse / deviation;
  facts.mae = weighted_mean(error.cwiseAbs(), weight);
  facts.r2 = 1.0 - std::pow(facts.rmse / weighted_deviation(rows.target, weight), 2);
  facts.coverage = weighted_mean(inside, weight);
  facts.width = weighted_mean(intervals.upper - intervals.lower, weight);
  return facts;
}

void summarise(EvaluationFacts& facts) {
  const auto n = static_cast<double>(facts.folds.size());
  for (const auto member : kScores) {
    double sum = 0.0, squares = 0.0;
    for (const ScoreFacts& fold : facts.folds) sum += fold.*member;
    for (const ScoreFacts& fold : facts.folds) squares += std::pow(fold.*member - sum / n, 2);
    facts.mean.*member = sum / n;
    facts.sd.*member = std::sqrt(squares / (n - 1.0));
  }
}

void check(Index n, const EvaluationOptions& evaluation) {
  if (evaluation.n_folds < 2 || 2 * evaluation.n_folds > n)
    throw ArgumentError(
        fmt::format("n_folds: is {}, must lie between 2 and half of the {} rows", evaluation.n_folds, n));
  if (!(evaluation.interval > 0.0 && evaluation.interval < 1.0))
    throw ArgumentError(fmt::format("interval: is {}, must lie between 0 and 1", evaluation.interval));
}

}  // namespace

EvaluationFacts evaluate(const table::Table& table, const TargetRows& rows, const TableFitOptions& options,
                         const EvaluationOptions& evaluation, const std::function<void(Index)>& done) {
  const Index n = rows.target.size();
  check(n, evaluation);
  const std::vector<Index> fold_of_row = folds(n, evaluation.n_folds, evaluation.seed ^ kEvaluationSeed);
  const double deviation = weighted_deviation(rows.target, weights_of(rows));
  EvaluationFacts facts;
  facts.n_rows = n;
  facts.interval = evaluation.interval;
  for (Index k = 0; k < evaluation.n_folds; ++k) {
    const FoldRows split = rows_of_fold(fold_of_row, k);
    const TableFit fitted = fit_table(table, some_of(rows, split.seen), options);
    if (k == 0) facts.encoding = fitted.facts.encoding;
    facts.folds.push_back(
        score(fitted.model, table, some_of(rows, split.held_out), evaluation.interval, deviation));
    facts.fold_rows.push_back(std::ssize(split.held_out));
    done(k + 1);
  }
  summarise(facts);
  return facts;
}

}  // namespace headspan::estimator
