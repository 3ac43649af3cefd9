#include "headspan/estimator/pilot.h"

#include <gtest/gtest.h>

#include <algorithm>
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
  return {
      .n_heads = 4, .n_weighted = 12, .n_dimensions = 12, .most_rows = 1500, .n_bootstrap = 20, .seed = 3};
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
  const Matrix apart = projection_blocks(3, 1, 5, 7, 1);  // a basis each
  EXPECT_GT(std::abs(apart.row(0).dot(apart.row(1))), 1e-3);
  EXPECT_THROW(projection_blocks(1, 6, 5, 0), ArgumentError);
  EXPECT_THROW(projection_blocks(1, 2, 5, 0, 3), ArgumentError);
}

// Means over heads and over pairs of heads of one basis and of different ones, of a number for every two.
struct Means {
  double own = 0, within = 0, across = 0;
};

template <class Product>
Means means_over(Index n_heads, Index per_basis, const Product& product) {
  Means sum, count;
  for (Index h = 0; h < n_heads; ++h)
    for (Index l = 0; l < n_heads; ++l) {
      double Means::*const kind = h == l                           ? &Means::own
                                  : h / per_basis == l / per_basis ? &Means::within
                                                                   : &Means::across;
      sum.*kind += product(static_cast<std::size_t>(h), static_cast<std::size_t>(l));
      count.*kind += 1;
    }
  return {sum.own / count.own, sum.within / count.within, sum.across / count.across};
}

TEST(RunPilot, ProductsAreThoseOfTheDefinition) {
  const Data data = sine(40, 3);
  const Pilot pilot = run_pilot(data.x, data.y, {.budget = 6}, few());
  ASSERT_EQ(pilot.dimensions.size(), 3u);
  for (const Index head_dim : {1, 2}) {
    const PilotDimension& dimension = pilot.dimensions[static_cast<std::size_t>(head_dim - 1)];
    ASSERT_EQ(dimension.n_heads, 4);
    ASSERT_EQ(dimension.per_basis, head_dim == 1 ? 2 : 1);
    const PilotCell& cell = dimension.cells[4];
    const auto seed = static_cast<std::uint64_t>(3 + head_dim);
    const auto weights = left_out_weights(
        data.x, projection_blocks(4, head_dim, 3, seed, dimension.per_basis), head_dim, cell.bandwidth);
    for (const Index i : {Index{0}, Index{17}, Index{39}}) {
      const auto residual = [&](std::size_t h) { return data.y[i] - weights[h].row(i).dot(data.y); };
      const Means r = means_over(4, dimension.per_basis,
                                 [&](std::size_t h, std::size_t l) { return residual(h) * residual(l); });
      const Means w = means_over(4, dimension.per_basis, [&](std::size_t h, std::size_t l) {
        return weights[h].row(i).dot(weights[l].row(i));
      });
      EXPECT_NEAR(cell.residual.own[i], r.own, 1e-10);
      EXPECT_NEAR(cell.residual.across[i], r.across, 1e-10);
      EXPECT_NEAR(cell.weight.own[i], w.own, 1e-10);
      EXPECT_NEAR(cell.weight.across[i], w.across, 1e-10);
      // Two heads of two dimensions do not fit one basis of three: then all pairs are of one kind.
      EXPECT_NEAR(cell.residual.within[i], head_dim == 1 ? r.within : r.across, 1e-10);
      EXPECT_NEAR(cell.weight.within[i], head_dim == 1 ? w.within : w.across, 1e-10);
    }
  }
}

TEST(RunPilot, WeightsOfSomeHeadsAndResidualsOfAll) {
  const Data data = sine(30, 3);
  PilotOptions options = few();
  options.n_heads = 6;
  const Pilot all = run_pilot(data.x, data.y, {.budget = 6}, options);
  options.n_weighted = 4;
  const Pilot some = run_pilot(data.x, data.y, {.budget = 6}, options);
  options.n_heads = 4;
  const Pilot four = run_pilot(data.x, data.y, {.budget = 6}, options);
  const auto cell = [](const Pilot& pilot) { return pilot.dimensions[0].cells[3]; };
  EXPECT_LT((cell(some).residual.across - cell(all).residual.across).cwiseAbs().maxCoeff(), 1e-12);
  EXPECT_EQ(cell(some).weight.across, cell(four).weight.across);
  EXPECT_GT((cell(some).weight.across - cell(all).weight.across).cwiseAbs().maxCoeff(), 1e-6);
}

