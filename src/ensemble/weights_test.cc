#include "headspan/ensemble/weights.h"

#include <gtest/gtest.h>

#include <Eigen/LU>
#include <cmath>
#include <limits>
#include <vector>

#include "headspan/numeric/error.h"
#include "headspan/numeric/random.h"

namespace headspan::ensemble {
namespace {

/// A positive definite matrix whose members share much of their error.
Matrix random_moments(Index n, std::uint64_t seed) {
  RandomStream random(seed, 0);
  const Matrix e = random.normal_matrix(n, 3 * n);
  const Vector common = random.normal_matrix(3 * n, 1).col(0);
  const Vector share = random.normal_matrix(n, 1).col(0).array() + 1.5;
  const Matrix errors = e + share * common.transpose();
  return errors * errors.transpose() / static_cast<double>(3 * n);
}

/// The definition, by the inverse.
Vector by_inverse(const Matrix& m) {
  const Vector x = m.inverse() * Vector::Ones(m.rows());
  return x / x.sum();
}

/// The least risk over mixtures of `corners` by trying every support.
double least_by_trying_all(const Matrix& m, const Matrix& corners) {
  const Matrix mixed = corners.transpose() * m * corners;
  double least = std::numeric_limits<double>::infinity();
  for (unsigned support = 1; support < (1U << static_cast<unsigned>(m.rows())); ++support) {
    std::vector<Index> face;
    for (Index h = 0; h < m.rows(); ++h)
      if ((support >> static_cast<unsigned>(h)) & 1U) face.push_back(h);
    const Vector b = by_inverse(mixed(face, face));
    if (b.minCoeff() >= 0.0) least = std::min(least, b.dot(mixed(face, face) * b));
  }
  return least;
}

Matrix first_members(Index n) {
  Matrix t = Matrix::Zero(n, n);
  for (Index j = 0; j < n; ++j) t.col(j).head(j + 1).setConstant(1.0 / static_cast<double>(j + 1));
  return t;
}

// Entries of an estimate less its noise; a corner is a minimum, and not the least.
TEST(SimplexWeights, RefusesWhatCurvesDownwards) {
  const Matrix m{{.27, .40, -.58}, {.40, .002, .66}, {-.58, .66, .54}};
  EXPECT_THROW(simplex_weights(m), ArgumentError);
  EXPECT_THROW(monotone_weights(m), ArgumentError);
}

TEST(ErrorSecondMoments, AreMeansOfProductsOfErrors) {
  RandomStream random(1, 0);
  const Matrix f = random.normal_matrix(3, 10000);
  const Vector y = random.normal_matrix(10000, 1).col(0);
  const Matrix m = error_second_moments(f, y);
  for (Index h = 0; h < 3; ++h)
    for (Index l = 0; l < 3; ++l) {
      double sum = 0.0;
      for (Index i = 0; i < 10000; ++i) sum += (f(h, i) - y[i]) * (f(l, i) - y[i]);
      EXPECT_NEAR(m(h, l), sum / 10000.0, 1e-13);
      EXPECT_EQ(m(h, l), m(l, h));
    }
  EXPECT_THROW(error_second_moments(f, y.head(5)), ArgumentError);
  EXPECT_THROW(error_second_moments(Matrix(0, 5), y.head(5)), ArgumentError);
  EXPECT_THROW(error_second_moments(Matrix::Constant(1, 1, NAN), y.head(1)), ArgumentError);
}

TEST(OptimalWeights, AreInverseVariancesWhereErrorsAreUncorrelated) {
  const Matrix m = Eigen::Vector3d(1.0, 2.0, 4.0).asDiagonal();
  const Weighting found = optimal_weights(m);
  EXPECT_TRUE(found.weights.isApprox(Eigen::Vector3d(4.0, 2.0, 1.0) / 7.0, 1e-15));
  EXPECT_NEAR(found.risk, 4.0 / 7.0, 1e-15);
  EXPECT_EQ(found.status, WeightsStatus::ok);
}

TEST(OptimalWeights, AreTheClosedForm) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Matrix m = random_moments(7, seed);
    const Weighting found = optimal_weights(m);
    EXPECT_TRUE(found.weights.isApprox(by_inverse(m), 1e-10));
    EXPECT_NEAR(found.risk, 1.0 / (m.inverse().sum()), 1e-11);
    EXPECT_LT(*found.residual, 1e-14);
  }
}

