#include "headspan/experiments/forest.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <numeric>

#include "experiments/tree.h"
#include "headspan/numeric/error.h"
#include "headspan/numeric/parallel.h"

namespace headspan::experiments {
namespace {

std::vector<Index> all_rows(Index n) {
  std::vector<Index> rows(static_cast<std::size_t>(n));
  std::iota(rows.begin(), rows.end(), Index{0});
  return rows;
}

TEST(RegressionTree, FindsAStepAndNothingElse) {
  Matrix x(2, 12);
  Vector y(12);
  for (Index i = 0; i < 12; ++i) {
    x(0, i) = static_cast<double>(i % 3);
    x(1, i) = static_cast<double>(i);
    y[i] = i < 7 ? -1.0 : 4.0;
  }
  RandomStream random(1, 0);
  const RegressionTree tree(SortedInputs(x), y, all_rows(12), {2, 1}, random);
  for (Index i = 0; i < 12; ++i) EXPECT_EQ(tree.predict(x.col(i)), y[i]);
  Vector at(2);
  at << 0.0, 6.4;
  EXPECT_EQ(tree.predict(at), -1.0);  // the threshold is 6.5
  at[1] = 6.6;
  EXPECT_EQ(tree.predict(at), 4.0);
}

/// Sum of squares of the best single split, by trying all of them.
double best_stump(const Matrix& x, const Vector& y, Index least) {
  double best = (y.array() - y.mean()).square().sum();
  for (Index f = 0; f < x.rows(); ++f)
    for (Index c = 0; c < x.cols(); ++c) {
      double sum[2] = {0, 0}, square[2] = {0, 0}, count[2] = {0, 0};
      for (Index i = 0; i < x.cols(); ++i) {
        const int side = x(f, i) <= x(f, c) ? 0 : 1;
        sum[side] += y[i];
        square[side] += y[i] * y[i];
        count[side] += 1;
      }
      if (count[0] < static_cast<double>(least) || count[1] < static_cast<double>(least)) continue;
      best = std::min(best, square[0] - sum[0] * sum[0] / count[0] + square[1] - sum[1] * sum[1] / count[1]);
    }
  return best;
}

TEST(RegressionTree, SplitsAreTheBestOfAll) {
  // 2 least - 1 rows a side at most: one split, then leaves.
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    RandomStream random(seed, 0);
    Matrix x = random.normal_matrix(3, 11);
    x.row(0) = (2.0 * x.row(0).array()).round().matrix();  // ties
    const Vector y = random.normal_matrix(11, 1).col(0);
    const RegressionTree tree(SortedInputs(x), y, all_rows(11), {3, 4}, random);
    double squares = 0.0;
    for (Index i = 0; i < 11; ++i) squares += std::pow(y[i] - tree.predict(x.col(i)), 2);
    EXPECT_NEAR(squares, best_stump(x, y, 4), 1e-12) << seed;
  }
}

TEST(RegressionTree, LeavesKeepTheirLeastSize) {
  RandomStream random(5, 0);
  const Matrix x = random.normal_matrix(4, 60);
  const Vector y = random.normal_matrix(60, 1).col(0);
  const RegressionTree tree(SortedInputs(x), y, all_rows(60), {2, 7}, random);
  std::map<double, int> sizes;
  for (Index i = 0; i < 60; ++i) ++sizes[tree.predict(x.col(i))];
  EXPECT_GT(sizes.size(), 2u);
  for (const auto& [mean, size] : sizes) EXPECT_GE(size, 7) << mean;
}

TEST(RegressionTree, ConstantInputsAreALeaf) {
  RandomStream random(5, 0);
  Vector y(6);
  y << 1, 2, 3, 4, 5, 6;
  const RegressionTree tree(SortedInputs(Matrix::Ones(2, 6)), y, all_rows(6), {2, 1}, random);
  EXPECT_EQ(tree.predict(Vector::Ones(2)), 3.5);
}

TEST(Forest, CorrelationFallsAsSplitsChooseFromFewerInputs) {
  ForestOptions options;
  options.mtry = {50, 10, 1};
  options.n_replicates = 30;
  options.n_points = 30;
  options.n_trees = 10;
  const ForestFacts facts = simulate_forest(options);
  EXPECT_EQ(facts.trend.direction, -1);
  for (const ForestRow& row : facts.rows) {
    EXPECT_NEAR(row.law.law.value, row.law.ensemble_variance.value, 1e-10);
    EXPECT_GT(row.law.rho.value, 0.0);
    EXPECT_LT(row.law.rho.value, 1.0);
    const double off = std::hypot(*row.law.rho.standard_error, *row.law.rho_predicted_error);
    EXPECT_NEAR(row.law.rho_predicted, row.law.rho.value, 4.0 * off);
    EXPECT_NE(row.law.rho_predicted, row.law.rho.value) << "fitted to other replicates";
  }
  // The target of five variables has variance 23.8.
  EXPECT_LT(facts.rows[1].mse.value, 23.8);
  // One input at a time finds the five that matter too seldom.
  EXPECT_LT(facts.rows[1].mse.value, 0.8 * facts.rows[2].mse.value);
  EXPECT_EQ(facts.rows[0].law.dial, 0.0);
  EXPECT_EQ(facts.rows[2].law.dial, 0.98);
}

TEST(Forest, WithoutBootstrapAndWithAllInputsTreesDifferByTiesAlone) {
  ForestOptions options;
  options.mtry = {50};
  options.bootstrap = false;
  options.n_replicates = 5;
  options.n_trees = 3;
  // Two inputs may part the same rows; the first tried is taken.
  EXPECT_GT(simulate_forest(options).rows[0].law.rho.value, 0.98);
}

TEST(Forest, KeepsTheSeedOnAnyNumberOfThreads) {
  ForestOptions options;
  options.mtry = {5};
  options.n_replicates = 8;
  options.n_trees = 3;
  options.n = 60;
  const ThreadLimit one(1);
  const double alone = simulate_forest(options).rows[0].law.v.value;
  const ThreadLimit many(4);
  EXPECT_EQ(simulate_forest(options).rows[0].law.v.value, alone);
}

TEST(Forest, RefusesWhatHasNoMeaning) {
  ForestOptions options;
  options.mtry = {51};
  EXPECT_THROW(simulate_forest(options), ArgumentError);
  options.mtry = {1};
  options.n_inputs = 4;
  EXPECT_THROW(simulate_forest(options), ArgumentError);
  options.n_inputs = 5;
  options.n_trees = 1;
  EXPECT_THROW(simulate_forest(options), ArgumentError);
}

}  // namespace
}  // namespace headspan::experiments