TEST(PlanFrom, TheErrorOfProjectionsIsTheirSpreadOverSeeds) {
  const Data data = sine(25, 3);
  PilotOptions options{
      .n_heads = 16, .n_weighted = 2, .n_dimensions = 3, .most_rows = 40, .n_bootstrap = 1, .seed = 0};
  constexpr int kSeeds = 25;
  Vector difference(kSeeds), squared_error(kSeeds);
  for (int i = 0; i < kSeeds; ++i) {
    options.seed = static_cast<std::uint64_t>(1000 * i);
    const PilotPlan plan =
        plan_from(run_pilot(data.x, data.y, {.budget = 3}, options), {.budget = 3}, 25, options);
    ASSERT_EQ(plan.allocation.best, 2u);  // one head that sees all: without an error of its own
    difference[i] = plan.allocation.curve[0].error.mse - plan.allocation.curve[2].error.mse;
    squared_error[i] = plan.difference_error[0] * plan.difference_error[0];
  }
  const double spread = (difference.array() - difference.mean()).square().sum() / (kSeeds - 1.0);
  EXPECT_NEAR(std::sqrt(squared_error.mean() / spread), 1.0, 0.35);
}

TEST(RunPilot, OfPureNoiseFindsItsVariance) {
  double sum = 0.0, least = 0.0;
  constexpr int kDraws = 30;
  for (std::uint64_t seed = 0; seed < kDraws; ++seed) {
    RandomStream random(seed, 5);
    const Matrix x = random.normal_matrix(60, 3);
    const Vector y = random.normal_matrix(60, 1).col(0);
    const Pilot pilot = run_pilot(x, y, {.budget = 3}, few());
    sum += pilot.noise / kDraws;
    least += std::min(pilot.residual_noise.value, pilot.neighbour_noise.value) / kDraws;
  }
  // The standard error of the mean is .034; the smaller of the two estimates has .92 on average.
  EXPECT_NEAR(sum, 1.0, 0.07);
  EXPECT_LT(least, sum);
}