TEST(OptimalWeights, DoNotChangeWithANoiseThatAllErrorsShare) {
  const Matrix m = random_moments(5, 3), noisy = m.array() + 1e6;
  EXPECT_TRUE(optimal_weights(noisy).weights.isApprox(optimal_weights(m).weights, 1e-7));
  EXPECT_NEAR(optimal_weights(noisy).risk, optimal_weights(m).risk + 1e6, 1e-8);
}

TEST(OptimalWeights, KeepTheirDigitsAcrossUnits) {
  const Matrix m = Eigen::Vector3d(1.0, 1e-20, 3e-20).asDiagonal();
  const Weighting found = optimal_weights(m);
  EXPECT_EQ(found.status, WeightsStatus::ok);
  EXPECT_NEAR(found.weights[1], 0.75, 1e-15);
  EXPECT_NEAR(found.weights[2], 0.25, 1e-15);
  EXPECT_NEAR(found.risk / 7.5e-21, 1.0, 1e-12);
}

TEST(OptimalWeights, OfIdenticalMembersAreEqualAndSaySo) {
  for (const Index n : {2, 5}) {
    const Weighting found = optimal_weights(Matrix::Constant(n, n, 0.3));
    EXPECT_EQ(found.status, WeightsStatus::singular);
    EXPECT_TRUE(found.weights.isApprox(Vector::Constant(n, 1.0 / static_cast<double>(n)), 1e-15));
    EXPECT_NEAR(found.risk, 0.3, 1e-15);
  }
}

TEST(OptimalWeights, ShareTheWeightOfAMemberAmongItsCopies) {
  const Matrix m = random_moments(3, 5);
  const std::vector<Index> copied = {0, 1, 1, 2, 1};
  const Weighting found = optimal_weights(m(copied, copied));
  const Vector a = by_inverse(m);
  EXPECT_EQ(found.status, WeightsStatus::singular);
  Vector wanted(5);
  wanted << a[0], a[1] / 3.0, a[1] / 3.0, a[2], a[1] / 3.0;
  EXPECT_TRUE(found.weights.isApprox(wanted, 1e-9));
  EXPECT_NEAR(found.risk, a.dot(m * a), 1e-12);
}

TEST(OptimalWeights, OfMoreMembersThanPointsFitThePointsAndSaySo) {
  const Matrix errors = RandomStream(6, 0).normal_matrix(8, 4);
  const Weighting found = optimal_weights(error_second_moments(errors, Vector::Zero(4)));
  EXPECT_EQ(found.status, WeightsStatus::singular);
  EXPECT_NEAR(found.risk, 0.0, 1e-14);
  EXPECT_NEAR(found.weights.sum(), 1.0, 1e-13);
  // Of all weights of no error the closest to uniform: the errors' rows and ones span what is left.
  Matrix conditions(5, 8);
  conditions << errors.transpose(), Eigen::RowVectorXd::Ones(8);
  Vector right = Vector::Zero(5);
  right[4] = 1.0;
  const Vector least = conditions.transpose() * (conditions * conditions.transpose()).inverse() * right;
  EXPECT_TRUE(found.weights.isApprox(least, 1e-9));
}

