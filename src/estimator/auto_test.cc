#include "headspan/estimator/auto.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "estimator/table_fixture.h"
#include "headspan/estimator/intervals.h"
#include "headspan/estimator/predict.h"
#include "headspan/numeric/error.h"
#include "headspan/numeric/parallel.h"

namespace headspan::estimator {
namespace {

AutoOptions cheap(double effort = 100.0) {
  AutoOptions options;
  options.n_folds = 3;
  options.effort = effort;
  return options;
}

double weight_where(const AutoResult& result, bool (*holds)(const Candidate&)) {
  double sum = 0.0;
  for (const Candidate& candidate : result.candidates)
    if (holds(candidate)) sum += candidate.weight;
  return sum;
}

TEST(FitAuto, ALineIsLeftToTheTrend) {
  RandomStream random(1, 0);
  const Matrix x = random.normal_matrix(150, 4);
  const Vector noise = random.normal_matrix(150, 1).col(0);
  const Vector y = x * Vector{{1.0, -2.0, 0.5, 0.0}} + noise;
  const AutoResult result = fit_auto(x, y, Vector(), cheap());
  EXPECT_GT(weight_where(result, [](const Candidate& c) { return c.recipe.trend; }), 0.7);
  // Five coefficients of 100 rows add 5 in 100 to the variance of the noise, a tenth allows for chance.
  const double spread = std::sqrt((y.array() - y.mean()).square().mean());
  EXPECT_LT(result.error * spread, 1.1 * std::sqrt(1.05 * noise.squaredNorm() / 150.0));
}

TEST(FitAuto, AWaveIsLeftToHeads) {
  RandomStream random(2, 0);
  const Matrix x = random.normal_matrix(150, 2);
  const Vector y = (2.5 * x.col(0)).array().sin() + 0.1 * random.normal_matrix(150, 1).col(0).array();
  const AutoResult result = fit_auto(x, y, Vector(), cheap());
  EXPECT_EQ(result.candidates.front().recipe.n_heads, 0);
  EXPECT_GT(result.candidates.front().error, 0.9);
  EXPECT_LT(result.error, 0.35);
}

TEST(FitAuto, FactsAgreeWithTheModel) {
  const Table table = smooth_table(90, 3, 3);
  const AutoResult result = fit_auto(table.x, table.y, Vector(), cheap());
  double weight = 0.0, spent = 0.0;
  for (const Candidate& candidate : result.candidates) {
    weight += candidate.weight;
    if (candidate.tried) spent += candidate.cost;
    EXPECT_EQ(candidate.tried, candidate.error > 0.0);
    EXPECT_TRUE(candidate.tried || candidate.weight == 0.0);
  }
  EXPECT_NEAR(weight, 1.0, 1e-12);
  EXPECT_EQ(spent, result.effort_spent);
  EXPECT_LE(spent, 100.0);
  EXPECT_FALSE(result.partial);
  weight = 0.0;
  for (const MultiHead& estimate : result.fit.model.ensemble.estimates) weight += estimate.weight;
  EXPECT_NEAR(weight, 1.0, 1e-12);
}

TEST(FitAuto, ThePlannerChoosesTheAveragedHeads) {
  RandomStream random(21, 0);
  const Matrix x = random.normal_matrix(40, 3);
  const Vector y = x.col(0).cwiseProduct(x.col(1)) + x.col(2);
  AutoOptions options = cheap(60.0);  // a pilot on 40 rows costs 1.6
  options.n_folds = 2;
  const AutoResult result = fit_auto(x, y, Vector(), options);
  ASSERT_TRUE(result.plan);
  EXPECT_GT(result.plan->cost, 0.0);
  EXPECT_LE(result.effort_spent, 60.0);
  std::vector<plan::Pair> chosen;
  double spent = result.plan->cost;
  for (const Candidate& candidate : result.candidates) {
    if (candidate.tried) spent += candidate.cost;
    if (candidate.planned) chosen.push_back({candidate.recipe.head_dim, candidate.recipe.n_heads});
  }
  EXPECT_NEAR(spent, result.effort_spent, 1e-9);
  for (const plan::Pair& pair : result.plan->pairs) {
    EXPECT_LE(pair.n_heads * pair.head_dim, HeadPlan::kBudget);
    EXPECT_NE(std::find(chosen.begin(), chosen.end(), pair), chosen.end());
  }
  EXPECT_FALSE(fit_auto(x, y, Vector(), cheap(5.0)).plan);
}

TEST(FitAuto, FoldMembersGiveTheFoldResiduals) {
  const Table table = smooth_table(60, 2, 4);
  const Model model = fit_auto(table.x, table.y, Vector(), cheap()).fit.model;
  ASSERT_EQ(model.folds.size(), 3u);
  Model fold = model;
  fold.ensemble = model.folds[1];
  const Vector predicted = predict(fold, model.keys * model.input_scale.asDiagonal() +
                                             Vector::Ones(60) * model.input_center.transpose())
                               .value;
  for (Index i = 0; i < 60; ++i) {
    if (model.fold_of_row[static_cast<std::size_t>(i)] != 1) continue;
    const double want = model.target[i] - (predicted[i] - model.target_center) / model.target_scale;
    EXPECT_NEAR(model.fold_residual[i], want, 1e-9);
  }
}

TEST(FitAuto, SameBitsForAnyThreadsAndOrderOfRows) {
  const Table table = smooth_table(300, 2, 5);
  const AutoResult many = fit_auto(table.x, table.y, Vector(), cheap(200.0));
  const ThreadLimit limit(1);
  const AutoResult one = fit_auto(table.x.colwise().reverse(), table.y.reverse(), Vector(), cheap(200.0));
  EXPECT_EQ(predict(many.fit.model, table.x).value, predict(one.fit.model, table.x).value);
  EXPECT_EQ(many.error, one.error);
}

TEST(FitAuto, TheClockOnlyStopsAndSaysSo) {
  const Table table = smooth_table(60, 2, 6);
  AutoOptions options = cheap();
  options.seconds = 0.0;
  const AutoResult result = fit_auto(table.x, table.y, Vector(), options);
  EXPECT_TRUE(result.partial);
  EXPECT_TRUE(result.candidates[0].tried);
  EXPECT_FALSE(result.candidates[1].tried);
  EXPECT_EQ(result.candidates[0].weight, 1.0);
}

TEST(FitAuto, LargerTablesAreChosenForByASample) {
  const Table table = smooth_table(400, 2, 7);
  AutoOptions options = cheap();
  options.select_rows = 100;
  options.learn_rows = 80;
  const Model model = fit_auto(table.x, table.y, Vector(), options).fit.model;
  EXPECT_TRUE(model.folds.empty());
  EXPECT_EQ(model.ensemble.estimates.front().values.rows(), 400);
  const Table fresh = smooth_table(300, 2, 8);
  EXPECT_LT((predict(model, fresh.x).value - fresh.y).squaredNorm() / 300.0, 0.25);
  const Intervals have = predict_intervals(model, fresh.x, 0.9);
  const auto inside = fresh.y.array() >= have.lower.array() && fresh.y.array() <= have.upper.array();
  EXPECT_NEAR(static_cast<double>(inside.count()) / 300.0, 0.9, 0.06);
}

TEST(FitAuto, TinyAndConstantTablesGiveTheMean) {
  const Table table = smooth_table(3, 2, 9);
  EXPECT_NEAR(predict(fit_auto(table.x, table.y, Vector(), cheap()).fit.model, table.x).value[1],
              table.y.mean(), 1e-12);
  const Vector same = Vector::Constant(30, 2.0);
  const Table more = smooth_table(30, 2, 10);
  EXPECT_EQ(predict(fit_auto(more.x, same, Vector(), cheap()).fit.model, more.x).value, same);
}

TEST(FitAuto, RefusesBadOptions) {
  const Table table = smooth_table(10, 2, 11);
  AutoOptions options = cheap();
  options.n_folds = 1;
  EXPECT_THROW(fit_auto(table.x, table.y, Vector(), options), ArgumentError);
  options = cheap(-1.0);
  EXPECT_THROW(fit_auto(table.x, table.y, Vector(), options), ArgumentError);
}

}  // namespace
}  // namespace headspan::estimator
