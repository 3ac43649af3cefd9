#include "headspan/ensemble/correlation.h"

#include <gtest/gtest.h>

#include <cmath>

#include "headspan/numeric/error.h"

namespace headspan::ensemble {
namespace {

Matrix equicorrelated(Index n, double rho) {
  Matrix r = Matrix::Constant(n, n, rho);
  r.diagonal().setOnes();
  return r;
}

TEST(Diversity, OfEquicorrelatedHeadsInClosedForm) {
  const double rho = 0.25;
  const Index n = 6;
  const Diversity found =
      diversity({"score", equicorrelated(n, rho)}, Baseline{1.0, 0.01, "closed form"}, 1.2);
  const double large = 1 + 5 * rho, small = 1 - rho;
  EXPECT_NEAR(*found.hdi, 1 - rho, 1e-15);
  EXPECT_NEAR(*found.z, -25.0, 1e-10);
  EXPECT_NEAR(*found.headroom, 0.2 + rho, 1e-15);
  EXPECT_NEAR(*found.n_eff_2, 36 / (large * large + 5 * small * small), 1e-13);
  EXPECT_NEAR(*found.n_eff_inf, 6 / large, 1e-13);
  const double p = large / 6, q = small / 6;
  EXPECT_NEAR(*found.n_eff_1, std::exp(-p * std::log(p) - 5 * q * std::log(q)), 1e-13);
}

TEST(Diversity, IdentityAndOnesAreTheExtremes) {
  const Diversity apart = diversity({"x", Matrix::Identity(4, 4)}, std::nullopt, std::nullopt);
  EXPECT_EQ(*apart.hdi, 1.0);
  EXPECT_NEAR(*apart.n_eff_1, 4.0, 1e-14);
  EXPECT_FALSE(apart.bound || apart.baseline || apart.z || apart.headroom);
  const Diversity alike = diversity({"x", Matrix::Ones(4, 4)}, std::nullopt, std::nullopt);
  EXPECT_EQ(*alike.hdi, 0.0);
  EXPECT_NEAR(*alike.n_eff_1, 1.0, 1e-12);
}

TEST(Diversity, MatchesTheQuadraticForm) {
  Matrix r(3, 3);
  r << 1, 0.2, -0.4, 0.2, 1, 0.1, -0.4, 0.1, 1;
  EXPECT_NEAR(*head_diversity_index(r), 1.5 * (1 - r.sum() / 9), 1e-15);
  EXPECT_GT(*head_diversity_index(r), 1.0);
}

TEST(Diversity, OneHeadHasNothingToCompare) {
  const Diversity one = diversity({"x", Matrix::Ones(1, 1)}, Baseline{0.5, 0.1, "m"}, 1.0);
  EXPECT_FALSE(one.hdi || one.bound || one.baseline || one.z);
  EXPECT_EQ(*one.n_eff_2, 1.0);
}

TEST(Diversity, ABaselineThatDoesNotVaryGivesNoZ) {
  EXPECT_FALSE(diversity({"x", Matrix::Ones(2, 2)}, Baseline{0.0, 0.0, "m"}, 1.0).z.has_value());
}

TEST(Diversity, RefusesWhatIsNoCorrelationMatrix) {
  Matrix r = equicorrelated(3, 0.1);
  r(0, 1) = 0.5;
  EXPECT_THROW(diversity({"x", r}, std::nullopt, std::nullopt), ArgumentError);
  r = equicorrelated(3, 0.1);
  r(2, 2) = 0.9;
  EXPECT_THROW(diversity({"x", r}, std::nullopt, std::nullopt), ArgumentError);
  r = equicorrelated(3, std::nan(""));
  EXPECT_THROW(diversity({"x", r}, std::nullopt, std::nullopt), ArgumentError);
  EXPECT_THROW(diversity({"x", Matrix(0, 0)}, std::nullopt, std::nullopt), ArgumentError);
}

TEST(BenjaminiHochberg, PublishedExample) {
  // Benjamini and Hochberg 1995, section 3.1: fifteen p-values, four rejections at level 0.05.
  Vector p(15);
  p << .0001, .0004, .0019, .0095, .0201, .0278, .0298, .0344, .0459, .3240, .4262, .5719, .6528, .7590, 1.0;
  const Vector q = benjamini_hochberg(p);
  EXPECT_EQ((q.array() <= 0.05).count(), 4);
  EXPECT_NEAR(q(0), .0015, 1e-15);
  EXPECT_NEAR(q(3), .0095 * 15 / 4, 1e-15);
  EXPECT_NEAR(q(4), .0298 * 15 / 7 < .0201 * 15 / 5 ? .0298 * 15 / 7 : .0201 * 15 / 5, 1e-15);
  EXPECT_EQ(q(14), 1.0);
}

TEST(BenjaminiHochberg, KeepsTheOrderGivenAndRefusesNonProbabilities) {
  Vector p(3);
  p << 0.9, 0.01, 0.02;
  const Vector q = benjamini_hochberg(p);
  EXPECT_NEAR(q(1), 0.03, 1e-15);
  EXPECT_NEAR(q(2), 0.03, 1e-15);
  EXPECT_NEAR(q(0), 0.9, 1e-15);
  p(0) = 1.5;
  EXPECT_THROW(benjamini_hochberg(p), ArgumentError);
  EXPECT_EQ(benjamini_hochberg(Vector()).size(), 0);
}

}  // namespace
}  // namespace headspan::ensemble
