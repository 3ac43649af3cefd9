#include "headspan/subspace/basis.h"

#include <gtest/gtest.h>

#include <cmath>

#include "headspan/numeric/error.h"
#include "headspan/numeric/random.h"

namespace headspan::subspace {
namespace {

TEST(OrthonormalBasis, SpansTheRows) {
  const Matrix head = RandomStream(1, 0).normal_matrix(6, 40);
  const Basis basis = orthonormal_basis(head, 0x1p-24);
  ASSERT_EQ(basis.rank(), 6);
  EXPECT_LT((basis.frame * basis.frame.transpose() - Matrix::Identity(6, 6)).norm(), 1e-14);
  EXPECT_LT((head - head * basis.frame.transpose() * basis.frame).norm(), 1e-13);
}

TEST(OrthonormalBasis, FindsTheRankBelowStorageNoise) {
  // Rank 3 of 6, plus noise as rounding to each storage type leaves it.
  RandomStream random(2, 0);
  const Matrix exact = random.normal_matrix(6, 3) * random.normal_matrix(3, 50);
  for (const double u : {0x1p-53, 0x1p-24, 0x1p-11, 0x1p-8}) {
    Matrix rounded = exact;
    for (Index i = 0; i < rounded.size(); ++i) {
      double& x = rounded.data()[i];
      const double unit = std::ldexp(2.0 * u, std::ilogb(x));
      x = std::nearbyint(x / unit) * unit;
    }
    const Basis basis = orthonormal_basis(rounded, u);
    EXPECT_EQ(basis.rank(), 3) << u;
    EXPECT_EQ(basis.frame.rows(), 3);
    EXPECT_LT((basis.frame * basis.frame.transpose() - Matrix::Identity(3, 3)).norm(), 1e-13);
  }
}

TEST(OrthonormalBasis, ZeroHeadHasRankZero) {
  const Basis basis = orthonormal_basis(Matrix::Zero(3, 8), 0x1p-8);
  EXPECT_EQ(basis.rank(), 0);
  EXPECT_EQ(basis.frame.cols(), 8);
}

TEST(OrthonormalBasis, MoreRowsThanColumns) {
  EXPECT_EQ(orthonormal_basis(RandomStream(3, 0).normal_matrix(9, 4), 0x1p-24).rank(), 4);
}

TEST(RankTolerance, IsTheStatedFormula) {
  EXPECT_DOUBLE_EQ(rank_tolerance(2.0, 4, 16, 0x1p-8), 2.0 * 0x1p-8 * (2.0 + 4.0) / std::sqrt(3.0 * 4 * 16));
}

TEST(OrthonormalBasis, RefusesNaN) {
  Matrix head = Matrix::Ones(2, 3);
  head(0, 0) = std::nan("");
  EXPECT_THROW(orthonormal_basis(head, 0x1p-24), ArgumentError);
}

}  // namespace
}  // namespace headspan::subspace
