#include "headspan/estimator/classes.h"

#include <gtest/gtest.h>

#include <cmath>

#include "estimator/table_fixture.h"
#include "headspan/estimator/predict.h"
#include "headspan/numeric/error.h"

namespace headspan::estimator {
namespace {

FitOptions quick_classes() {
  FitOptions options;
  options.recipe.n_heads = 2;
  options.recipe.head_dim = 2;
  options.recipe.iterations = 6;
  options.n_folds = 0;
  return options;
}

/// Thirds of the plane by angle.
std::vector<Index> sectors(const Matrix& x) {
  std::vector<Index> label;
  for (Index i = 0; i < x.rows(); ++i)
    label.push_back(
        std::min<Index>(2, static_cast<Index>((std::atan2(x(i, 1), x(i, 0)) / M_PI + 1.0) * 1.5)));
  return label;
}

double share_right(const Matrix& probability, const std::vector<Index>& label) {
  double right = 0.0;
  for (Index i = 0; i < probability.rows(); ++i) {
    Index best = 0;
    probability.row(i).maxCoeff(&best);
    right += best == label[static_cast<std::size_t>(i)] ? 1.0 : 0.0;
  }
  return right / static_cast<double>(probability.rows());
}

TEST(Classes, AreFoundAgainWithProbabilitiesThatAddUp) {
  const Matrix x = smooth_table(200, 2, 1).x, fresh = smooth_table(200, 2, 2).x;
  const ClassModel model = fit_classes(x, sectors(x), 3, Vector(), quick_classes());
  const Matrix probability = predict_probabilities(model, fresh);
  EXPECT_GT(share_right(probability, sectors(fresh)), 0.9);
  EXPECT_GT(probability.minCoeff(), 0.0);
  for (Index i = 0; i < 200; ++i) EXPECT_NEAR(probability.row(i).sum(), 1.0, 1e-12);
}

TEST(Classes, AreNearerToTheTruthThanTheRegressionsThatTheyComeFrom) {
  const Matrix x = smooth_table(150, 2, 3).x, fresh = smooth_table(150, 2, 4).x;
  ClassModel model = fit_classes(x, sectors(x), 3, Vector(), quick_classes());
  model.n_rows = 1e300;  // without the row of doubt
  const Matrix probability = predict_probabilities(model, fresh);
  const std::vector<Index> truth = sectors(fresh);
  std::vector<Vector> raw;
  for (const Model& one : model.indicators) raw.push_back(predict(one, fresh).value);
  for (Index i = 0; i < 150; ++i) {
    double before = 0.0, after = 0.0;
    for (Index k = 0; k < 3; ++k) {
      const double wanted = truth[static_cast<std::size_t>(i)] == k ? 1.0 : 0.0;
      before += std::pow(raw[static_cast<std::size_t>(k)][i] - wanted, 2);
      after += std::pow(probability(i, k) - wanted, 2);
    }
    EXPECT_LE(after, before + 1e-12);
  }
}

TEST(Classes, TwoAreOneRegression) {
  const Table table = smooth_table(80, 2, 5);
  std::vector<Index> label;
  for (Index i = 0; i < 80; ++i) label.push_back(table.y[i] > 0.5 ? 1 : 0);
  const ClassModel model = fit_classes(table.x, label, 2, Vector(), quick_classes());
  ASSERT_EQ(model.indicators.size(), 1u);
  const Vector raw = predict(model.indicators.front(), table.x).value;
  const Matrix probability = predict_probabilities(model, table.x);
  for (Index i = 0; i < 80; ++i) {
    const double cut = std::min(std::max(raw[i], 0.0), 1.0);
    EXPECT_NEAR(probability(i, 1), (80.0 * cut + model.share[1]) / 81.0, 1e-12);
  }
}

TEST(Classes, OneClassAndClassesWithoutRows) {
  const Matrix x = smooth_table(20, 2, 6).x;
  const std::vector<Index> all_same(20, 0);
  EXPECT_EQ(predict_probabilities(fit_classes(x, all_same, 1, Vector(), quick_classes()), x),
            Matrix::Ones(20, 1));
  std::vector<Index> label(20, 0);
  label[7] = 1;
  Vector weight = Vector::Ones(20);
  weight[7] = 0.0;
  const Matrix probability = predict_probabilities(fit_classes(x, label, 2, weight, quick_classes()), x);
  EXPECT_EQ(probability.col(1), Vector::Zero(20));
}

TEST(Classes, AWeightOfTwoIsTwoRowsToTheBit) {
  const Matrix x = smooth_table(30, 2, 7).x;
  const std::vector<Index> label = sectors(x);
  Matrix twice(40, 2);
  twice << x.topRows(10), x;
  std::vector<Index> label_twice(label.begin(), label.begin() + 10);
  label_twice.insert(label_twice.end(), label.begin(), label.end());
  Vector weight = Vector::Ones(30);
  weight.head(10).setConstant(2.0);
  EXPECT_EQ(predict_probabilities(fit_classes(x, label, 3, weight, quick_classes()), x),
            predict_probabilities(fit_classes(twice, label_twice, 3, Vector(), quick_classes()), x));
}

TEST(Classes, ByARecipeThatEachClassChooses) {
  const Matrix x = smooth_table(100, 2, 9).x, fresh = smooth_table(100, 2, 10).x;
  AutoOptions options;
  options.effort = 10.0;
  const ClassModel model = fit_classes(x, sectors(x), 3, Vector(), options);
  EXPECT_GT(share_right(predict_probabilities(model, fresh), sectors(fresh)), 0.8);
  EXPECT_TRUE(model.indicators.front().folds.empty());
}

TEST(Classes, RefusesBadLabels) {
  const Matrix x = smooth_table(3, 2, 8).x;
  EXPECT_THROW(fit_classes(x, {0, 1}, 2, Vector(), quick_classes()), ArgumentError);
  EXPECT_THROW(fit_classes(x, {0, 1, 2}, 2, Vector(), quick_classes()), ArgumentError);
  EXPECT_THROW(fit_classes(x, {0, -1, 1}, 2, Vector(), quick_classes()), ArgumentError);
  EXPECT_THROW(fit_classes(x, {0, 0, 0}, 0, Vector(), quick_classes()), ArgumentError);
  EXPECT_THROW(fit_classes(x, {0, 0, 0}, 1, Vector::Zero(3), quick_classes()), ArgumentError);
}

}  // namespace
}  // namespace headspan::estimator
