#include "headspan/numeric/gaussian_laws.h"

#include <gtest/gtest.h>

#include <Eigen/SVD>
#include <cmath>
#include <limits>
#include <numbers>

#include "headspan/numeric/error.h"
#include "headspan/numeric/random.h"

namespace headspan {
namespace {

double v_direct(double b, double c) {
  const double s = (1 + b * b) * (1 + b * b);
  return s / std::sqrt((s - c * c) * (s - c * c) - c * c * std::pow(b, 4));
}

TEST(GaussianKernelLaw, MatchesTheFormulaOfOneAngle) {
  for (const double b : {0.1, 0.5, 1.0, 3.0})
    for (const double c : {0.0, 0.3, 0.9, 1.0})
      EXPECT_NEAR(GaussianKernelLaw(b).log_v(c * c), std::log(v_direct(b, c)), 1e-13) << b << " " << c;
}

TEST(GaussianKernelLaw, PublishedCorrelations) {
  // Bandwidth 1, two angles of 30 degrees: 0.6306; of 60 degrees: 0.1584.
  const GaussianKernelLaw law(1.0);
  const auto equal_angles = [&](double degrees) {
    const double c = std::cos(degrees * std::numbers::pi / 180);
    return law.correlation(2 * law.log_v(c * c), 2, 2);
  };
  EXPECT_NEAR(equal_angles(30), 0.6306, 5e-5);
  EXPECT_NEAR(equal_angles(60), 0.1584, 5e-5);
  EXPECT_NEAR(equal_angles(90), 0.0, 1e-30);
  EXPECT_NEAR(equal_angles(0), 1.0, 1e-14);
}

TEST(GaussianKernelLaw, DeterminantsEqualSingularValues) {
  RandomStream random(3, 0);
  Matrix cross = random.normal_matrix(5, 3);
  Eigen::JacobiSVD<Eigen::MatrixXd> svd(cross, Eigen::ComputeThinU | Eigen::ComputeThinV);
  Vector cosines(3);
  cosines << 1.0, 0.6, 0.01;
  cross = svd.matrixU() * cosines.asDiagonal() * svd.matrixV().transpose();
  for (const double b : {0.05, 1.0, 2.5}) {
    const GaussianKernelLaw law(b);
    double expected = 0;
    for (const double c : cosines) expected += std::log(v_direct(b, c));
    EXPECT_NEAR(law.log_v_product(cross), expected, 1e-10) << b;
    EXPECT_NEAR(law.log_v_product(cross.transpose()), expected, 1e-10) << b;
  }
}

TEST(GaussianKernelLaw, SmallBandwidthNeitherOverflowsNorVanishes) {
  const GaussianKernelLaw law(0.01);
  EXPECT_NEAR(law.correlation(128 * law.log_v(1.0), 128, 128), 1.0, 1e-9);
  const double half = law.correlation(128 * law.log_v(0.99), 128, 128);
  EXPECT_GT(half, 0.0);
  EXPECT_LT(half, 1e-100);
}

TEST(GaussianKernelLaw, LargeBandwidthTendsToTheMeanSquaredCosine) {
  const GaussianKernelLaw law(1e3);
  EXPECT_NEAR(law.correlation(law.log_v(0.5) + law.log_v(0.2), 2, 2), 0.35, 1e-5);
}

// log V(1) of bandwidths far from one, to 40 digits by another program.
TEST(GaussianKernelLaw, FarFromOneTheLogarithmsHold) {
  EXPECT_NEAR(GaussianKernelLaw(1e-9).log_v(1.0), 40.897225529558767, 1e-13);
  EXPECT_NEAR(GaussianKernelLaw(1e-3).log_v(1.0) / GaussianKernelLaw(1e-3 * (1 - 1e-12)).log_v(1.0), 1.0,
              1e-9);
  EXPECT_NEAR(GaussianKernelLaw(1e5).log_v(1.0) / 1.5e-20, 1.0, 1e-9);
  EXPECT_EQ(GaussianKernelLaw(1e150).log_v(1.0), 0.0);
}

TEST(GaussianKernelLaw, RefusesBadBandwidths) {
  for (const double bad : {0.0, -1.0, std::numeric_limits<double>::infinity()})
    EXPECT_THROW(GaussianKernelLaw{bad}, ArgumentError) << bad;
}

}  // namespace
}  // namespace headspan
