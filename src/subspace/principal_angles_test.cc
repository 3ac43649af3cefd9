#include "headspan/subspace/principal_angles.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "headspan/numeric/decompose.h"
#include "headspan/numeric/error.h"
#include "headspan/numeric/random.h"

namespace headspan::subspace {
namespace {

/// Two frames in R^d with the given angles, turned by a random rotation.
std::pair<Matrix, Matrix> frames_at(const Vector& angles, Index d, std::uint64_t seed) {
  const Index k = angles.size();
  Matrix u = Matrix::Zero(k, d), v = Matrix::Zero(k, d);
  for (Index j = 0; j < k; ++j) {
    u(j, j) = 1.0;
    v(j, j) = std::cos(angles(j));
    v(j, k + j) = std::sin(angles(j));
  }
  const Matrix rotation = thin_lq(RandomStream(seed, 0).normal_matrix(d, d)).q;
  return {u * rotation, v * rotation};
}

TEST(PrincipalAngles, RecoversPlantedAnglesLargestFirst) {
  Vector angles(6);
  angles << 0.0, 1e-5, 0.3, std::numbers::pi / 4, 1.2, std::numbers::pi / 2;
  const auto [u, v] = frames_at(angles, 20, 1);
  const Vector found = principal_angles(u, v);
  for (Index j = 0; j < 6; ++j) {
    EXPECT_NEAR(found(5 - j), angles(j), 3e-15) << j;
  }
  EXPECT_NEAR(found(4) / 1e-5, 1.0, 1e-10);
}

TEST(PrincipalAngles, CoordinateSubspacesAreExact) {
  Matrix u = Matrix::Zero(2, 5), v = Matrix::Zero(2, 5);
  u(0, 0) = u(1, 1) = 1.0;
  v(0, 0) = 1.0;
  v(1, 1) = std::cos(1e-12);
  v(1, 2) = std::sin(1e-12);
  const Vector found = principal_angles(u, v);
  EXPECT_NEAR(found(0), 1e-12, 1e-24);
  EXPECT_EQ(found(1), 0.0);
}

TEST(PrincipalAngles, UnequalDimensionsGiveTheSmallerNumber) {
  // A line at 60 degrees to a plane.
  Matrix plane = Matrix::Zero(2, 3), line(1, 3);
  plane(0, 0) = plane(1, 1) = 1.0;
  line << 0.5, 0.0, std::sqrt(3.0) / 2;
  for (const Vector& found : {principal_angles(plane, line), principal_angles(line, plane)}) {
    ASSERT_EQ(found.size(), 1);
    EXPECT_NEAR(found(0), std::numbers::pi / 3, 1e-15);
  }
}

TEST(PrincipalAngles, ForcedZerosWhereDimensionsDoNotFit) {
  RandomStream random(9, 0);
  const Matrix u = thin_lq(random.normal_matrix(5, 7)).q, v = thin_lq(random.normal_matrix(4, 7)).q;
  const Vector found = principal_angles(u, v);
  EXPECT_EQ((found.array() < 1e-14).count(), 2);  // 5 + 4 - 7
}

TEST(PrincipalAngles, RefusesDifferentSpaces) {
  EXPECT_THROW(principal_angles(Matrix::Identity(2, 4), Matrix::Identity(2, 5)), ArgumentError);
}

}  // namespace
}  // namespace headspan::subspace
