#include "headspan/estimator/table_fit.h"

#include <gtest/gtest.h>

#include <cmath>

#include "estimator/folds.h"
#include "headspan/estimator/intervals.h"
#include "headspan/estimator/predict.h"
#include "headspan/numeric/error.h"
#include "headspan/numeric/random.h"
#include "headspan/table/csv.h"

namespace headspan::estimator {
namespace {

table::Table wages(Index n = 60) {
  RandomStream random(11, 0);
  const Matrix draw = random.normal_matrix(n, 3);
  std::string text = "a,b,group,y,count\n";
  for (Index i = 0; i < n; ++i) {
    const char* group = i % 3 == 0 ? "p" : i % 3 == 1 ? "q" : "r";
    text += std::to_string(draw(i, 0)) + "," + std::to_string(draw(i, 1)) + "," + group + "," +
            std::to_string(std::sin(2.0 * draw(i, 0)) + 0.1 * draw(i, 2)) + "," + std::to_string(1 + i % 2) +
            "\n";
  }
  return table::parse_csv(text, "example.csv");
}

TableFitOptions quick_table_fit(bool weighted = false) {
  TableFitOptions options;
  options.target = "y";
  if (weighted) options.weight = "count";
  options.encoding.drop = weighted ? std::vector<std::string>{} : std::vector<std::string>{"count"};
  options.fit.recipe.n_heads = 3;
  options.fit.recipe.head_dim = 2;
  options.fit.recipe.iterations = 5;
  options.fit.n_folds = 3;
  return options;
}

TargetRows subset(const TargetRows& rows, const std::vector<Index>& which) {
  TargetRows out;
  for (const Index i : which) out.rows.push_back(rows.rows[static_cast<std::size_t>(i)]);
  out.target = rows.target(which);
  if (rows.weight.size() > 0) out.weight = rows.weight(which);
  return out;
}

TEST(TableFit, StatesWhatItDid) {
  const table::Table table = wages();
  const TargetRows rows = target_rows(table, "y", "count");
  const TableFit fitted = fit_table(table, rows, quick_table_fit(true));
  EXPECT_EQ(fitted.facts.n_rows, 60);
  EXPECT_EQ(fitted.facts.total_weight, 90.0);
  EXPECT_EQ(fitted.model.encoding.not_inputs, (std::vector<std::string>{"y", "count"}));
  EXPECT_EQ(fitted.facts.estimates.size(), 1u);
  // The residuals of the folds, row by row in the units of the table.
  const Matrix x = encode(fitted.model.encoding, table, rows.rows).x;
  const Vector left_out = left_out_predictions(fitted.model.model);
  EXPECT_EQ(left_out.size(), 60);
  const Vector target =
      fitted.model.model.target_center + fitted.model.model.target_scale * fitted.model.model.target.array();
  const double squared = fitted.model.model.frequency.dot((target - left_out).cwiseAbs2()) / 90.0;
  EXPECT_NEAR(fitted.facts.leave_one_out.rmse, std::sqrt(squared), 1e-12);
  ASSERT_TRUE(fitted.facts.held_out.has_value());
  EXPECT_LT(fitted.facts.held_out->relative, 0.9);
}

TEST(Evaluate, IsFitsWithoutEachFoldInTurn) {
  const table::Table table = wages();
  for (const bool weighted : {false, true}) {
    const TableFitOptions options = quick_table_fit(weighted);
    const TargetRows rows = target_rows(table, "y", options.weight);
    std::vector<Index> calls;
    const EvaluationFacts facts =
        evaluate(table, rows, options, {3, 7, 0.8}, [&](Index done) { calls.push_back(done); });
    EXPECT_EQ(calls, (std::vector<Index>{1, 2, 3}));
    const std::vector<Index> fold_of_row = folds(60, 3, 7 ^ 0x6576616c);
    double mean_rmse = 0.0;
    for (Index k = 0; k < 3; ++k) {
      const FoldRows split = rows_of_fold(fold_of_row, k);
      const TableFit fitted = fit_table(table, subset(rows, split.seen), options);
      const TargetRows held_out = subset(rows, split.held_out);
      const Matrix x = encode(fitted.model.encoding, table, held_out.rows).x;
      const Vector value = predict(fitted.model.model, x).value;
      const Intervals intervals = predict_intervals(fitted.model.model, x, 0.8);
      double squared = 0.0, absolute = 0.0, inside = 0.0, total = 0.0;
      for (Index i = 0; i < value.size(); ++i) {
        const double w = weighted ? held_out.weight[i] : 1.0, y = held_out.target[i];
        total += w;
        squared += w * (y - value[i]) * (y - value[i]);
        absolute += w * std::abs(y - value[i]);
        inside += y >= intervals.lower[i] && y <= intervals.upper[i] ? w : 0.0;
      }
      const ScoreFacts& have = facts.folds.at(static_cast<std::size_t>(k));
      EXPECT_NEAR(have.rmse, std::sqrt(squared / total), 1e-12);
      EXPECT_NEAR(have.mae, absolute / total, 1e-12);
      EXPECT_NEAR(have.coverage, inside / total, 1e-12);
      mean_rmse += have.rmse / 3.0;
    }
    EXPECT_NEAR(facts.mean.rmse, mean_rmse, 1e-12);
    EXPECT_EQ(facts.fold_rows, (std::vector<Index>{20, 20, 20}));
  }
}

TEST(Evaluate, Misuse) {
  const table::Table table = wages(6);
  const TargetRows rows = target_rows(table, "y", std::nullopt);
  const auto silent = [](Index) {};
  EXPECT_THROW(evaluate(table, rows, quick_table_fit(), {1, 0, 0.9}, silent), ArgumentError);
  EXPECT_THROW(evaluate(table, rows, quick_table_fit(), {4, 0, 0.9}, silent), ArgumentError);
  EXPECT_THROW(evaluate(table, rows, quick_table_fit(), {2, 0, 1.0}, silent), ArgumentError);
}

TEST(Inspect, SharesAndInfluencesAddUp) {
  const table::Table table = wages();
  TableFitOptions options = quick_table_fit();
  options.fit.recipe.trend = true;
  const TableFit fitted = fit_table(table, target_rows(table, "y", std::nullopt), options);
  const InspectionFacts facts = inspect(fitted.model);
  EXPECT_EQ(facts.columns, (std::vector<std::string>{"a", "b", "group"}));
  EXPECT_EQ(facts.used_inputs.size(), 5u);
  ASSERT_EQ(facts.heads.size(), 3u);
  double share = facts.trend_share;
  for (const HeadFacts& head : facts.heads) {
    share += head.share;
    EXPECT_NEAR(head.influence[0] + head.influence[1] + head.influence[2], 1.0, 1e-12);
    EXPECT_NEAR(head.influence[0], head.projection.col(0).squaredNorm() / head.projection.squaredNorm(),
                1e-12);
    EXPECT_EQ(head.rank, 2);
  }
  EXPECT_NEAR(share, 1.0, 1e-12);
  EXPECT_GT(facts.influence[0], facts.influence[1]);
  ASSERT_TRUE(facts.diversity.hdi && facts.diversity.baseline && facts.diversity.bound);
  EXPECT_NEAR(*facts.diversity.baseline, 1.0 - 2.0 / 5.0, 1e-12);  // k / q of random subspaces
  EXPECT_NEAR(*facts.diversity.bound, 1.0 - (3.0 * 2.0 / 5.0 - 1.0) / 2.0, 1e-12);
  EXPECT_LE(*facts.diversity.hdi, *facts.diversity.bound + 1e-12);
}

TEST(Inspect, AModelWithoutHeads) {
  const table::Table table = table::parse_csv("a,y\n1,3\n2,3\n3,3\n4,3\n", "t.csv");
  TableFitOptions options = quick_table_fit();
  options.encoding.drop.clear();
  const InspectionFacts facts =
      inspect(fit_table(table, target_rows(table, "y", std::nullopt), options).model);
  EXPECT_TRUE(facts.heads.empty());
  EXPECT_FALSE(facts.diversity.hdi.has_value());
  EXPECT_EQ(facts.trend_share, 0.0);
}

}  // namespace
}  // namespace headspan::estimator
