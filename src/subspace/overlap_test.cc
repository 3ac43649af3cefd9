#include "headspan/subspace/overlap.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "headspan/numeric/decompose.h"
#include "headspan/numeric/error.h"
#include "headspan/numeric/random.h"

namespace headspan::subspace {
namespace {

TEST(OverlapLaw, MomentsMatchSimulation) {
  constexpr int n = 4000;
  const Index k = 3, l = 5, d = 9;
  double mean = 0, square = 0;
  for (int i = 0; i < n; ++i) {
    RandomStream random(11, static_cast<std::uint64_t>(i));
    const Matrix u = thin_lq(random.normal_matrix(k, d)).q, v = thin_lq(random.normal_matrix(l, d)).q;
    const double overlap = (u * v.transpose()).squaredNorm();
    mean += overlap / n;
    square += overlap * overlap / n;
  }
  const MomentLaw law = overlap_law(k, l, d);
  EXPECT_DOUBLE_EQ(law.mean, 15.0 / 9.0);
  EXPECT_NEAR(mean, law.mean, 5 * std::sqrt(law.variance / n));
  EXPECT_NEAR((square - mean * mean) / law.variance, 1.0, 5 * std::sqrt(3.0 / n));
}

TEST(CompareBeta, IsExactForLines) {
  // cos^2 of two random lines in R^d is Beta(1/2, (d-1)/2); in R^2 the angle is uniform.
  const MomentLaw law = overlap_law(1, 1, 2);
  for (const double angle : {0.1, 0.5, 1.0, 1.4}) {
    const double c2 = std::cos(angle) * std::cos(angle);
    const double below = 1.0 - angle / (std::numbers::pi / 2);  // P(cos^2 <= c2) = 1 - angle/(pi/2), mirrored
    const Comparison comparison = compare_beta(c2, law);
    EXPECT_NEAR(*comparison.p, 2.0 * std::min(below, 1.0 - below), 1e-12) << angle;
    EXPECT_NEAR(*comparison.z, (c2 - 0.5) / std::sqrt(0.125), 1e-12);
  }
}

TEST(CompareBeta, StatesTheTailThatANormalLawMisses) {
  // k = 1, large d: d cos^2 is chi-square with one degree of freedom, so three standard deviations above the
  // mean have one-sided probability erfc(sqrt((1 + 3 sqrt 2)/2)) = 0.0220, not the normal law's 0.0013.
  const MomentLaw law = overlap_law(1, 1, 4096);
  const Comparison comparison = compare_beta(law.mean + 3.0 * std::sqrt(law.variance), law);
  EXPECT_NEAR(*comparison.p / 2.0, std::erfc(std::sqrt((1.0 + 3.0 * std::sqrt(2.0)) / 2.0)), 5e-5);
}

TEST(CompareBeta, UndefinedWhereNothingVaries) {
  const Comparison comparison = compare_beta(4.0, overlap_law(4, 4, 4));
  EXPECT_FALSE(comparison.z.has_value());
  EXPECT_FALSE(comparison.p.has_value());
}

TEST(CompareNormal, TwoSided) { EXPECT_NEAR(*compare_normal(-0.196, 0.1).p, 0.04999579029644087, 1e-14); }

TEST(CompareNormalProduct, MatchesSimulation) {
  constexpr int n = 200000;
  RandomStream random(5, 0);
  int beyond = 0;
  for (int i = 0; i < n; ++i)
    if (std::abs(random.normal() * random.normal()) > 2.0) ++beyond;
  const double p = *compare_normal_product(2.0 * 0.3 * 0.7, 0.3, 0.7).p;
  EXPECT_NEAR(p, static_cast<double>(beyond) / n, 5 * std::sqrt(p / n));
  EXPECT_NEAR(*compare_normal_product(0.0, 1.0, 1.0).p, 1.0, 1e-12);
  EXPECT_NEAR(*compare_normal_product(1e-9, 1.0, 1.0).p, 1.0, 1e-7);
  EXPECT_EQ(*compare_normal_product(1e4, 1.0, 1.0).p, 0.0);
}

TEST(OverlapLaw, RefusesImpossibleDimensions) {
  EXPECT_THROW(overlap_law(5, 1, 4), ArgumentError);
  EXPECT_THROW(overlap_law(0, 1, 4), ArgumentError);
}

}  // namespace
}  // namespace headspan::subspace