TEST(Weights, OfAnyNumberOfPointsAreFoundAndTheirStatusIsTheRank) {
  for (const Index n_members : {5, 30, 60})
    for (const Index n_points :
         std::vector<Index>{1, 2, n_members / 2, n_members - 2, n_members - 1, n_members, 2 * n_members})
      for (std::uint64_t seed = 0; seed < 4; ++seed) {
        RandomStream random(seed, static_cast<std::uint64_t>(n_points));
        const Matrix own = random.normal_matrix(n_members, n_points);
        const Matrix errors = own.rowwise() + Eigen::RowVectorXd(random.normal_matrix(1, n_points).row(0));
        const Matrix m = error_second_moments(errors, Vector::Zero(n_points));
        const Weighting free = optimal_weights(m);
        // Differences to one member span as many directions as there are points, at most.
        EXPECT_EQ(free.status == WeightsStatus::singular, n_points < n_members - 1)
            << n_members << ' ' << n_points;
        if (n_points < n_members) {
          EXPECT_NEAR(free.risk, 0.0, 1e-9) << n_members << ' ' << n_points;
        }
        EXPECT_NEAR(free.weights.sum(), 1.0, 1e-9);
        for (const auto& weights : {simplex_weights, monotone_weights}) {
          const Weighting found = weights(m, std::nullopt);
          EXPECT_LT(*found.residual, 1e-8) << n_members << ' ' << n_points;
          EXPECT_LE(found.risk, m(0, 0) + 1e-12);
        }
      }
}

TEST(OptimalWeights, OfAPerfectMemberAreItAlone) {
  Matrix m = random_moments(3, 8);
  m.row(1).setZero();
  m.col(1).setZero();
  EXPECT_TRUE(optimal_weights(m).weights.isApprox(Eigen::Vector3d(0.0, 1.0, 0.0), 1e-14));
  EXPECT_EQ(optimal_weights(Matrix::Constant(1, 1, 2.0)).weights[0], 1.0);
  EXPECT_EQ(optimal_weights(Matrix::Zero(2, 2)).status, WeightsStatus::singular);
}

TEST(SimplexWeights, AreTheBestOfAllSupports) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const Index n = 2 + static_cast<Index>(seed % 6);
    const Matrix m = random_moments(n, seed);
    const Weighting found = simplex_weights(m);
    EXPECT_GE(found.weights.minCoeff(), 0.0);
    EXPECT_NEAR(found.weights.sum(), 1.0, 1e-14);
    EXPECT_NEAR(found.risk, least_by_trying_all(m, Matrix::Identity(n, n)), 1e-12);
    EXPECT_LT(*found.residual, 1e-13);
  }
}

TEST(SimplexWeights, AreTheOptimalOnesWhereThoseAreNotNegative) {
  const Matrix m = Eigen::Vector4d(1.0, 2.0, 4.0, 0.5).asDiagonal();
  EXPECT_TRUE(simplex_weights(m).weights.isApprox(optimal_weights(m).weights, 1e-15));
}

TEST(SimplexWeights, OfIdenticalMembersAreEqualAndSaySo) {
  for (const auto& weights : {simplex_weights, monotone_weights}) {
    const Weighting found = weights(Matrix::Constant(4, 4, 2.0), std::nullopt);
    EXPECT_EQ(found.status, WeightsStatus::singular);
    EXPECT_TRUE(found.weights.isApprox(Vector::Constant(4, 0.25), 1e-6)) << found.weights.transpose();
    EXPECT_NEAR(found.risk, 2.0, 1e-15);
    EXPECT_TRUE(weights(Matrix::Zero(2, 2), std::nullopt).weights.isApprox(Vector::Constant(2, 0.5), 1e-6));
  }
}

TEST(MonotoneWeights, AreClosestToUniformWhereTheFirstMembersAreCopies) {
  const Matrix m = Eigen::Vector2d(1.0, 3.0).asDiagonal();
  const std::vector<Index> copied = {0, 0, 1, 1};
  const Weighting found = monotone_weights(m(copied, copied));
  EXPECT_EQ(found.status, WeightsStatus::singular);
  EXPECT_TRUE(found.weights.isApprox(Eigen::Vector4d(0.375, 0.375, 0.125, 0.125), 1e-6));
}

TEST(SimplexWeights, OfMoreMembersThanPointsAreNoWorseThanTheBestMember) {
  const Matrix errors = RandomStream(9, 0).normal_matrix(30, 6).array() + 1.0;
  const Matrix m = error_second_moments(errors, Vector::Zero(6));
  const Weighting found = simplex_weights(m);
  EXPECT_LE(found.risk, m.diagonal().minCoeff());
  EXPECT_LT(*found.residual, 1e-8);
}