TEST(RunPilot, RestsItsNoiseOnHeadsThatLeaveDegreesOfFreedom) {
  RandomStream random(7, 5);
  const Matrix x = random.normal_matrix(40, 30);  // so many inputs that narrow heads see the row itself alone
  const Vector y = random.normal_matrix(40, 1).col(0);
  const Pilot pilot = run_pilot(x, y, {.budget = 30}, few());
  EXPECT_LT(*pilot.residual_noise.standard_error, pilot.y_variance);
  EXPECT_NEAR(pilot.residual_noise.value, pilot.y_variance, pilot.y_variance);
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
    const plan::Pair& pair = plan.allocation.curve[i].pair;
    const Index per_basis = 4 / pair.head_dim;
    for (const PilotCell& cell : pilot.dimensions[i].cells) {
      // The mean product of two of the pair's heads, themselves included: its leave-one-out error.
      double loo = 0.0;
      for (Index h = 0; h < pair.n_heads; ++h)
        for (Index l = 0; l < pair.n_heads; ++l)
          loo += (h == l                           ? cell.residual.own
                  : h / per_basis == l / per_basis ? cell.residual.within
                                                   : cell.residual.across)
                     .mean() /
                 static_cast<double>(pair.n_heads * pair.n_heads);
      EXPECT_LE(plan.allocation.curve[i].error.mse, loo - pilot.noise + 1e-10);
      if (cell.bandwidth == plan.estimates[i].bandwidth) {
        EXPECT_NEAR(plan.allocation.curve[i].error.mse, loo - pilot.noise, 1e-10);
      }
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
  const GridCheck check = check_grid(data.x, data.y, plan, {2, 99});
  ASSERT_EQ(check.pairs.size(), 3u);
  EXPECT_GE(check.regret, 0.0);
  EXPECT_EQ(check.planned, plan.allocation.best);
  for (const MeasuredPair& pair : check.pairs) EXPECT_GE(pair.loo, check.pairs[check.best].loo);
  // A head that sees all inputs is the same whatever the rotation: one draw says all.
  const MeasuredPair& widest = check.pairs[2];
  EXPECT_EQ(widest.standard_error, 0.0);
  EXPECT_EQ(widest.n_draws, 1);
  const auto weights = left_out_weights(data.x, Matrix::Identity(3, 3), 3, widest.bandwidth);
  EXPECT_NEAR(widest.loo, (data.y - weights[0] * data.y).squaredNorm() / 50, 1e-10);
}

TEST(CheckGrid, OnlyWhatCouldBeTheBestIsDrawnMoreOften) {
  const Data data = sine(80, 4);
  PilotPlan plan = plan_from(run_pilot(data.x, data.y, {.budget = 4}, few()), {.budget = 4}, 80, few());
  plan.allocation.best = 1;
  std::size_t told = 0;
  const GridCheck check = check_grid(data.x, data.y, plan, {12, 99}, [&](std::size_t done, std::size_t most) {
    EXPECT_EQ(done, ++told);
    EXPECT_EQ(most, 48u);
  });
  const MeasuredPair &one = check.pairs[0], &planned = check.pairs[1], &best = check.pairs[check.best];
  ASSERT_GT(one.loo - best.loo, 5.0 * std::hypot(*one.standard_error, *best.standard_error));
  EXPECT_EQ(one.n_draws, 3);
  EXPECT_EQ(planned.n_draws, 12);
  const double slope = planned.loo / (best.loo * best.loo);
  EXPECT_NEAR(*check.regret_error,
              std::hypot(*planned.standard_error / best.loo, slope * *best.standard_error), 1e-12);
  EXPECT_EQ(check.within_noise, check.regret <= 2.0 * *check.regret_error);
}

TEST(CheckGrid, OneDrawHasNoError) {
  const Data data = sine(50, 3);
  PilotPlan plan = plan_from(run_pilot(data.x, data.y, {.budget = 4}, few()), {.budget = 4}, 50, few());
  plan.allocation.best = 0;
  const GridCheck check = check_grid(data.x, data.y, plan, {1, 99});
  EXPECT_FALSE(check.pairs[0].standard_error);
  ASSERT_NE(check.best, 0u);
  EXPECT_FALSE(check.regret_error);
  EXPECT_TRUE(check.within_noise);
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

TEST(RunPilot, TheUnitsOfInputsDoNotMatter) {
  const Data data = sine(30, 2);
  const auto mse = [&](double unit) {
    Matrix x = data.x;
    x.col(0) *= unit;
    const PilotPlan plan = plan_from(run_pilot(x, data.y, {.budget = 2}, few()), {.budget = 2}, 30, few());
    return plan.allocation.curve[0].error.mse;
  };
  for (const double unit : {1e-300, 1e-200, 1e300}) EXPECT_NEAR(mse(unit), mse(1.0), 1e-12) << unit;
  for (const double unit : {1e299, 1e-200})
    EXPECT_THROW(run_pilot(data.x, unit * data.y, {.budget = 2}, few()), ArgumentError) << unit;
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
  none = few();
  none.n_weighted = 0;
  refused(data.x, data.y, none);
  EXPECT_THROW(run_pilot(data.x, data.y, {.budget = 4, .multiple_of = 8}, few()), ArgumentError);
  const Pilot pilot = run_pilot(data.x, data.y, {.budget = 4}, few());
  EXPECT_THROW(plan_from(pilot, {.budget = 4}, 2, few()), ArgumentError);
  EXPECT_THROW(check_grid(data.x, data.y, plan_from(pilot, {.budget = 4}, 20, few()), {0, 0}), ArgumentError);
}

}  // namespace
}  // namespace headspan::estimator
