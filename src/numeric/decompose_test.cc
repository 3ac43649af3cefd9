#include "headspan/numeric/decompose.h"

#include <gtest/gtest.h>

#include <Eigen/SVD>
#include <cmath>

#include "headspan/numeric/error.h"
#include "headspan/numeric/random.h"

namespace headspan {
namespace {

Matrix random_matrix(Index rows, Index cols, std::uint64_t seed) {
  return RandomStream(seed, 0).normal_matrix(rows, cols);
}

TEST(SingularValues, AgreeWithJacobi) {
  for (const auto& [m, n] : {std::pair<Index, Index>{1, 1}, {7, 3}, {3, 7}, {40, 40}, {5, 200}}) {
    const Matrix a = random_matrix(m, n, 1);
    const Vector expected = Eigen::JacobiSVD<Eigen::MatrixXd>(a).singularValues();
    EXPECT_LT((singular_values(a) - expected).cwiseAbs().maxCoeff(), 1e-13 * expected(0)) << m << "x" << n;
  }
}

TEST(SingularValues, RefuseNaN) {
  Matrix a = Matrix::Ones(2, 2);
  a(1, 0) = std::nan("");
  EXPECT_THROW(singular_values(a), ArgumentError);
}

TEST(ThinSvd, RebuildsTheMatrix) {
  for (const auto& [m, n] : {std::pair<Index, Index>{6, 4}, {4, 6}, {9, 9}}) {
    const Matrix a = random_matrix(m, n, 2);
    const ThinSvd svd = thin_svd(a);
    EXPECT_LT((svd.u * svd.s.asDiagonal() * svd.vt - a).norm(), 1e-13);
    EXPECT_LT((svd.u.transpose() * svd.u - Matrix::Identity(svd.s.size(), svd.s.size())).norm(), 1e-13);
    EXPECT_LT((svd.vt * svd.vt.transpose() - Matrix::Identity(svd.s.size(), svd.s.size())).norm(), 1e-13);
  }
}

TEST(ThinLq, FactorsWideAndTallMatrices) {
  for (const auto& [m, n] : {std::pair<Index, Index>{5, 30}, {30, 5}, {8, 8}, {1, 3}}) {
    const Matrix a = random_matrix(m, n, 3);
    const ThinLq lq = thin_lq(a);
    EXPECT_LT((lq.l * lq.q - a).norm(), 1e-13 * a.norm());
    EXPECT_LT((lq.q * lq.q.transpose() - Matrix::Identity(lq.q.rows(), lq.q.rows())).norm(), 1e-13);
    EXPECT_EQ(lq.l.triangularView<Eigen::StrictlyUpper>().toDenseMatrix().norm(), 0.0);
  }
}

TEST(SymmetricEigenvalues, OfAKnownMatrix) {
  Matrix a(3, 3);
  a << 2, -1, 0, -1, 2, -1, 0, -1, 2;  // 2 - sqrt 2, 2, 2 + sqrt 2
  const Vector values = symmetric_eigenvalues(a);
  EXPECT_NEAR(values(0), 2.0 - std::sqrt(2.0), 1e-14);
  EXPECT_NEAR(values(1), 2.0, 1e-14);
  EXPECT_NEAR(values(2), 2.0 + std::sqrt(2.0), 1e-14);
}

TEST(Cholesky, FactorsAndRefuses) {
  const Matrix a = random_matrix(6, 9, 4);
  Matrix spd = a * a.transpose();
  const Matrix original = spd;
  ASSERT_TRUE(cholesky_in_place(spd));
  const Matrix lower = spd.triangularView<Eigen::Lower>();
  EXPECT_LT((lower * lower.transpose() - original).norm(), 1e-12);
  Matrix indefinite = -original;
  EXPECT_FALSE(cholesky_in_place(indefinite));
}

TEST(Inverse, OfPositiveDefiniteMatricesAlone) {
  const Matrix a = random_matrix(6, 9, 4);
  Matrix spd = a * a.transpose();
  const Matrix original = spd;
  ASSERT_TRUE(invert_in_place(spd));
  EXPECT_LT((spd * original - Matrix::Identity(6, 6)).norm(), 1e-10);
  EXPECT_EQ(spd, Matrix(spd.transpose()));
  Matrix indefinite = -original;
  EXPECT_FALSE(invert_in_place(indefinite));
}

TEST(Multiply, AgreesWithEigenOnStridedBlocks) {
  const Matrix a = random_matrix(20, 30, 5), b = random_matrix(25, 30, 6);
  const auto left = a.block(3, 4, 10, 21);
  const auto right = b.block(2, 5, 7, 21);
  Matrix out(10, 7);
  multiply_transposed(left, right, out);
  EXPECT_LT((out - left * right.transpose()).norm(), 1e-12);
  Matrix product(10, 30);
  multiply(a.block(0, 0, 10, 20), random_matrix(20, 30, 7), product);
  EXPECT_LT((product - a.block(0, 0, 10, 20) * random_matrix(20, 30, 7)).norm(), 1e-12);
}

}  // namespace
}  // namespace headspan
