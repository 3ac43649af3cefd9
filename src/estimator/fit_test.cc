#include "headspan/estimator/fit.h"

#include <gtest/gtest.h>

#include <cmath>

#include "estimator/table_fixture.h"
#include "headspan/estimator/intervals.h"
#include "headspan/estimator/predict.h"
#include "headspan/numeric/error.h"
#include "headspan/numeric/parallel.h"

namespace headspan::estimator {
namespace {

FitOptions quick(HeadKind heads = HeadKind::learned, Combiner combiner = Combiner::sum, bool trend = false) {
  FitOptions options;
  options.recipe.heads = heads;
  options.recipe.combiner = combiner;
  options.recipe.trend = trend;
  options.recipe.n_heads = 3;
  options.recipe.head_dim = 2;
  options.recipe.iterations = 8;
  options.n_folds = 3;
  return options;
}

std::vector<FitOptions> every_recipe() {
  std::vector<FitOptions> all;
  for (const HeadKind heads : {HeadKind::random, HeadKind::principal, HeadKind::learned, HeadKind::diagonal})
    for (const Combiner combiner :
         {Combiner::mean, Combiner::sum, Combiner::simplex, Combiner::least_squares})
      for (const bool trend : {false, true}) all.push_back(quick(heads, combiner, trend));
  return all;
}

/// A mean of heads from its definition, in standard units, on the rows of the model.
double mean_by_definition(const Model& model, const Vector& at, Index without) {
  const MultiHead& estimate = model.ensemble.estimates.front();
  double sum = 0.0;
  for (const FittedHead& head : estimate.heads) {
    double weights = 0.0, values = 0.0;
    for (Index i = 0; i < model.keys.rows(); ++i) {
      const double copies = model.frequency[i] - (i == without ? 1.0 : 0.0);
      const Vector apart = head.projection * (model.keys.row(i).transpose() - at);
      const double w = copies * std::exp(-0.5 * apart.squaredNorm());
      weights += w;
      values += w * model.target[i];
    }
    sum += head.weight * values / weights;
  }
  return sum;
}

TEST(Fit, PredictsAndLeavesOutAsTheDefinitionSays) {
  const Table table = smooth_table(40, 3, 1);
  Vector weight = Vector::Ones(40);
  weight.head(10).setConstant(2.0);
  for (const Combiner combiner : {Combiner::mean, Combiner::simplex, Combiner::least_squares}) {
    const Model model = fit(table.x, table.y, weight, quick(HeadKind::learned, combiner)).model;
    const Vector have =
        (predict(model, table.x.topRows(5)).value.array() - model.target_center) / model.target_scale;
    for (Index q = 0; q < 5; ++q) {
      const Vector at = (table.x.row(q).transpose() - model.input_center).cwiseQuotient(model.input_scale);
      EXPECT_NEAR(have[q], mean_by_definition(model, at, -1), 1e-10);
    }
    for (Index i = 0; i < 40; ++i)
      EXPECT_NEAR(model.target[i] - model.loo_residual[i],
                  mean_by_definition(model, model.keys.row(i).transpose(), i), 1e-9);
  }
}

TEST(Fit, EveryRecipePredictsBetterThanTheMeanOnAStructuredTable) {
  const Table table = smooth_table(120, 2, 2), fresh = smooth_table(60, 2, 3, 0.0);
  const double variance = (fresh.y.array() - fresh.y.mean()).square().mean();
  for (const FitOptions& options : every_recipe()) {
    const Model model = fit(table.x, table.y, Vector(), options).model;
    const double error = (predict(model, fresh.x).value - fresh.y).squaredNorm() / 60.0;
    EXPECT_LT(error, 0.6 * variance) << to_string(options.recipe.heads) << ' '
                                     << to_string(options.recipe.combiner) << ' ' << options.recipe.trend;
  }
}

TEST(Fit, PartsAddUpToThePrediction) {
  const Table table = smooth_table(60, 3, 4);
  for (const FitOptions& options : every_recipe()) {
    const Model model = fit(table.x, table.y, Vector(), options).model;
    const Vector sum = predict_parts(model, table.x).rowwise().sum().array() + model.target_center;
    EXPECT_LT((sum - predict(model, table.x).value).cwiseAbs().maxCoeff(), 1e-10);
  }
}

TEST(Fit, AWeightOfTwoIsTwoRowsToTheBit) {
  const Table table = smooth_table(30, 2, 5);
  Matrix x(40, 2);
  x << table.x, table.x.topRows(10);
  Vector y(40), weight = Vector::Ones(30);
  y << table.y, table.y.head(10);
  weight.head(10).setConstant(2.0);
  for (const FitOptions& options : every_recipe()) {
    const FitResult weighted = fit(table.x, table.y, weight, options);
    const FitResult written_out = fit(x, y, Vector(), options);
    EXPECT_EQ(predict(weighted.model, table.x).value, predict(written_out.model, table.x).value);
    EXPECT_EQ(weighted.model.loo_residual, written_out.model.loo_residual);
    EXPECT_EQ(weighted.model.fold_residual, written_out.model.fold_residual);
    EXPECT_EQ(weighted.place[3], written_out.place[33]);
  }
}

TEST(Fit, NeitherOrderOfRowsNorThreadsNorRowsOfWeightZeroMatter) {
  const Table table = smooth_table(300, 3, 6);
  const Model forward = fit(table.x, table.y, Vector(), quick()).model;
  Matrix x(301, 3);
  x << table.x.colwise().reverse(), Matrix::Constant(1, 3, 50.0);
  Vector y(301), weight = Vector::Ones(301);
  y << table.y.reverse(), 1e6;
  weight[300] = 0.0;
  const ThreadLimit limit(1);
  const FitResult backward = fit(x, y, weight, quick());
  EXPECT_EQ(predict(forward, table.x).value, predict(backward.model, table.x).value);
  EXPECT_EQ(backward.place[300], -1);
}

TEST(Fit, UnitsDoNotMatter) {
  const Table table = smooth_table(80, 2, 7);
  const Model plain = fit(table.x, table.y, Vector(), quick()).model;
  Matrix scaled = 1024.0 * table.x;
  scaled.col(1).array() += 4096.0;
  const Model other = fit(scaled, 8.0 * table.y, Vector(), quick()).model;
  EXPECT_LT((8.0 * predict(plain, table.x).value - predict(other, scaled).value).cwiseAbs().maxCoeff(), 1e-4);
}

TEST(Fit, AConstantTargetOrOneRowPredictsTheMean) {
  const Table table = smooth_table(20, 2, 8);
  const Model constant = fit(table.x, Vector::Constant(20, 3.25), Vector(), quick()).model;
  EXPECT_EQ(predict(constant, table.x).value, Vector::Constant(20, 3.25));
  const Model one = fit(table.x.topRows(1), table.y.head(1), Vector(), quick()).model;
  EXPECT_EQ(predict(one, table.x).value, Vector::Constant(20, table.y[0]));
  EXPECT_EQ(predict(one, table.x).n_eff, Vector::Zero(20));
}

TEST(Fit, TwoAndThreeRowsAreEnough) {
  const Table table = smooth_table(3, 2, 9);
  for (const Index n : {2, 3})
    for (const FitOptions& options : every_recipe()) {
      const Model model = fit(table.x.topRows(n), table.y.head(n), Vector(), options).model;
      EXPECT_TRUE(predict(model, table.x).value.allFinite());
    }
}

TEST(Fit, ConstantColumnsChangeNothingAndDuplicatesLittle) {
  const Table table = smooth_table(100, 2, 10);
  const Model plain = fit(table.x, table.y, Vector(), quick()).model;
  Matrix with_constant(100, 3);
  with_constant << table.x.col(0), Vector::Constant(100, 7.0), table.x.col(1);
  const Model constant = fit(with_constant, table.y, Vector(), quick()).model;
  EXPECT_EQ(predict(plain, table.x).value, predict(constant, with_constant).value);
  EXPECT_EQ(constant.input_scale[1], 0.0);
  Matrix twice(100, 3);
  twice << table.x, table.x.col(0);
  const Model duplicate = fit(twice, table.y, Vector(), quick(HeadKind::learned, Combiner::sum, true)).model;
  const double error = (predict(duplicate, twice).value - table.y).squaredNorm() / 100.0;
  EXPECT_LT(error, 0.3);
}

TEST(Fit, LearnsOnASampleAndSmoothsAllRows) {
  const Table table = smooth_table(600, 2, 11);
  FitOptions options = quick();
  options.learn_rows = 150;
  options.n_folds = 0;
  const Model model = fit(table.x, table.y, Vector(), options).model;
  EXPECT_EQ(model.ensemble.estimates.front().values.rows(), 600);
  const Table fresh = smooth_table(100, 2, 12, 0.0);
  EXPECT_LT((predict(model, fresh.x).value - fresh.y).squaredNorm() / 100.0, 0.1);
}

TEST(Predict, FlagsWhatIsFarAndCountsWhatIsNear) {
  const Table table = smooth_table(200, 2, 13);
  const Model model = fit(table.x, table.y, Vector(), quick()).model;
  Matrix at(2, 2);
  at << 0.0, 0.0, 40.0, -40.0;
  const Predictions have = predict(model, at);
  EXPECT_FALSE(have.extrapolated[0]);
  EXPECT_TRUE(have.extrapolated[1]);
  EXPECT_GT(have.n_eff[0], 2.0);
  EXPECT_TRUE(have.value.allFinite());
}

TEST(Intervals, CoverNewTargetsAboutAsOftenAsAsked) {
  const Table table = smooth_table(250, 2, 14, 0.5), fresh = smooth_table(400, 2, 15, 0.5);
  const Model model = fit(table.x, table.y, Vector(), quick()).model;
  const Intervals have = predict_intervals(model, fresh.x, 0.9);
  const auto inside = (fresh.y.array() >= have.lower.array()) && (fresh.y.array() <= have.upper.array());
  const double share = static_cast<double>(inside.count()) / 400.0;
  EXPECT_GT(share, 0.85);   // three standard errors below 0.9
  EXPECT_LT(share, 0.975);  // members of folds see fewer rows, so their residuals are larger
}

TEST(Intervals, AreTheRankedResidualsOfTheFolds) {
  const Table table = smooth_table(19, 1, 16);
  Model model = fit(table.x, table.y, Vector(), quick()).model;
  // Members that all predict the mean leave the ranks of |residual| alone.
  for (Member& fold : model.folds) fold.estimates.clear();
  model.fold_residual = Vector::LinSpaced(19, -9.0, 9.0);
  const Intervals have = predict_intervals(model, table.x.topRows(1), 0.5);
  // ceil(0.5 * 20) = 10th smallest of 0, 1, 1, 2, 2, ...
  EXPECT_NEAR(have.upper[0], model.target_center + 5.0 * model.target_scale, 1e-12);
  EXPECT_NEAR(have.lower[0], model.target_center - 5.0 * model.target_scale, 1e-12);
  EXPECT_TRUE(std::isinf(predict_intervals(model, table.x, 0.99).upper[0]));
}

TEST(Fit, RefusesBadInput) {
  const Table table = smooth_table(10, 2, 17);
  const FitOptions options = quick();
  EXPECT_THROW(fit(table.x, table.y.head(9), Vector(), options), ArgumentError);
  EXPECT_THROW(fit(Matrix(10, 0), table.y, Vector(), options), ArgumentError);
  EXPECT_THROW(fit(table.x, table.y, Vector::Constant(10, -1.0), options), ArgumentError);
  EXPECT_THROW(fit(table.x, table.y, Vector::Zero(10), options), ArgumentError);
  EXPECT_THROW(fit(table.x, Vector::Constant(10, NAN), Vector(), options), ArgumentError);
  FitOptions bad = options;
  bad.recipe.shrinkage = 0.0;
  EXPECT_THROW(fit(table.x, table.y, Vector(), bad), ArgumentError);
  const Model model = fit(table.x, table.y, Vector(), options).model;
  EXPECT_THROW(predict(model, Matrix::Zero(1, 3)), ArgumentError);
  EXPECT_THROW(predict_intervals(model, table.x, 1.0), ArgumentError);
}

}  // namespace
}  // namespace headspan::estimator
