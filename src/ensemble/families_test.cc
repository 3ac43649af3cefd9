#include "headspan/ensemble/families.h"

#include <gtest/gtest.h>

#include <cmath>

#include "headspan/numeric/error.h"
#include "headspan/numeric/random.h"

namespace headspan::ensemble {
namespace {

TEST(FamilyWeights, AreTheLawsByHand) {
  EXPECT_TRUE(family_weights(Family::uniform, 4).isApprox(Vector::Constant(4, 0.25)));
  EXPECT_TRUE(family_weights(Family::geometric, 3, Vector::Constant(1, 0.5))
                  .isApprox(Eigen::Vector3d(4.0, 2.0, 1.0) / 7.0));
  EXPECT_TRUE(family_weights(Family::heavy_tailed, 3, Vector::Constant(1, 1.0))
                  .isApprox(Eigen::Vector3d(6.0, 3.0, 2.0) / 11.0));
  const Vector exponents = Eigen::Vector3d(-2.0, -2.0 * std::sqrt(2.0), -2.0 * std::sqrt(3.0));
  const Vector law = exponents.array().exp();
  EXPECT_TRUE(
      family_weights(Family::sub_exponential, 3, Eigen::Vector2d(2.0, 0.5)).isApprox(law / law.sum()));
  Vector fibonacci(5);
  fibonacci << 5.0, 3.0, 2.0, 1.0, 1.0;
  EXPECT_TRUE(family_weights(Family::fibonacci, 5).isApprox(fibonacci / 12.0));
}

TEST(FamilyWeights, OfFibonacciHaveFourEffectiveMembersHoweverManyThereAre) {
  // 1 / phi^3, by the geometric series of the ratio.
  const double limit = std::sqrt(5.0) - 2.0;
  for (const Index n : {100, 5000})
    EXPECT_NEAR(family_weights(Family::fibonacci, n).squaredNorm(), limit, 1e-14);
}

TEST(FamilyWeights, FallAndSumToOne) {
  const Vector r = Vector::Constant(1, 0.8), p = Vector::Constant(1, 2.5), c = Eigen::Vector2d(0.7, 0.4);
  const auto parameters = [&](Family family) -> Vector {
    if (family == Family::geometric) return r;
    if (family == Family::heavy_tailed) return p;
    return family == Family::sub_exponential ? c : Vector();
  };
  for (const Family family : kFamilies)
    for (const Index n : {1, 2, 300}) {
      const Vector a = family_weights(family, n, parameters(family));
      EXPECT_NEAR(a.sum(), 1.0, 1e-14) << to_string(family);
      EXPECT_GE(a.minCoeff(), 0.0);
      for (Index h = 1; h < n; ++h) EXPECT_LE(a[h], a[h - 1]);
    }
}

TEST(FamilyWeights, RefuseParametersOutOfRange) {
  const auto one = [](double value) { return Vector::Constant(1, value); };
  EXPECT_THROW(family_weights(Family::uniform, 0), ArgumentError);
  EXPECT_THROW(family_weights(Family::uniform, 3, one(1.0)), ArgumentError);
  EXPECT_THROW(family_weights(Family::geometric, 3), ArgumentError);
  EXPECT_THROW(family_weights(Family::geometric, 3, one(0.0)), ArgumentError);
  EXPECT_THROW(family_weights(Family::geometric, 3, one(1.01)), ArgumentError);
  EXPECT_THROW(family_weights(Family::heavy_tailed, 3, one(-0.1)), ArgumentError);
  EXPECT_THROW(family_weights(Family::heavy_tailed, 3, one(NAN)), ArgumentError);
  EXPECT_THROW(family_weights(Family::sub_exponential, 3, Eigen::Vector2d(1.0, 1.0)), ArgumentError);
  EXPECT_THROW(family_weights(Family::sub_exponential, 3, Eigen::Vector2d(-1.0, 0.5)), ArgumentError);
}

/// A matrix whose optimal weights are `a`: inverse variances.
Matrix moments_for(const Vector& a) { return a.cwiseInverse().asDiagonal(); }

TEST(FitFamily, FindsTheParametersThatMadeTheMatrix) {
  const auto one = [](double value) { return Vector::Constant(1, value); };
  for (const double r : {0.3, 0.9, 0.9999})
    EXPECT_NEAR(fit_family(moments_for(family_weights(Family::geometric, 30, one(r))), Family::geometric)
                    .parameters[0],
                r, 1e-5);
  for (const double p : {0.1, 1.0, 4.0})
    EXPECT_NEAR(
        fit_family(moments_for(family_weights(Family::heavy_tailed, 30, one(p))), Family::heavy_tailed)
            .parameters[0],
        p, 1e-5 * (1.0 + p));
  const Matrix m = moments_for(family_weights(Family::sub_exponential, 30, Eigen::Vector2d(0.9, 0.6)));
  const FamilyFit found = fit_family(m, Family::sub_exponential);
  EXPECT_NEAR(found.parameters[0], 0.9, 1e-2);
  EXPECT_NEAR(found.parameters[1], 0.6, 1e-2);
  EXPECT_NEAR(found.weighting.risk / optimal_weights(m).risk, 1.0, 1e-9);
}

TEST(FitFamily, IsNoBetterThanTheMonotoneWeightsNorWorseThanUniform) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    const Matrix e = RandomStream(seed, 0).normal_matrix(8, 20);
    const Matrix m = e * e.transpose() / 20.0;
    const double best = monotone_weights(m).risk, uniform = fit_family(m, Family::uniform).weighting.risk;
    EXPECT_NEAR(uniform, m.mean(), 1e-14);
    for (const Family family : {Family::geometric, Family::sub_exponential, Family::heavy_tailed}) {
      const FamilyFit found = fit_family(m, family);
      EXPECT_GE(found.weighting.risk, best - 1e-12) << to_string(family);
      EXPECT_LE(found.weighting.risk, uniform) << to_string(family);
      EXPECT_EQ(found.weighting.risk, risk(m, found.weighting.weights));
    }
  }
}

