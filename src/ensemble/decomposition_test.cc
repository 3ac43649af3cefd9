#include "headspan/ensemble/decomposition.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ensemble/smoother_fixture.h"
#include "headspan/ensemble/replicates.h"
#include "headspan/numeric/error.h"

namespace headspan::ensemble {
namespace {

constexpr double kSigma2 = 0.25;

HeadMoments known_moments(const SmootherFixture& heads) {
  HeadMoments moments;
  moments.covariance = heads.covariance();
  moments.noise.value = kSigma2;
  moments.bias = heads.by_head([&](const Matrix& w) { return (w * heads.truth - heads.truth).eval(); });
  return moments;
}

Vector noise(RandomStream& random, Index n) { return std::sqrt(kSigma2) * random.normal_matrix(n, 1).col(0); }

TEST(Decompose, TheTwoByTwoCaseByHand) {
  HeadMoments heads;
  heads.covariance = Matrix(1, 4);
  heads.covariance << 2.0, 0.5, 0.5, 1.0;
  heads.bias = Matrix(1, 2);
  heads.bias << 0.3, -0.1;
  heads.noise.value = 2.0;
  const Decomposition equal = decompose(heads);
  EXPECT_DOUBLE_EQ(equal.squared_bias->value, 0.01);
  EXPECT_DOUBLE_EQ(equal.variance.value, 0.25 * 2.0 * 3.0);
  EXPECT_DOUBLE_EQ(equal.covariance.value, 0.25 * 2.0 * 1.0);
  EXPECT_DOUBLE_EQ(equal.mse->value, 0.01 + 1.5 + 0.5);
  EXPECT_DOUBLE_EQ(equal.vbar, 3.0);
  EXPECT_DOUBLE_EQ(*equal.cbar, 1.0);
  EXPECT_DOUBLE_EQ(*equal.hdi, 1.0 - 1.0 / 3.0);
  EXPECT_EQ(equal.mse->origin, Origin::exact);
  const Decomposition other = decompose(heads, Eigen::Vector2d(0.75, 0.25));
  EXPECT_NEAR(other.squared_bias->value, 0.2 * 0.2, 1e-16);
  EXPECT_NEAR(other.variance.value, 2.0 * (0.5625 * 2.0 + 0.0625), 1e-15);
  EXPECT_NEAR(other.covariance.value, 2.0 * 2.0 * 0.1875 * 0.5, 1e-15);
}

TEST(Decompose, VarianceIsTheMeanTermAndCovarianceTheRest) {
  const SmootherFixture heads(40, 0.1);
  const Decomposition found = decompose(known_moments(heads));
  EXPECT_NEAR(found.variance.value, found.vbar / 3.0, 1e-15);
  EXPECT_NEAR(found.covariance.value, (1.0 - 1.0 / 3.0) * *found.cbar, 1e-15);
  EXPECT_NEAR(found.variance.value + found.covariance.value,
              found.vbar * (1.0 - (1.0 - 1.0 / 3.0) * *found.hdi), 1e-15);
}

TEST(Decompose, AgreesWithMonteCarloOverTheNoise) {
  const SmootherFixture heads(40, 0.1);
  const Vector a = Eigen::Vector3d(0.5, 0.2, 0.3);
  const Decomposition exact = decompose(known_moments(heads), a);
  RandomStream random(11, 0);
  Replicates replicates;
  replicates.truth = heads.truth;
  for (int r = 0; r < 3000; ++r) {
    const Vector y = heads.truth + noise(random, heads.n());
    replicates.predictions.push_back(
        heads.by_head([&](const Matrix& w) { return (w * y).eval(); }).transpose());
  }
  const Decomposition simulated = decompose_replicates(replicates, a);
  const auto within = [](const Part& part, double truth) {
    EXPECT_GT(*part.standard_error, 0.0);
    EXPECT_LT(*part.standard_error, 0.05 * truth);
    EXPECT_NEAR(part.value, truth, 4.0 * *part.standard_error);
  };
  within(*simulated.squared_bias, exact.squared_bias->value);
  within(simulated.variance, exact.variance.value);
  within(simulated.covariance, exact.covariance.value);
  within(*simulated.mse, exact.mse->value);
  EXPECT_NEAR(*simulated.hdi, *exact.hdi, 0.02);
}

TEST(LeaveOneOutCovariance, IsThatOfTheWeightsWithOneKeyTakenOut) {
  const SmootherFixture heads(12, 0.2);
  const Matrix self = heads.by_head([](const Matrix& w) { return Vector(w.diagonal()); });
  const Matrix found = leave_one_out_covariance(heads.covariance(), self);
  for (Index i = 0; i < heads.n(); ++i)
    for (Index h = 0; h < 3; ++h)
      for (Index l = 0; l < 3; ++l) {
        Vector of_h = heads.head(h).row(i), of_l = heads.head(l).row(i);
        of_h(i) = of_l(i) = 0.0;
        EXPECT_NEAR(found(i, h * 3 + l), (of_h / of_h.sum()).dot(of_l / of_l.sum()), 1e-14);
      }
}

TEST(LeaveOneOutCovariance, HasNoValueWhereAHeadSeesNothingElse) {
  Matrix covariance(1, 4), self(1, 2);
  covariance << 1.0, 0.5, 0.5, 0.5;
  self << 1.0, 0.5;
  const Matrix found = leave_one_out_covariance(covariance, self);
  EXPECT_TRUE(std::isnan(found(0, 0)) && std::isnan(found(0, 1)) && std::isnan(found(0, 2)));
  EXPECT_DOUBLE_EQ(found(0, 3), 1.0);
}

/// The leave-one-out moments of one sample.
HeadMoments left_out(const SmootherFixture& heads, const Vector& y, const Part& s2) {
  const Matrix self = heads.by_head([](const Matrix& w) { return Vector(w.diagonal()); });
  HeadMoments moments;
  moments.covariance = heads.covariance();
  moments.noise = s2;
  moments.residual = heads.by_head(
      [&](const Matrix& w) { return ((y - w * y).array() / (1.0 - w.diagonal().array())).matrix().eval(); });
  moments.left_out_covariance = leave_one_out_covariance(moments.covariance, self);
  return moments;
}

/// The mean squared bias of the leave-one-out fits, from their weights.
double left_out_squared_bias(const SmootherFixture& heads) {
  double sum = 0.0;
  for (Index i = 0; i < heads.n(); ++i) {
    double bias = 0.0;
    for (Index h = 0; h < 3; ++h) {
      Vector w = heads.head(h).row(i);
      w(i) = 0.0;
      bias += (w.dot(heads.truth) / w.sum() - heads.truth(i)) / 3.0;
    }
    sum += bias * bias;
  }
  return sum / static_cast<double>(heads.n());
}

TEST(Decompose, BiasFromLeaveOneOutResidualsIsUnbiasedAndItsErrorNotTooSmall) {
  RandomStream random(3, 0);
  const int n_samples = 1000;
  double mean = 0.0, squares = 0.0, stated = 0.0, truth = 0.0;
  for (int sample = 0; sample < n_samples; ++sample) {
    const SmootherFixture heads(60, 0.15, 100 + static_cast<std::uint64_t>(sample));
    const Vector y = heads.truth + noise(random, heads.n());
    const Decomposition found = decompose(left_out(heads, y, {kSigma2, Origin::exact, {}}));
    ASSERT_EQ(found.squared_bias->origin, Origin::estimated);
    EXPECT_EQ(found.variance.origin, Origin::exact);
    truth += left_out_squared_bias(heads) / n_samples;
    mean += found.squared_bias->value / n_samples;
    squares += found.squared_bias->value * found.squared_bias->value / n_samples;
    stated += *found.squared_bias->standard_error / n_samples;
  }
  const double sd = std::sqrt(squares - mean * mean);
  EXPECT_NEAR(mean, truth, 4.0 * sd / std::sqrt(double{n_samples}));
  // 1.27 here: a smooth bias is smoothed away again, so that the points' terms vary more than their mean
  // shows.
  EXPECT_GT(stated / sd, 0.95);
  EXPECT_LT(stated / sd, 1.4);
}

TEST(Decompose, AnEstimatedNoiseMarksEveryPart) {
  const SmootherFixture heads(40, 0.15);
  RandomStream random(4, 0);
  const Vector y = heads.truth + noise(random, heads.n());
  const Part s2{0.2, Origin::estimated, 0.05};
  const Decomposition found = decompose(left_out(heads, y, s2));
  EXPECT_EQ(found.variance.origin, Origin::estimated);
  EXPECT_NEAR(*found.variance.standard_error, found.variance.value * 0.25, 1e-15);
  EXPECT_EQ(found.mse->origin, Origin::estimated);
  EXPECT_NEAR(found.mse->value, found.squared_bias->value + found.variance.value + found.covariance.value,
              1e-15);
  const Decomposition known = decompose(left_out(heads, y, {0.2, Origin::exact, {}}));
  EXPECT_GT(*found.squared_bias->standard_error, *known.squared_bias->standard_error + 0.05);
}

TEST(Decompose, LeavesOutIsolatedPointsAndCountsThem) {
  const SmootherFixture heads(20, 0.15);
  HeadMoments moments = left_out(heads, heads.truth, {0.0, Origin::exact, {}});
  moments.residual(4, 1) = std::numeric_limits<double>::quiet_NaN();
  const Decomposition found = decompose(moments);
  EXPECT_EQ(found.n_isolated, 1);
  EXPECT_TRUE(std::isfinite(found.squared_bias->value));
}

TEST(Decompose, OneHeadHasNoCovariance) {
  HeadMoments heads;
  heads.covariance = Matrix::Constant(3, 1, 0.5);
  const Decomposition found = decompose(heads);
  EXPECT_EQ(found.covariance.value, 0.0);
  EXPECT_FALSE(found.cbar || found.hdi || found.squared_bias || found.mse);
  EXPECT_EQ(found.variance.value, 0.5);
}

TEST(Decompose, RefusesWhatDoesNotFit) {
  HeadMoments heads;
  EXPECT_THROW(decompose(heads), ArgumentError);
  heads.covariance = Matrix::Ones(2, 3);
  EXPECT_THROW(decompose(heads), ArgumentError);
  heads.covariance = Matrix::Ones(2, 4);
  EXPECT_THROW(decompose(heads, Vector::Ones(3)), ArgumentError);
  EXPECT_NO_THROW(decompose(heads, Vector::Ones(2)));
  heads.bias = Matrix::Zero(2, 2);
  EXPECT_THROW(decompose(heads, Vector::Ones(2)), ArgumentError);
  heads.bias = Matrix::Zero(1, 2);
  EXPECT_THROW(decompose(heads), ArgumentError);
  heads.bias = Matrix();
  heads.noise.value = -1.0;
  EXPECT_THROW(decompose(heads), ArgumentError);
  heads.noise.value = 1.0;
  heads.covariance(0, 0) = std::nan("");
  EXPECT_THROW(decompose(heads), ArgumentError);
}

TEST(NoiseVariance, ResidualEstimateIsUnbiasedWhereTheFitIs) {
  const SmootherFixture heads(50, 0.1);
  const Matrix& w = heads.head(0);
  RandomStream random(5, 0);
  const int n_samples = 2000;
  double mean = 0.0, squares = 0.0, stated = 0.0;
  for (int sample = 0; sample < n_samples; ++sample) {
    const Vector y = noise(random, heads.n());
    const Part found = residual_noise_variance(y - w * y, w.trace(), w.squaredNorm());
    mean += found.value / n_samples;
    squares += found.value * found.value / n_samples;
    stated += *found.standard_error / n_samples;
  }
  const double sd = std::sqrt(squares - mean * mean);
  EXPECT_NEAR(mean, kSigma2, 4.0 * sd / std::sqrt(double{n_samples}));
  EXPECT_NEAR(stated / sd, 1.0, 0.1);
  EXPECT_THROW(residual_noise_variance(Vector::Zero(3), 3.0, 3.0), ArgumentError);
}

TEST(NoiseVariance, NeighbourDifferencesNeedNoFit) {
  RandomStream random(6, 0);
  const int n_samples = 800;
  double mean = 0.0, squares = 0.0, stated = 0.0;
  const Matrix x = random.normal_matrix(60, 2);
  for (int sample = 0; sample < n_samples; ++sample) {
    const Vector y = noise(random, 60);
    const Part found = neighbour_noise_variance(x, y);
    mean += found.value / n_samples;
    squares += found.value * found.value / n_samples;
    stated += *found.standard_error / n_samples;
  }
  const double sd = std::sqrt(squares - mean * mean);
  EXPECT_NEAR(mean, kSigma2, 4.0 * sd / std::sqrt(double{n_samples}));
  EXPECT_NEAR(stated / sd, 1.0, 0.15);
}

TEST(NoiseVariance, NeighboursDoNotDependOnTheUnits) {
  RandomStream random(6, 1);
  Matrix x = random.normal_matrix(50, 2);
  const Vector y = noise(random, 50);
  const double before = neighbour_noise_variance(x, y).value;
  x.col(1) = x.col(1) * 1024.0;
  EXPECT_EQ(neighbour_noise_variance(x, y).value, before);
  x.col(0).setConstant(3.0);
  EXPECT_TRUE(std::isfinite(neighbour_noise_variance(x, y).value));
}

TEST(NoiseVariance, NeighbourDifferencesByHand) {
  const Vector y = Eigen::Vector3d(1.0, 3.0, 7.0), x = Eigen::Vector3d(0.0, 1.0, 3.0);
  EXPECT_DOUBLE_EQ(neighbour_noise_variance(x, y).value, (2.0 + 2.0 + 8.0) / 3.0);
  EXPECT_THROW(neighbour_noise_variance(x.head(1), y.head(1)), ArgumentError);
  EXPECT_THROW(neighbour_noise_variance(x, y.head(2)), ArgumentError);
}

}  // namespace
}  // namespace headspan::ensemble
