#include "headspan/nw/bandwidth.h"

#include <gtest/gtest.h>

#include <cmath>

#include "headspan/numeric/error.h"
#include "headspan/numeric/parallel.h"
#include "headspan/numeric/random.h"
#include "nw/test_table.h"

namespace headspan::nw {
namespace {

/// The smoother matrix from the definition.
Matrix smoother_matrix(MatrixView x, const Kernel& kernel, VectorView bandwidth) {
  Matrix w(x.rows(), x.rows());
  for (Index i = 0; i < x.rows(); ++i) {
    for (Index j = 0; j < x.rows(); ++j)
      w(i, j) = log_weight(kernel, x.row(i).transpose(), x.row(j).transpose(), bandwidth);
    w.row(i) = (w.row(i).array() - w.row(i).maxCoeff()).exp().matrix();
    w.row(i) /= w.row(i).sum();
  }
  return w;
}

void expect_scores_of_matrix(const SmootherScores& have, const Matrix& w, VectorView y) {
  const Index n = y.size();
  const Vector fit = w * y;
  double loo = 0.0;
  Index isolated = 0;
  for (Index i = 0; i < n; ++i) {
    EXPECT_NEAR(have.fit[i], fit[i], 1e-11);
    EXPECT_NEAR(have.self_weight[i], w(i, i), 1e-12);
    EXPECT_NEAR(have.n_eff[i] * w.row(i).squaredNorm(), 1.0, 1e-11);
    if (w(i, i) == 1.0) {
      ++isolated;
      EXPECT_TRUE(std::isnan(have.loo_residual[i]));
      continue;
    }
    const double others = (w.row(i).dot(y) - w(i, i) * y[i]) / (1.0 - w(i, i));
    EXPECT_NEAR(have.loo_residual[i], y[i] - others, 1e-9 / (1.0 - w(i, i)));
    loo += have.loo_residual[i] * have.loo_residual[i];
  }
  EXPECT_EQ(have.n_isolated, isolated);
  EXPECT_NEAR(have.trace, w.trace(), 1e-10);
  EXPECT_NEAR(have.trace_wwt, w.squaredNorm(), 1e-10);
  EXPECT_NEAR(have.sigma2, (y - fit).squaredNorm() / static_cast<double>(n), 1e-11);
  EXPECT_NEAR(*have.loo, loo / static_cast<double>(n - isolated), 1e-11);
}

TEST(SmootherScores, EveryKernelAgreesWithTheMatrix) {
  RandomStream random(3, 0);
  const Matrix x = random.normal_matrix(61, 3);
  const Vector y = random.normal_matrix(61, 1).col(0);
  for (const KernelFunction function : kKernelFunctions)
    for (const KernelShape shape : {KernelShape::radial, KernelShape::product}) {
      SCOPED_TRACE(to_string(function));
      const Vector h = Vector{{1.3, 1.7, 2.1}};
      const SmootherScores scores = smoother_scores(x, y, {function, shape}, h);
      expect_scores_of_matrix(scores, smoother_matrix(x, {function, shape}, h), y);
    }
}

TEST(SmootherScores, FaithfulAsPublished) {
  const std::optional<Matrix> table = shared_table("faithful.csv");
  if (!table) GTEST_SKIP() << "no ../shared/data/faithful.csv";
  const SmootherScores scores = smoother_scores(table->leftCols(1), table->col(1), {}, Vector{{0.25}});
  int n_checked = 0;
  for (Index i = 0; i < table->rows(); ++i)
    for (const auto& [at, fit] : {std::pair{2.0, 53.91403349}, {3.0, 65.43419505}, {4.0, 79.13604283}})
      if ((*table)(i, 0) == at) {
        EXPECT_NEAR(scores.fit[i], fit, 5e-9);
        ++n_checked;
      }
  EXPECT_GT(n_checked, 2);
  EXPECT_NEAR(scores.trace, 5.1821524, 1e-6);
  EXPECT_NEAR(scores.trace_wwt, 3.6770358, 1e-6);
}

TEST(SmootherScores, CriteriaAreTheirFormulas) {
  RandomStream random(4, 0);
  const Matrix x = random.normal_matrix(40, 1);
  const Vector y = random.normal_matrix(40, 1).col(0);
  const SmootherScores s = smoother_scores(x, y, {}, Vector{{0.4}});
  EXPECT_NEAR(*s.gcv, s.sigma2 / std::pow(1.0 - s.trace / 40.0, 2), 1e-14);
  EXPECT_NEAR(*s.aicc, std::log(s.sigma2) + (1.0 + s.trace / 40.0) / (1.0 - (s.trace + 2.0) / 40.0), 1e-14);
}

TEST(SmootherScores, IsolatedPointsOfSmoothKernelsTakeTheirNearestNeighbour) {
  const Matrix x = (Matrix(4, 1) << 0.0, 1.0, 1e6, 1e6 + 2.0).finished();
  const Vector y = Vector{{1.0, 2.0, 5.0, 9.0}};
  for (const KernelFunction function : {KernelFunction::gaussian, KernelFunction::laplace}) {
    const SmootherScores s = smoother_scores(x, y, {function}, Vector{{1e-4}});
    EXPECT_EQ(s.n_isolated, 0);
    EXPECT_NEAR(s.loo_residual[0], -1.0, 1e-12);
    EXPECT_NEAR(s.loo_residual[3], 4.0, 1e-12);
    EXPECT_EQ(s.fit[2], 5.0);
    EXPECT_EQ(s.n_eff[2], 1.0);
    EXPECT_FALSE(s.aicc.has_value());
  }
}

TEST(SmootherScores, LargeCoordinatesKeepTheirDifferences) {
  // exp(-(distance / h)^2 / 2) of the stored values, at 50 digits.
  const Matrix near = (Matrix(2, 1) << 0.7125930, 0.7123166).finished();
  const Vector y = Vector{{0.0, 1.0}};
  const double u = (0.7125930 - 0.7123166) / 1e-4;
  EXPECT_NEAR(smoother_scores(near, y, {}, Vector{{1e-4}}).fit[0],
              std::exp(-u * u / 2) / (1 + std::exp(-u * u / 2)), 1e-15);
  const Matrix far = (Matrix(2, 1) << 1e12, 1e12 + 100.0).finished();
  EXPECT_NEAR(smoother_scores(far, y, {}, Vector{{50.0}}).fit[0], std::exp(-2.0) / (1 + std::exp(-2.0)),
              1e-15);
}

TEST(SmootherScores, CompactKernelsCountWhomNobodyReaches) {
  const Matrix x = (Matrix(3, 1) << 0.0, 0.5, 10.0).finished();
  const SmootherScores s =
      smoother_scores(x, Vector{{1.0, 3.0, 7.0}}, {KernelFunction::epanechnikov}, Vector{{1.0}});
  EXPECT_EQ(s.n_isolated, 1);
  EXPECT_TRUE(std::isnan(s.loo_residual[2]));
  EXPECT_EQ(s.fit[2], 7.0);
  EXPECT_DOUBLE_EQ(*s.loo, 4.0);
}

TEST(SmootherScores, DegenerateData) {
  const SmootherScores one = smoother_scores(Matrix::Zero(1, 2), Vector{{4.0}}, {}, Vector{{1.0}});
  EXPECT_FALSE(one.loo || one.gcv || one.aicc);
  EXPECT_EQ(one.fit[0], 4.0);
  EXPECT_EQ(one.n_isolated, 1);
  const SmootherScores same = smoother_scores(Matrix::Zero(4, 1), Vector{{1, 2, 3, 6}}, {}, Vector{{0.1}});
  EXPECT_DOUBLE_EQ(same.fit[0], 3.0);
  EXPECT_DOUBLE_EQ(same.trace, 1.0);
  const Matrix x = (Matrix(3, 2) << 0, 5, 1, 6, 2, -9).finished();
  const Vector ignored{{1.0, std::numeric_limits<double>::infinity()}}, y{{1, 2, 4}};
  EXPECT_DOUBLE_EQ(smoother_scores(x, y, {}, ignored).fit[0],
                   smoother_scores(x.leftCols(1), y, {}, Vector{{1.0}}).fit[0]);
}

TEST(SmootherScores, RefusesBadInput) {
  const Matrix x = Matrix::Random(3, 2);
  const Vector y = Vector::Ones(3), h = Vector::Ones(1);
  EXPECT_THROW(smoother_scores(Matrix(0, 2), Vector(0), {}, h), ArgumentError);
  EXPECT_THROW(smoother_scores(x, Vector::Ones(2), {}, h), ArgumentError);
  EXPECT_THROW(smoother_scores(x, y, {}, Vector::Ones(3)), ArgumentError);
  EXPECT_THROW(smoother_scores(x, y, {}, Vector{{0.0}}), ArgumentError);
  EXPECT_THROW(smoother_scores(x, y, {}, Vector{{std::nan("")}}), ArgumentError);
  EXPECT_THROW(smoother_scores(x, Vector{{1, std::nan(""), 2}}, {}, h), ArgumentError);
}

TEST(SmootherScores, SameBitsForAnyNumberOfThreads) {
  RandomStream random(5, 0);
  const Matrix x = random.normal_matrix(700, 2);
  const Vector y = random.normal_matrix(700, 1).col(0);
  const SmootherScores all = smoother_scores(x, y, {}, Vector{{0.3}});
  const ThreadLimit limit(1);
  const SmootherScores one = smoother_scores(x, y, {}, Vector{{0.3}});
  EXPECT_EQ(all.fit, one.fit);
  EXPECT_EQ(*all.loo, *one.loo);
}

TEST(SmootherScores, RefusesDistancesWhoseSquaresLeaveDouble) {
  const Matrix x = 1e155 * Matrix{{0.0}, {1.0}, {2.0}};
  const Vector y{{1.0, 2.0, 4.0}};
  EXPECT_THROW(smoother_scores(x, y, {}, Vector{{1.0}}), ArgumentError);
  EXPECT_THROW(smoother_scores(x, y, {KernelFunction::softmax}, Vector{{1.0}}), ArgumentError);
  EXPECT_EQ(smoother_scores(x, y, {KernelFunction::epanechnikov}, Vector{{1.0}}).n_isolated, 3);
  EXPECT_NEAR(*smoother_scores(x, y, {}, Vector{{1e155}}).loo,
              *smoother_scores(1e-155 * x, y, {}, Vector{{1.0}}).loo, 1e-12);
}

}  // namespace
}  // namespace headspan::nw
