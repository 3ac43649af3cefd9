#include "estimator/sharpen.h"

#include <gtest/gtest.h>

#include <cmath>

#include "estimator/table_fixture.h"
#include "headspan/estimator/fit.h"
#include "headspan/estimator/predict.h"
#include "headspan/numeric/parallel.h"

namespace headspan::estimator {
namespace {

struct Example {
  Table table = smooth_table(40, 3, 11);
  Matrix projection = 0.9 * Matrix::Identity(3, 3);
  Vector ones = Vector::Ones(40);
  SmoothedRows rows() const { return {table.x, ones}; }
};

/// What the head makes of values at its own rows.
Vector smoothed(const SmoothedRows& rows, const Matrix& projection, const Vector& values) {
  return smooth(rows, projection, rows.x, Matrix(values)).value.col(0);
}

TEST(Sharpen, ValuesGiveBackAShareOfTheBias) {
  const Example example;
  const Vector values = sharpen(example.rows(), {example.projection, 30.0}, example.table.y).values;
  const Vector fit = smoothed(example.rows(), example.projection, values);
  const Vector given_back = example.table.y + 30.0 * (example.table.y - fit);
  EXPECT_LT((values - given_back).norm(), 1e-9 * values.norm());
}

TEST(Sharpen, ManyTurnsOfGivingBackASmallShareAgree) {
  // v <- v + h (y + t (y - W v) - v) has the same fixed point, without any inverse.
  const Example example;
  Vector values = example.table.y;
  for (int turn = 0; turn < 4000; ++turn)
    values +=
        0.05 * (example.table.y +
                8.0 * (example.table.y - smoothed(example.rows(), example.projection, values)) - values);
  const Vector direct = sharpen(example.rows(), {example.projection, 8.0}, example.table.y).values;
  EXPECT_LT((values - direct).norm(), 1e-9 * direct.norm());
}

TEST(Sharpen, ResidualsAreThoseOfTheLeverage) {
  const Example example;
  const SharpHead head{example.projection, 5.0};
  const Sharpened at = sharpen(example.rows(), head, example.table.y);
  for (const Index i : {0, 7, 39}) {
    Vector moved = example.table.y;
    moved[i] += 1.0;  // the fit is linear in the targets, so this is the leverage
    const auto fit = [&](const Vector& y) {
      return smoothed(example.rows(), head.projection, sharpen(example.rows(), head, y).values)[i];
    };
    const double before = fit(example.table.y), leverage = fit(moved) - before;
    EXPECT_NEAR(at.loo_residual[i], (example.table.y[i] - before) / (1.0 - leverage), 1e-9);
  }
}

TEST(Sharpen, WithoutSharpnessResidualsAreThoseOfTheSmootherLeftOut) {
  const Example example;
  const Vector left_out =
      example.table.y -
      smooth_left_out(example.rows(), example.projection, Matrix(example.table.y)).value.col(0);
  const Sharpened at = sharpen(example.rows(), {example.projection, 1e-9}, example.table.y);
  EXPECT_LT((at.values - example.table.y).norm(), 1e-7);
  EXPECT_LT(
      (sharpen(example.rows(), {example.projection, 1e-5}, example.table.y).loo_residual - left_out).norm(),
      1e-3);
}

TEST(Sharpen, AConstantStays) {
  const Example example;
  const Vector values =
      sharpen(example.rows(), {example.projection, 100.0}, Vector::Constant(40, 2.5)).values;
  EXPECT_LT((values.array() - 2.5).abs().maxCoeff(), 1e-10);
}

TEST(Sharpen, ARowOfFrequencyTwoIsTwoRows) {
  Example example;
  Matrix twice(41, 3);
  twice << example.table.x, example.table.x.row(4);
  Vector y(41);
  y << example.table.y, example.table.y[4];
  example.ones[4] = 2.0;
  const SharpHead head{example.projection, 12.0};
  const Sharpened counted = sharpen(example.rows(), head, example.table.y);
  const Vector written_frequency = Vector::Ones(41);
  const Sharpened written = sharpen({twice, written_frequency}, head, y);
  EXPECT_LT((counted.values - written.values.head(40)).norm(), 1e-9);
  EXPECT_LT((counted.loo_residual - written.loo_residual.head(40)).norm(), 1e-9);
}

TEST(Sharpen, ARowFarFromAllIsAsFarAsItIsFromTheMean) {
  Example example;
  example.table.x.row(0).setConstant(1e3);
  const Sharpened at = sharpen(example.rows(), {example.projection, 10.0}, example.table.y);
  EXPECT_EQ(at.loo_residual[0], example.table.y[0] - example.table.y.mean());
  EXPECT_TRUE(at.loo_residual.allFinite());
}

void expect_gradient(const SmoothedRows& rows, const Vector& y) {
  RandomStream random(5, 0);
  const SharpHead head{0.6 * random.normal_matrix(2, 3), 20.0};
  const SharpError at = sharp_error(rows, head, y, true);
  const double step = 1e-5;
  for (Index r = 0; r < 2; ++r)
    for (Index c = 0; c < 3; ++c) {
      SharpHead up = head, down = head;
      up.projection(r, c) += step;
      down.projection(r, c) -= step;
      const double slope =
          (sharp_error(rows, up, y, false).value - sharp_error(rows, down, y, false).value) / (2.0 * step);
      EXPECT_NEAR(at.by_projection(r, c), slope, 1e-6 * std::max(1.0, std::abs(slope)));
    }
  const SharpHead up{head.projection, 20.0 * std::exp(step)}, down{head.projection, 20.0 * std::exp(-step)};
  const double slope =
      (sharp_error(rows, up, y, false).value - sharp_error(rows, down, y, false).value) / (2.0 * step);
  EXPECT_NEAR(at.by_log_sharpness, slope, 1e-6 * std::max(1.0, std::abs(slope)));
}

TEST(SharpError, GradientIsThatOfDifferences) {
  Example example;
  expect_gradient(example.rows(), example.table.y);
  for (Index i = 0; i < 40; i += 3) example.ones[i] = 1.0 + 0.5 * static_cast<double>(i % 4);
  expect_gradient(example.rows(), example.table.y);
}

TEST(LearnSharpHead, AnInputThatSaysNothingIsSmoothedAway) {
  RandomStream random(6, 0);
  const Matrix x = random.normal_matrix(120, 3);
  const Vector y = (2.0 * x.col(0)).array().sin() + x.col(1).array().square() +
                   0.1 * random.normal_matrix(120, 1).col(0).array();
  const Vector ones = Vector::Ones(120);
  const SharpHead head =
      learn_sharp_head({x, ones}, y, 0.5 * Matrix::Identity(3, 3), Freedom::diagonal, 40).head;
  EXPECT_LT(std::abs(head.projection(2, 2)), 0.2 * std::abs(head.projection(0, 0)));
  const Vector residual = sharpen({x, ones}, head, y).loo_residual;
  EXPECT_LT(std::sqrt(residual.squaredNorm() / 120.0), 0.2);
}

TEST(Sharpen, ResidualsAreAboutThoseOfFitsWithoutTheRow) {
  // By the leverage the sums of the weights keep the row; the fits without it do not.
  const Example example;
  const SharpHead head{example.projection, 10.0};
  const Vector claimed = sharpen(example.rows(), head, example.table.y).loo_residual;
  Vector without(40);
  for (Index i = 0; i < 40; ++i) {
    std::vector<Index> others;
    for (Index j = 0; j < 40; ++j)
      if (j != i) others.push_back(j);
    const Matrix x = example.table.x(others, Eigen::all);
    const Vector y = example.table.y(others), ones = Vector::Ones(39);
    const Matrix values = sharpen({x, ones}, head, y).values;
    without[i] =
        example.table.y[i] - smooth({x, ones}, head.projection, example.table.x.row(i), values).value(0, 0);
  }
  EXPECT_NEAR(claimed.squaredNorm(), without.squaredNorm(), 0.1 * without.squaredNorm());
}

TEST(FitSharpened, FarFromAllRowsItSaysLittleMoreThanTheTargets) {
  const Table table = smooth_table(80, 2, 12);
  FitOptions options;
  options.recipe = {.heads = HeadKind::diagonal, .combiner = Combiner::mean, .n_heads = 1, .sharpen = true};
  const Model model = fit(table.x, table.y, Vector(), options).model;
  const double range = table.y.maxCoeff() - table.y.minCoeff();
  ASSERT_GT(model.ensemble.estimates.front().values.maxCoeff(), model.target.maxCoeff() + 1.0);
  const Vector far = predict(model, 30.0 * RandomStream(14, 0).normal_matrix(50, 2)).value;
  EXPECT_LE(far.maxCoeff(), table.y.maxCoeff() + 0.1001 * range);
  EXPECT_GE(far.minCoeff(), table.y.minCoeff() - 0.1001 * range);
}

TEST(FitSharpened, BitsDoNotDependOnThreads) {
  const Table table = smooth_table(200, 3, 13);
  FitOptions options;
  options.recipe = {.heads = HeadKind::diagonal, .combiner = Combiner::mean, .n_heads = 1, .sharpen = true};
  const auto predicted = [&](int threads) {
    const ThreadLimit limit(threads);
    return predict(fit(table.x, table.y, Vector(), options).model, table.x).value;
  };
  EXPECT_EQ(predicted(1), predicted(2));
}

}  // namespace
}  // namespace headspan::estimator