TEST(FitFamily, OfAlikeMembersIsUniform) {
  Matrix m = Matrix::Constant(6, 6, 0.4);
  m.diagonal().setOnes();
  for (const Family family : {Family::geometric, Family::heavy_tailed, Family::sub_exponential})
    EXPECT_TRUE(fit_family(m, family).weighting.weights.isApprox(Vector::Constant(6, 1.0 / 6.0), 1e-7));
  EXPECT_THROW(fit_family(Matrix(0, 0), Family::geometric), ArgumentError);
  EXPECT_EQ(fit_family(Matrix::Ones(1, 1), Family::geometric).weighting.weights[0], 1.0);
}

TEST(FitFamily, OfParametersOfOneRiskTakesThoseNearestEqualWeights) {
  // Identical members with errors whose squares are no round numbers: every law has their risk.
  const Matrix m = Matrix::Constant(3, 3, 0.123456789);
  for (const Family family : {Family::geometric, Family::heavy_tailed, Family::sub_exponential}) {
    const FamilyFit found = fit_family(m, family);
    EXPECT_EQ(found.weighting.weights, family_weights(Family::uniform, 3)) << to_string(family);
    EXPECT_FALSE(found.at_edge) << to_string(family);
  }
  // Two members: every alpha gives the same weights.
  const FamilyFit two =
      fit_family(Eigen::Vector2d(1.0, 2.0).asDiagonal().toDenseMatrix(), Family::sub_exponential);
  EXPECT_NEAR(two.parameters[1], 0.5, 1e-15);
  EXPECT_NEAR(two.weighting.weights[0], 2.0 / 3.0, 1e-6);
  EXPECT_FALSE(two.at_edge);
}

TEST(FitFamily, SaysWhereItsSearchEnds) {
  // A heavy tail is the limit alpha = 0, and a first member without error that of all its weight.
  const Matrix heavy = moments_for(family_weights(Family::heavy_tailed, 10, Vector::Constant(1, 1.0)));
  EXPECT_TRUE(fit_family(heavy, Family::sub_exponential).at_edge);
  EXPECT_FALSE(fit_family(heavy, Family::heavy_tailed).at_edge);
  const Matrix first = Eigen::Vector3d(0.0, 1.0, 1.0).asDiagonal();
  EXPECT_TRUE(fit_family(first, Family::geometric).at_edge);
}