TEST(MonotoneWeights, AreTheBestOfAllMixturesOfTheFirst) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const Index n = 2 + static_cast<Index>(seed % 6);
    const Matrix m = random_moments(n, 100 + seed);
    const Weighting found = monotone_weights(m);
    for (Index h = 1; h < n; ++h) EXPECT_LE(found.weights[h], found.weights[h - 1] + 1e-15);
    EXPECT_GE(found.weights[n - 1], 0.0);
    EXPECT_NEAR(found.risk, least_by_trying_all(m, first_members(n)), 1e-12);
    EXPECT_LT(*found.residual, 1e-13);
  }
}

TEST(MonotoneWeights, FollowTheOrderOnly) {
  const Matrix rising = Eigen::Vector3d(1.0, 2.0, 4.0).asDiagonal();
  EXPECT_TRUE(monotone_weights(rising).weights.isApprox(optimal_weights(rising).weights, 1e-14));
  const Matrix falling = Eigen::Vector3d(4.0, 2.0, 1.0).asDiagonal();
  EXPECT_TRUE(monotone_weights(falling).weights.isApprox(Vector::Constant(3, 1.0 / 3.0), 1e-14));
}

TEST(BoundedNorm, IsKeptAndCostsNoMoreThanItMust) {
  // Two members: a = (1/2 + t, 1/2 - t), |a|^2 = 1/2 + 2 t^2.
  const Matrix m = Eigen::Vector2d(1.0, 9.0).asDiagonal();
  const double t = std::sqrt((0.6 - 0.5) / 2.0);
  for (const auto& weights : {simplex_weights, monotone_weights}) {
    const Weighting found = weights(m, 0.6);
    EXPECT_TRUE(found.weights.isApprox(Eigen::Vector2d(0.5 + t, 0.5 - t), 1e-12));
    EXPECT_LE(found.weights.squaredNorm(), 0.6 + 1e-15);
    EXPECT_TRUE(weights(m, 0.9).weights.isApprox(Eigen::Vector2d(0.9, 0.1), 1e-14));
    EXPECT_TRUE(weights(m, 0.5).weights.isApprox(Eigen::Vector2d(0.5, 0.5), 1e-7));
    EXPECT_THROW(weights(m, 0.49), ArgumentError);
    EXPECT_THROW(weights(m, std::nan("")), ArgumentError);
  }
}

TEST(BoundedNorm, GivesTheBestOfManyWeightingsWithinIt) {
  const Matrix m = random_moments(5, 42);
  const double bound = 0.3;
  const Weighting found = simplex_weights(m, bound);
  ASSERT_GT(simplex_weights(m).weights.squaredNorm(), bound);
  EXPECT_NEAR(found.weights.squaredNorm(), bound, 1e-12);
  EXPECT_LT(*found.residual, 1e-12);
  RandomStream random(4, 0);
  int n_within = 0;
  for (int i = 0; i < 20000; ++i) {
    // Around the answer, mixed with others and pulled to uniform until within the bound.
    Vector a = found.weights;
    for (Index h = 0; h < 5; ++h) a[h] = std::max(0.0, a[h] + 0.05 * random.normal());
    a /= a.sum();
    if (a.squaredNorm() > bound) continue;
    ++n_within;
    EXPECT_GE(risk(m, a), found.risk - 1e-12);
  }
  EXPECT_GT(n_within, 1000);
}

TEST(Weights, RefuseWhatIsNoMatrixOfErrors) {
  Matrix m = Matrix::Identity(2, 2);
  EXPECT_THROW(optimal_weights(Matrix(0, 0)), ArgumentError);
  EXPECT_THROW(simplex_weights(Matrix::Ones(2, 3)), ArgumentError);
  m(0, 1) = 0.5;
  EXPECT_THROW(monotone_weights(m), ArgumentError);
  m(0, 1) = std::nan("");
  EXPECT_THROW(optimal_weights(m), ArgumentError);
  Matrix concave(2, 2);
  concave << 1.0, 3.0, 3.0, 1.0;
  EXPECT_THROW(optimal_weights(concave), ArgumentError);
  EXPECT_THROW(risk(concave, Vector::Ones(3)), ArgumentError);
}

}  // namespace
}  // namespace headspan::ensemble
