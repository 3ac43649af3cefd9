#include "headspan/experiments/heads.h"

#include <gtest/gtest.h>

#include <cmath>

#include "headspan/numeric/error.h"
#include "headspan/numeric/parallel.h"

namespace headspan::experiments {
namespace {

void expect_within(const Part& measured, double expected, double errors, double slack, const char* what) {
  EXPECT_NEAR(measured.value, expected, errors * *measured.standard_error + slack * std::abs(expected))
      << what;
}

TEST(Angles, CorrelationIsTheClosedFormAtThesePoints) {
  AngleOptions options;
  options.degrees = {0, 30, 60, 90};
  options.n_replicates = 200;
  options.n_points = 60;
  options.n = 2000;
  const AngleFacts facts = simulate_angles(options);
  ASSERT_EQ(facts.rows.size(), 4u);
  for (const AngleRow& row : facts.rows) {
    // The closed forms are limits: at 2000 keys they are off by some percent.
    expect_within(row.law.rho, row.law.rho_predicted, 4.0, 0.02, "rho");
    EXPECT_NEAR(row.centred_rho.value, row.centred_rho_predicted,
                4.0 * *row.centred_rho.standard_error + 0.02);
    EXPECT_NEAR(row.law.law.value, row.law.ensemble_variance.value, 1e-12);
    EXPECT_NEAR(row.law.law_predicted, row.law.ensemble_variance.value,
                4.0 * *row.law.ensemble_variance.standard_error + 0.02 * row.law.law_predicted);
  }
  EXPECT_NEAR(facts.rows[0].law.rho.value, 1.0, 1e-12);
  EXPECT_NEAR(facts.rows[3].centred_rho_predicted, 0.0, 1e-12);
  EXPECT_EQ(facts.trend.direction, -1);
}

TEST(Angles, SoftmaxHeadsFollowTheirOwnClosedForm) {
  AngleOptions options;
  options.kernel = nw::KernelFunction::softmax;
  options.bandwidth = 2.0;
  options.degrees = {0, 45, 90};
  options.n_replicates = 200;
  options.n_points = 60;
  const AngleFacts facts = simulate_angles(options);
  for (const AngleRow& row : facts.rows) {
    expect_within(row.law.rho, row.law.rho_predicted, 4.0, 0.02, "rho");
    EXPECT_NEAR(row.centred_rho.value, row.centred_rho_predicted,
                4.0 * *row.centred_rho.standard_error + 0.02);
  }
  // E exp(u^2 / 16) = (1 - 1/8)^(-1/2) per dimension.
  EXPECT_NEAR(facts.rows[2].rho_limit, 7.0 / 8.0, 1e-12);
  EXPECT_EQ(facts.rows[2].centred_rho_limit, 0.0);
  options.bandwidth = 1.1;
  options.n_replicates = 3;
  EXPECT_TRUE(std::isnan(simulate_angles(options).rows[0].rho_limit));
}

// However wide or narrow the kernel, a head is as correlated with its own copy as can be.
TEST(Angles, PredictionsKeepTheirDigits) {
  for (const auto kernel : {nw::KernelFunction::gaussian, nw::KernelFunction::softmax})
    for (const double bandwidth : {0.1, 500.0, 1e4, 1e6}) {
      AngleOptions options;
      options.kernel = kernel;
      options.bandwidth = bandwidth;
      options.degrees = {0, 60};
      options.n = 50, options.n_points = 40, options.n_replicates = 3;
      const AngleFacts facts = simulate_angles(options);
      EXPECT_NEAR(facts.rows[0].law.rho_predicted, 1.0, 1e-9) << bandwidth;
      EXPECT_NEAR(facts.rows[0].centred_rho_predicted, 1.0, 1e-9) << bandwidth;
      EXPECT_GE(facts.rows[1].centred_rho_predicted, -1.0) << bandwidth;
      EXPECT_LE(facts.rows[1].centred_rho_predicted, 1.0) << bandwidth;
    }
}

TEST(Angles, LimitsAreThePublishedOnes) {
  AngleOptions options;
  options.degrees = {30, 60};
  options.n_replicates = 3;
  options.n_points = 20000;
  options.n = 2;
  const AngleFacts facts = simulate_angles(options);
  EXPECT_NEAR(facts.rows[0].centred_rho_limit, 0.6306, 5e-5);
  EXPECT_NEAR(facts.rows[1].centred_rho_limit, 0.1584, 5e-5);
  // The closed form at a point, averaged over many of them, is the limit.
  EXPECT_NEAR(facts.rows[0].centred_rho_predicted, 0.6306, 0.02);
  EXPECT_NEAR(facts.rows[1].centred_rho_predicted, 0.1584, 0.01);
  EXPECT_NEAR(facts.rows[1].law.rho_predicted, facts.rows[1].rho_limit, 0.02);
}

TEST(Latents, BiasVarianceAndCorrelationFollowTheClosedForms) {
  LatentOptions options;
  options.head_dims = {1, 2, 4};
  options.budget = 8;
  options.n = 1500;
  options.n_points = 60;
  options.n_replicates = 20;
  const LatentFacts facts = simulate_latents(options);
  for (const LatentRow& row : facts.rows) {
    EXPECT_TRUE(row.in_range);
    expect_within(row.squared_bias, row.squared_bias_predicted, 4.0, 0.01, "bias");
    expect_within(row.law.ensemble_variance, row.variance_predicted, 4.0, 0.05, "variance");
    expect_within(row.law.rho, row.law.rho_predicted, 4.0, 0.05, "rho");
    EXPECT_NEAR(row.law.law.value, row.law.ensemble_variance.value, 1e-12);
    EXPECT_GT(row.design_variance.value, 0.0);
  }
  EXPECT_EQ(facts.rows[1].n_heads, 4);
}

TEST(Latents, TheBestHeadDimensionIsThePredictedOneOrItsNeighbour) {
  LatentOptions options;
  options.budget = 32;
  options.n = 600;
  options.n_replicates = 15;
  options.n_points = 20;
  const LatentFacts facts = simulate_latents(options);
  const auto best = static_cast<std::ptrdiff_t>(facts.best);
  const auto predicted = static_cast<std::ptrdiff_t>(facts.best_predicted);
  EXPECT_LE(std::abs(best - predicted), 1)
      << facts.rows[facts.best].law.dial << ' ' << facts.rows[facts.best_predicted].law.dial;
  EXPECT_FALSE(facts.rows.front().mse_predicted < facts.rows[facts.best_predicted].mse_predicted);
}

TEST(Additive, TheMeanFailsAndTheSumWorks) {
  AdditiveOptions options;
  options.n_replicates = 60;
  const AdditiveFacts facts = simulate_additive(options);
  expect_within(facts.mean.squared_bias, facts.mean.squared_bias_predicted, 4.0, 0.02, "mean");
  // (1 - 1/H)^2 Var m, Var m = H (1 - e^-8) / 2, over 100 points.
  EXPECT_NEAR(facts.mean.squared_bias.value, 9.0 / 16.0 * 2.0, 0.25);
  EXPECT_LT(facts.sum.mse.value, 0.1 * facts.mean.mse.value);
  EXPECT_NEAR(facts.sum.variance.value / facts.head_variance.value, 4.0, 1.0);
}

TEST(Heads, KeepTheSeedOnAnyNumberOfThreads) {
  AngleOptions options;
  options.degrees = {45};
  options.n_replicates = 10;
  options.n_points = 5;
  options.n = 50;
  LatentOptions latents;
  latents.budget = 8;
  latents.n = 50;
  latents.head_dims = {1, 4};
  latents.n_replicates = 9;
  const ThreadLimit one(1);
  const double alone = simulate_angles(options).rows[0].law.v.value;
  const double alone_latents = simulate_latents(latents).rows[1].mse.value;
  const ThreadLimit many(4);
  EXPECT_EQ(simulate_angles(options).rows[0].law.v.value, alone);
  EXPECT_EQ(simulate_latents(latents).rows[1].mse.value, alone_latents);
  options.seed = 1;
  EXPECT_NE(simulate_angles(options).rows[0].law.v.value, alone);
}

template <class Options, class Simulate, class Value, class Member>
void expect_refused(Simulate simulate, Member member, Value value) {
  Options options;
  options.*member = value;
  EXPECT_THROW(simulate(options, {}), ArgumentError);
}

TEST(Heads, RefuseWhatHasNoMeaning) {
  using A = AngleOptions;
  using L = LatentOptions;
  using D = AdditiveOptions;
  expect_refused<A>(simulate_angles, &A::degrees, std::vector<double>{91.0});
  expect_refused<A>(simulate_angles, &A::degrees, std::vector<double>{});
  expect_refused<A>(simulate_angles, &A::n_heads, Index{1});
  expect_refused<A>(simulate_angles, &A::kernel, nw::KernelFunction::laplace);
  expect_refused<A>(simulate_angles, &A::bandwidth, 0.0);
  expect_refused<A>(simulate_angles, &A::n_replicates, Index{2});
  expect_refused<L>(simulate_latents, &L::head_dims, std::vector<Index>{65});
  expect_refused<L>(simulate_latents, &L::rate, -1.0);
  expect_refused<D>(simulate_additive, &D::noise_variance, -1.0);
  expect_refused<D>(simulate_additive, &D::n_heads, Index{1});
}

}  // namespace
}  // namespace headspan::experiments