TEST(FitFamily, RefusesWhatIsNoMatrixOfSecondMoments) {
  const Matrix apart = (Matrix(2, 2) << 1.0, 2.0, 2.0, 1.0).finished();
  const Matrix skew = (Matrix(2, 2) << 1.0, 0.5, 0.1, 1.0).finished();
  for (const Matrix& m : {apart, skew, Matrix(-Matrix::Identity(3, 3))}) {
    EXPECT_THROW(fit_family(m, Family::geometric), ArgumentError);
    EXPECT_THROW(exchangeability(m), ArgumentError);
  }
  // The variance of the noise may have been taken off every entry.
  EXPECT_NO_THROW(fit_family(Matrix::Identity(3, 3) - Matrix::Constant(3, 3, 2.0), Family::geometric));
}

TEST(FamilyWeights, EndAtZero) {
  const Vector weights = family_weights(Family::geometric, 5, Vector::Constant(1, 1e-300));
  EXPECT_NEAR(weights[1], 1e-300, 1e-312);
  EXPECT_EQ(weights.tail(3), Vector::Zero(3));
}

TEST(Exchangeability, OfAKnownMatrixGivesTheExactLoss) {
  const double bias2 = 0.3, v = 2.0, rho = 0.4;
  Matrix m = Matrix::Constant(5, 5, bias2 + v * rho);
  m.diagonal().setConstant(bias2 + v);
  const Exchangeability alike = exchangeability(m);
  EXPECT_TRUE(alike.holds);
  EXPECT_FALSE(alike.p.has_value());
  const Vector a = family_weights(Family::fibonacci, 5);
  EXPECT_NEAR(structure_loss(alike, a), v * (1.0 - rho) * (a.squaredNorm() - 0.2), 1e-14);
  EXPECT_NEAR(risk(m, a) - risk(m, Vector::Constant(5, 0.2)), structure_loss(alike, a), 1e-14);
  EXPECT_THROW(structure_loss(alike, Vector::Constant(5, 0.3)), ArgumentError);
  m(2, 2) *= 1.001;
  EXPECT_FALSE(exchangeability(m).holds);
  EXPECT_TRUE(exchangeability(m, 0.01).holds);
  EXPECT_NEAR(exchangeability(m).departure, 2.3 * 0.001 * 0.8, 1e-12);
}

/// Errors of members that share a part, the first with more of its own.
Matrix errors_of(Index n_members, Index n, double first, std::uint64_t seed) {
  RandomStream random(seed, 0);
  Matrix e = random.normal_matrix(n_members, n);
  e.row(0) *= first;
  return e.rowwise() + Eigen::RowVectorXd(random.normal_matrix(1, n).row(0));
}

TEST(TestExchangeability, RejectsAlikeMembersSeldomAndOthersSurely) {
  int n_rejected = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed)
    n_rejected += exchangeability_test(errors_of(6, 200, 1.0, seed)).holds ? 0 : 1;
  // 20 expected at level .05 if the bound were sharp; squares of normals have somewhat longer tails than t.
  EXPECT_LE(n_rejected, 36);
  EXPECT_GE(n_rejected, 1);
  for (std::uint64_t seed = 0; seed < 20; ++seed)
    EXPECT_FALSE(exchangeability_test(errors_of(6, 400, 2.0, seed)).holds);
}

TEST(TestExchangeability, OfDegenerateErrors) {
  EXPECT_TRUE(exchangeability_test(Matrix::Ones(3, 10)).holds);
  EXPECT_EQ(*exchangeability_test(errors_of(1, 10, 1.0, 0).replicate(4, 1)).p, 1.0);
  EXPECT_TRUE(exchangeability_test(errors_of(1, 10, 1.0, 0)).holds);
  EXPECT_FALSE(exchangeability_test(errors_of(4, 2, 1.0, 0)).p.has_value());
  Matrix constant = Matrix::Ones(2, 10);
  constant.row(1).setConstant(2.0);
  EXPECT_FALSE(exchangeability_test(constant).holds);
  EXPECT_THROW(exchangeability_test(Matrix(0, 3)), ArgumentError);
}

}  // namespace
}  // namespace headspan::ensemble
