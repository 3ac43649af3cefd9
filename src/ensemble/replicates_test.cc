#include "headspan/ensemble/replicates.h"

#include <gtest/gtest.h>

#include <cmath>

#include "headspan/numeric/error.h"
#include "headspan/numeric/random.h"

namespace headspan::ensemble {
namespace {

/// Members with a common part, so that they are biased, dispersed and correlated.
Replicates correlated(int n_replicates, Index n_heads, Index m) {
  RandomStream random(21, 0);
  Replicates out;
  out.truth = random.normal_matrix(m, 1).col(0);
  const Matrix bias = random.normal_matrix(n_heads, m);
  for (int r = 0; r < n_replicates; ++r) {
    const Matrix common = random.normal_matrix(1, m);
    Matrix f = 0.5 * bias + random.normal_matrix(n_heads, m);
    f.rowwise() += out.truth.transpose() + common.row(0);
    out.predictions.push_back(f);
  }
  return out;
}

TEST(LinkedMoments, SatisfyTheFourIdentities) {
  for (const Index n_heads : {1, 2, 5}) {
    const LinkedMoments found = linked_moments(correlated(7, n_heads, 9));
    const double h = static_cast<double>(n_heads);
    EXPECT_NEAR(found.mean_squared_bias, found.squared_bias + found.disparity, 1e-13);
    EXPECT_NEAR(found.mean_variance, found.variance + found.diversity - found.disparity, 1e-13);
    EXPECT_NEAR(found.diversity, found.disparity + (1.0 - 1.0 / h) * (found.mean_variance - found.cbar),
                1e-13);
    EXPECT_NEAR(found.variance, found.mean_variance / h + (1.0 - 1.0 / h) * found.cbar, 1e-13);
  }
}

TEST(DecomposeReplicates, IsUnbiasedAndAddsUpToTheMeanSquaredError) {
  const Replicates all = correlated(400, 4, 25);
  const Decomposition found = decompose_replicates(all);
  double mse = 0.0;
  for (const Matrix& f : all.predictions)
    mse += (f.colwise().mean().transpose() - all.truth).squaredNorm() / (25.0 * 400.0);
  EXPECT_NEAR(found.mse->value, mse, 1e-12);
  EXPECT_NEAR(found.mse->value, found.squared_bias->value + found.variance.value + found.covariance.value,
              1e-13);
  // Each member has variance 1 + 1 and shares 1 of it with every other.
  EXPECT_NEAR(found.vbar, 2.0, 0.1);
  EXPECT_NEAR(found.variance.value, 2.0 / 4.0, 4.0 * *found.variance.standard_error);
  EXPECT_NEAR(found.covariance.value, 0.75, 4.0 * *found.covariance.standard_error);
  EXPECT_NEAR(*found.cbar, 1.0, 0.1);
  EXPECT_NEAR(*found.hdi, 0.5, 0.03);
  EXPECT_EQ(found.variance.origin, Origin::estimated);
}

TEST(DecomposeReplicates, StandardErrorsAreTheSpreadOverExperiments) {
  RandomStream random(22, 0);
  const int n_experiments = 300;
  double mean = 0.0, squares = 0.0, stated = 0.0;
  for (int k = 0; k < n_experiments; ++k) {
    Replicates all;
    all.truth = Vector::Zero(6);
    for (int r = 0; r < 20; ++r) all.predictions.push_back(random.normal_matrix(3, 6));
    const Part found = decompose_replicates(all).variance;
    mean += found.value / n_experiments;
    squares += found.value * found.value / n_experiments;
    stated += *found.standard_error / n_experiments;
  }
  EXPECT_NEAR(stated / std::sqrt(squares - mean * mean), 1.0, 0.15);
  EXPECT_NEAR(mean, 1.0 / 3.0, 0.01);
}

TEST(DecomposeReplicates, RefusesWhatDoesNotFit) {
  Replicates all = correlated(2, 2, 3);
  EXPECT_THROW(decompose_replicates(all), ArgumentError);
  all = correlated(4, 2, 3);
  EXPECT_THROW(decompose_replicates(all, Vector::Ones(2)), ArgumentError);
  all.predictions.back() = Matrix::Zero(2, 4);
  EXPECT_THROW(decompose_replicates(all), ArgumentError);
  all.predictions.back() = Matrix::Constant(2, 3, std::nan(""));
  EXPECT_THROW(linked_moments(all), ArgumentError);
  EXPECT_THROW(linked_moments(Replicates{}), ArgumentError);
}

TEST(Ambiguity, IsWhatTheEnsembleGainsOverItsMembers) {
  const Replicates one = correlated(1, 4, 30);
  for (const Vector& a : {Vector(), Vector(Eigen::Vector4d(0.7, 0.2, 0.2, -0.1))}) {
    const Ambiguity found = ambiguity(one.predictions[0], one.truth, a);
    EXPECT_NEAR(found.ensemble_error, found.member_error - found.ambiguity, 1e-13);
    EXPECT_GT(found.ambiguity, 0.1);
  }
  EXPECT_THROW(ambiguity(one.predictions[0], one.truth, Vector::Ones(4)), ArgumentError);
}

TEST(Ambiguity, ByHand) {
  Matrix f(2, 1);
  f << 1.0, 3.0;
  const Ambiguity found = ambiguity(f, Vector::Zero(1));
  EXPECT_EQ(found.ensemble_error, 4.0);
  EXPECT_EQ(found.member_error, 5.0);
  EXPECT_EQ(found.ambiguity, 1.0);
}

}  // namespace
}  // namespace headspan::ensemble
