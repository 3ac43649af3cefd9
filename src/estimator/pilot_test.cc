#include "headspan/estimator/pilot.h"

#include <gtest/gtest.h>

#include <cmath>

#include "headspan/ensemble/decomposition.h"
#include "headspan/numeric/error.h"
#include "headspan/numeric/parallel.h"
#include "headspan/numeric/random.h"

namespace headspan::estimator {
namespace {

struct Data {
  Matrix x;
  Vector y;
};

Data sine(Index n, Index d) {
  RandomStream random(11, 0);
  Data out{random.normal_matrix(n, d), Vector(n)};
  for (Index i = 0; i < n; ++i) out.y[i] = std::sin(out.x(i, 0)) + 0.5 * out.x(i, 1) + 0.3 * random.normal();
  return out;
}

PilotOptions few() {
  return {.n_heads = 4, .n_dimensions = 12, .most_rows = 1500, .n_bootstrap = 20, .seed = 3};
}

/// Weights of every head at every point without the point itself, from the definition.
std::vector<Matrix> left_out_weights(const Matrix& x, const Matrix& frames, Index head_dim,
                                     double bandwidth) {
  Matrix scaled = x.rowwise() - x.colwise().mean();
  for (Index j = 0; j < x.cols(); ++j)
    scaled.col(j) /= std::sqrt(scaled.col(j).squaredNorm() / static_cast<double>(x.rows()));
  std::vector<Matrix> out;
  for (Index row = 0; row < frames.rows(); row += head_dim) {
    const Matrix z = scaled * frames.middleRows(row, head_dim).transpose();
    Matrix w(x.rows(), x.rows());
    for (Index i = 0; i < x.rows(); ++i)
      for (Index j = 0; j < x.rows(); ++j)
        w(i, j) = i == j ? 0.0 : std::exp(-(z.row(i) - z.row(j)).squaredNorm() / (2 * bandwidth * bandwidth));
    for (Index i = 0; i < x.rows(); ++i) w.row(i) /= w.row(i).sum();
    out.push_back(std::move(w));
  }
  return out;
}

TEST(ProjectionBlocks, AreOrthonormalAndOrthogonalWithinABasis) {
  const Matrix frames = projection_blocks(5, 2, 5, 7);  // two heads to a basis
  ASSERT_EQ(frames.rows(), 10);
  const Matrix gram = frames * frames.transpose();
  for (Index h = 0; h < 5; ++h)
    EXPECT_LT((gram.block(2 * h, 2 * h, 2, 2) - Matrix::Identity(2, 2)).cwiseAbs().maxCoeff(), 1e-13);
  EXPECT_LT(gram.block(0, 2, 2, 2).cwiseAbs().maxCoeff(), 1e-13);
  EXPECT_GT(gram.block(0, 4, 2, 2).cwiseAbs().maxCoeff(), 1e-3);
  EXPECT_THROW(projection_blocks(1, 6, 5, 0), ArgumentError);
}

TEST(RunPilot, MomentsAreThoseOfTheDefinition) {
  const Data data = sine(40, 3);
  const Pilot pilot = run_pilot(data.x, data.y, {.budget = 6}, few());
  ASSERT_EQ(pilot.dimensions.size(), 3u);
  const PilotDimension& two = pilot.dimensions[1];
  ASSERT_EQ(two.n_heads, 4);
  const PilotCell& cell = two.cells[4];
  const auto weights = left_out_weights(data.x, projection_blocks(4, 2, 3, 3 + 2), 2, cell.bandwidth);
  for (const Index i : {Index{0}, Index{17}, Index{39}}) {
    double own = 0, shared = 0, variance = 0, covariance = 0;
    for (std::size_t h = 0; h < 4; ++h)
      for (std::size_t l = 0; l < 4; ++l) {
        const double r =
            (data.y[i] - weights[h].row(i).dot(data.y)) * (data.y[i] - weights[l].row(i).dot(data.y));
        const double c = weights[h].row(i).dot(weights[l].row(i));
        (h == l ? own : shared) += r / (h == l ? 4 : 12);
        (h == l ? variance : covariance) += c / (h == l ? 4 : 12);
      }
    EXPECT_NEAR(cell.own[i], own, 1e-10);
    EXPECT_NEAR(cell.shared[i], shared, 1e-10);
    EXPECT_NEAR(cell.variance[i], variance, 1e-10);
    EXPECT_NEAR(cell.covariance[i], covariance, 1e-10);
  }
}

TEST(PlanFrom, AgreesWithTheDecompositionOfTheSameHeads) {
  const Data data = sine(60, 4);
  const Pilot pilot = run_pilot(data.x, data.y, {.budget = 8}, few());
  const PilotPlan plan = plan_from(pilot, {.budget = 8}, 60, few());
  ASSERT_EQ(plan.allocation.curve[1].pair, (plan::Pair{2, 4}));  // as many heads as were drawn
  const PilotEstimate& estimate = plan.estimates[1];
  const auto weights = left_out_weights(data.x, projection_blocks(4, 2, 4, 3 + 2), 2, estimate.bandwidth);
  ensemble::HeadMoments moments;
  moments.noise = {pilot.noise, ensemble::Origin::estimated, {}};
  moments.residual.resize(60, 4);
  moments.left_out_covariance.resize(60, 16);
  for (Index i = 0; i < 60; ++i)
    for (Index h = 0; h < 4; ++h) {
      const auto& own = weights[static_cast<std::size_t>(h)];
      moments.residual(i, h) = data.y[i] - own.row(i).dot(data.y);
      for (Index l = 0; l < 4; ++l)
        moments.left_out_covariance(i, 4 * h + l) =
            own.row(i).dot(weights[static_cast<std::size_t>(l)].row(i));
    }
  moments.covariance = moments.left_out_covariance;
  const ensemble::Decomposition expected = ensemble::decompose(moments);
  const plan::PairError& error = plan.allocation.curve[1].error;
  EXPECT_NEAR(error.squared_bias, expected.squared_bias->value, 1e-10);
  EXPECT_NEAR(error.variance, expected.variance.value + expected.covariance.value, 1e-10);
  EXPECT_NEAR(error.mse, expected.mse->value, 1e-10);
}

TEST(PlanFrom, BandwidthsAreTheBestOfThoseMeasured) {
  const Data data = sine(60, 4);
  const Pilot pilot = run_pilot(data.x, data.y, {.budget = 8}, few());
  const PilotPlan plan = plan_from(pilot, {.budget = 8}, 60, few());
  for (std::size_t i = 0; i < pilot.dimensions.size(); ++i) {
    const double n_heads = static_cast<double>(plan.allocation.curve[i].pair.n_heads);
    for (const PilotCell& cell : pilot.dimensions[i].cells) {
      const double shared = cell.shared.mean(), loo = shared + (cell.own.mean() - shared) / n_heads;
      EXPECT_LE(plan.allocation.curve[i].error.mse, loo - pilot.noise + 1e-10);
    }
  }
}

TEST(PlanFrom, MorePointsShrinkTheVarianceAlone) {
  const Data data = sine(80, 3);
  const Pilot pilot = run_pilot(data.x, data.y, {.budget = 3}, few());
  const PilotPlan now = plan_from(pilot, {.budget = 3}, 80, few());
  const PilotPlan later = plan_from(pilot, {.budget = 3}, 8e5, few());
  const PilotPlan much_later = plan_from(pilot, {.budget = 3}, 8e7, few());
  for (std::size_t i = 0; i < now.estimates.size(); ++i) {
    EXPECT_LE(later.bandwidth[i], now.bandwidth[i]);
    EXPECT_LT(later.allocation.curve[i].error.variance, now.allocation.curve[i].error.variance);
    if (later.bandwidth[i] == much_later.bandwidth[i]) {
      const double ratio =
          later.allocation.curve[i].error.variance / much_later.allocation.curve[i].error.variance;
      EXPECT_NEAR(ratio, 100.0, 1.0);
      EXPECT_NEAR(later.estimates[i].own_bias.value, much_later.estimates[i].own_bias.value, 1e-12);
    }
  }
}

TEST(CheckGrid, MeasuresThePairsItself) {
  const Data data = sine(50, 3);
  const PilotPlan plan = plan_from(run_pilot(data.x, data.y, {.budget = 4}, few()), {.budget = 4}, 50, few());
  const GridCheck check = check_grid(data.x, data.y, plan, 2, 99);
  ASSERT_EQ(check.pairs.size(), 3u);
  EXPECT_GE(check.regret, 0.0);
  EXPECT_EQ(check.planned, plan.allocation.best);
  for (const MeasuredPair& pair : check.pairs) EXPECT_GE(pair.loo, check.pairs[check.best].loo);
  // A head that sees all inputs is the same whatever the rotation: one draw says all.
  const MeasuredPair& widest = check.pairs[2];
  EXPECT_NEAR(widest.standard_error, 0.0, 1e-12);
  const auto weights = left_out_weights(data.x, Matrix::Identity(3, 3), 3, widest.bandwidth);
  EXPECT_NEAR(widest.loo, (data.y - weights[0] * data.y).squaredNorm() / 50, 1e-10);
}

TEST(RunPilot, SameBitsForAnyNumberOfThreads) {
  const Data data = sine(60, 3);
  const auto plan = [&](int threads) {
    const ThreadLimit limit(threads);
    return plan_from(run_pilot(data.x, data.y, {.budget = 6}, few()), {.budget = 6}, 60, few());
  };
  const PilotPlan one = plan(1), two = plan(2);
  EXPECT_EQ(one.difference_error, two.difference_error);
  for (std::size_t i = 0; i < one.allocation.curve.size(); ++i)
    EXPECT_EQ(one.allocation.curve[i].error.mse, two.allocation.curve[i].error.mse);
}

TEST(RunPilot, DrawsRowsOfALargeTableAndLeavesConstantsOut) {
  Data data = sine(90, 3);
  data.x.conservativeResize(90, 4);
  data.x.col(3).setConstant(2.0);
  PilotOptions options = few();
  options.most_rows = 40;
  const Pilot pilot = run_pilot(data.x, data.y, {.budget = 9}, options);
  EXPECT_EQ(pilot.n, 90);
  EXPECT_EQ(pilot.n_used, 40);
  EXPECT_EQ(pilot.d, 3);
  EXPECT_EQ(pilot.constant_inputs, (std::vector<Index>{3}));
  EXPECT_EQ(pilot.dimensions.back().head_dim, 3);
}

TEST(RunPilot, RefusesWhatCannotBe) {
  const Data data = sine(20, 2);
  const auto refused = [&](const Matrix& x, const Vector& y, const PilotOptions& options) {
    EXPECT_THROW(run_pilot(x, y, {.budget = 4}, options), ArgumentError);
  };
  refused(data.x, data.y.head(19), few());
  refused(data.x.topRows(7), data.y.head(7), few());
  refused(data.x, Vector::Constant(20, 1.0), few());
  refused(Matrix::Constant(20, 2, 1.0), data.y, few());
  Vector missing = data.y;
  missing[3] = std::nan("");
  refused(data.x, missing, few());
  PilotOptions none = few();
  none.n_heads = 0;
  refused(data.x, data.y, none);
  EXPECT_THROW(run_pilot(data.x, data.y, {.budget = 4, .multiple_of = 8}, few()), ArgumentError);
  const Pilot pilot = run_pilot(data.x, data.y, {.budget = 4}, few());
  EXPECT_THROW(plan_from(pilot, {.budget = 4}, 2, few()), ArgumentError);
  EXPECT_THROW(check_grid(data.x, data.y, plan_from(pilot, {.budget = 4}, 20, few()), 0, 0), ArgumentError);
}

}  // namespace
}  // namespace headspan::estimator
