#include "headspan/plan/scaling.h"

#include <gtest/gtest.h>

#include <cmath>

#include "headspan/numeric/error.h"
#include "plan/published_law.h"

namespace headspan::plan {
namespace {

double dimension(const LawOptions& options, double budget) {
  return closed_form(ErrorLaw(options), budget).value().pair.head_dim;
}

TEST(Lambert, SolvesItsEquationFromUnderflowToOverflow) {
  for (const double log_x : {-300.0, -1.0, 0.0, 1.0, 30.0, 499.999, 500.001, 1400.0, 1e6}) {
    const double w = lambert_w_of_exp(log_x);
    EXPECT_NEAR(w + std::log(w), log_x, 1e-13 * std::max(1.0, std::abs(log_x))) << log_x;
  }
  EXPECT_NEAR(lambert_w_of_exp(0.0), 0.56714329040978387, 1e-15);
  EXPECT_THROW(lambert_w_of_exp(std::nan("")), ArgumentError);
}

TEST(ClosedForm, PublishedValues) {
  EXPECT_NEAR(dimension(published(1e5), 512), 17.82, 5e-3);
  EXPECT_NEAR(closed_form(ErrorLaw(published(1e5)), 512)->pair.n_heads, 28.7, 5e-2);
  EXPECT_NEAR(dimension(published(1e3), 64), 10.45, 5e-3);
  EXPECT_NEAR(dimension(published(1e10), 4096), 33.22, 5e-3);
}

TEST(ClosedForm, IsStationary) {
  for (const double b : {0.05, 1.0, 30.0, 300.0})
    for (const double n : {1e3, 1e10, 1e300}) {
      LawOptions options = published(n);
      const double growth = log_growth(b);
      options.growth = FixedGrowth{growth};
      const double k = dimension(options, 1e9);
      const double level = std::log(0.5) + std::log(n) + std::log(1e9);
      EXPECT_NEAR((0.5 + growth) * k + std::log1p(growth * k), level, 1e-11 * level) << b << " " << n;
    }
}

TEST(ClosedForm, PolynomialAndCorrelatedFormsSolveTheirOwnEquations) {
  LawOptions options = published(1e12);
  const double growth = log_growth(1.0), n = 1e12, budget = 1e6;
  options.bias = PolynomialBias{2.0, 1.5};
  double k = dimension(options, budget);
  EXPECT_NEAR(3.5 * std::log(k) + growth * k, std::log(2.0 * 1.5 * n * budget / growth), 1e-10);
  options.correlation = CommonCorrelation{0.1};
  k = dimension(options, budget);
  EXPECT_NEAR(2.5 * std::log(k) + growth * k, std::log(2.0 * 1.5 * n / (0.1 * growth)), 1e-10);
  EXPECT_DOUBLE_EQ(k, dimension(options, 1e9));  // the budget drops out
  options.bias = ExponentialBias{1.0, 0.5};
  EXPECT_NEAR(dimension(options, budget), std::log(0.5 * n / (growth * 0.1)) / (0.5 + growth), 1e-12);
}

TEST(ClosedForm, FrameBoundCountsNoMoreThanTheInputs) {
  LawOptions options = published(1e5);
  options.correlation = FrameBound{512};
  EXPECT_DOUBLE_EQ(dimension(options, 4096), dimension(published(1e5), 512));
}

TEST(ClosedForm, StaysWithinTheBudget) {
  EXPECT_DOUBLE_EQ(dimension(published(1e300), 64), 64.0);
  LawOptions options = published(3);
  options.noise = 1e6;
  EXPECT_DOUBLE_EQ(dimension(options, 64), 1.0);
}

TEST(ContinuousOptimum, NoPlaceOfAFineGridIsBetter) {
  for (const Correlation& correlation :
       {Correlation(OrthogonalHeads{}), Correlation(FrameBound{100}), Correlation(CommonCorrelation{0.05})}) {
    LawOptions options = published(1e6);
    options.correlation = correlation;
    const ErrorLaw law(options);
    const ContinuousPair found = continuous_optimum(law, 512);
    const double least = law.excess(found.head_dim, found.n_heads);
    for (double k = 1.0; k <= 512.0; k *= 1.002) EXPECT_LE(least, law.excess(k, 512 / k) * (1 + 1e-12)) << k;
  }
}

TEST(ContinuousOptimum, MeetsTheClosedForms) {
  EXPECT_NEAR(continuous_optimum(ErrorLaw(published(1e10)), 4096).head_dim, 33.22, 5e-3);
  EXPECT_NEAR(continuous_optimum(ErrorLaw(published(1e300)), 1e6).head_dim, dimension(published(1e300), 1e6),
              1e-3);
  LawOptions options = published(1e12);
  options.correlation = CommonCorrelation{0.1};
  EXPECT_NEAR(continuous_optimum(ErrorLaw(options), 1e9).head_dim, dimension(options, 1e9), 1e-3);
}

TEST(Scaling, PublishedSlopesAndTheirLimits) {
  const Scaling found = scaling(ErrorLaw(published(1e5)), 512);
  EXPECT_EQ(found.regime.name, "exponential_fixed");
  EXPECT_NEAR(*found.head_dim_on_log_n.value, 1.130, 5e-4);
  EXPECT_NEAR(*found.log_n_heads_on_log_budget.value, 0.946, 5e-4);
  EXPECT_NEAR(*found.head_dim_on_log_n.limit, 1.181, 5e-4);
  EXPECT_EQ(found.log_n_heads_on_log_budget.limit, 1.0);
  EXPECT_GT(found.head_dim_on_log_n.n_beyond_range, 0);
  EXPECT_LT(found.head_dim_on_log_n.n_beyond_range, found.head_dim_on_log_n.n_points);
}

TEST(Scaling, WhatABudgetHoldsFastHasNoSlope) {
  const Scaling found = scaling(ErrorLaw(published(1e5)), 7);
  EXPECT_FALSE(found.head_dim_on_log_n.value);
  EXPECT_EQ(found.head_dim_on_log_n.n_at_edge, found.head_dim_on_log_n.n_points);
  EXPECT_EQ(found.head_dim_on_log_n.edges, std::vector<Edge>{Edge::budget});
  EXPECT_EQ(found.optimum_edge, Edge::budget);
  const Scaling wide = scaling(ErrorLaw(published(1e5)), 512, {}, 8.0);
  EXPECT_NEAR(wide.optimum.head_dim, 8.0, 1e-12);
  EXPECT_EQ(wide.closed_form->pair.head_dim, 8.0);
  EXPECT_EQ(wide.optimum_edge, Edge::width);
}

TEST(Scaling, OfAMeasuredCurveIsThatOfItsInside) {
  // Bias 2^-k at 1, 2, 4, 8: for few points the best lies inside, for many at the end of the curve.
  LawOptions options = published(100);
  Vector at(4), value(4);
  at << 1, 2, 4, 8;
  value << 0.5, 0.25, 0.0625, 0.00390625;
  options.bias = MeasuredCurve{at, value, {}};
  const Scaling found = scaling(ErrorLaw(options), 64);
  EXPECT_EQ(found.regime.name, "measured");
  EXPECT_FALSE(found.head_dim_on_log_n.limit);
  EXPECT_GT(found.head_dim_on_log_n.n_at_edge, 30);
  EXPECT_EQ(found.head_dim_on_log_n.edges, std::vector<Edge>{Edge::measured});
  // A correlation that falls beside an exponential bias: no law either, as for one that rises.
  options.bias = ExponentialBias{1.0, 0.5};
  value << 0.5, 0.3, 0.1, 0.02;
  options.correlation = MeasuredCurve{at, value, {}};
  EXPECT_EQ(regime(ErrorLaw(options), 64).name, "measured");
}

TEST(FitSlope, LeavesOutWhatIsHeldFastAndWhatIsRounding) {
  const auto at = [](double from, double to, double noise) {
    return fit_slope(1.0, std::exp(10.0), 11, [=](double n) {
      const double x = std::log(n);
      const bool inside = x > from - 0.5 && x < to + 0.5;
      return SlopePoint{x, inside ? 2.0 * x + noise : 7.0, inside ? Edge::none : Edge::budget};
    });
  };
  EXPECT_NEAR(*at(0, 10, 0.0).value, 2.0, 1e-12);
  EXPECT_NEAR(*at(0, 5, 0.0).value, 2.0, 1e-12);
  EXPECT_EQ(at(0, 5, 0.0).n_at_edge, 5);
  EXPECT_NEAR(*at(4, 5, 0.0).value, 2.0, 1e-12);
  EXPECT_FALSE(at(5, 5, 0.0).value) << "ten of eleven are at the edge";
  double sign = 1.0;
  const Slope rounding = fit_slope(1.0, 1e6, 11, [&](double n) {
    sign = -sign;
    return SlopePoint{std::log(n), 4.0 + 1e-8 * sign * std::log(n)};
  });
  EXPECT_EQ(rounding.value, 0.0);
}

// Least-squares slopes of optima that scipy.optimize.minimize_scalar finds. The closed forms are limits
// there, and theirs are 1.181 and .9976, 2.098 and .9242, 1.984 and .9495.
TEST(Scaling, SlopesAreThoseOfTheOptimumWhereTheClosedFormIsALimit) {
  const auto expect = [](const LawOptions& options, double on_log_n, double on_log_budget) {
    const Scaling found = scaling(ErrorLaw(options), 512);
    EXPECT_NEAR(*found.head_dim_on_log_n.value, on_log_n, 1e-4);
    EXPECT_NEAR(*found.log_n_heads_on_log_budget.value, on_log_budget, 1e-4);
  };
  LawOptions options = published(1e5);
  options.correlation = CommonCorrelation{0.1};
  expect(options, 1.1645, 0.9949);
  options = published(1e5);
  options.bias = PolynomialBias{1.0, 2.0};
  expect(options, 2.1073, 0.9231);
  options = published(1e5);
  options.growth = FixedGrowth{log_growth(5.0)};
  expect(options, 1.9122, 0.9556);
}

TEST(Scaling, OfOneHeadManyTimesTheBudgetIsNoPartOfTheLaw) {
  LawOptions options = published(1e5);
  options.correlation = CommonCorrelation{1.0};
  const Scaling found = scaling(ErrorLaw(options), 8);
  EXPECT_EQ(found.regime.name, "exponential_fixed_correlated");
  EXPECT_EQ(found.closed_form->pair.head_dim, 8.0);  // 14.0 without the budget
}

TEST(Scaling, RegimesChangeTheLaw) {
  LawOptions options = published(1e5);
  const auto found = [&] { return scaling(ErrorLaw(options), 512); };
  options.correlation = CommonCorrelation{0.2};
  EXPECT_EQ(found().regime.name, "exponential_fixed_correlated");
  EXPECT_NEAR(*found().log_n_heads_on_log_budget.value, 1.0, 5e-3);
  options.correlation = OrthogonalHeads{};
  options.bias = PolynomialBias{1.0, 1.0};
  EXPECT_EQ(found().regime.name, "polynomial_fixed");
  EXPECT_NEAR(*found().head_dim_on_log_n.limit, 1 / log_growth(1.0), 1e-12);
  options.bias = FiniteBias{1.0, 12.0};
  EXPECT_EQ(found().regime.name, "intrinsic_dimension");
  EXPECT_LE(found().optimum.head_dim, 12.0 + 1e-6);
  options.bias = ExponentialBias{0.0, 0.5};
  EXPECT_EQ(found().regime.name, "no_bias");
  EXPECT_DOUBLE_EQ(found().optimum.head_dim, 1.0);
  EXPECT_FALSE(found().closed_form);
}

TEST(Scaling, OptimalBandwidthGrowsAsTheRootOfTheLogarithm) {
  // exponential bias: k ~ sqrt(2 log n / g), so that four times the logarithm doubles the dimension.
  LawOptions options = published(1e60);
  options.growth = BestBandwidth{1.0};
  const double few = continuous_optimum(ErrorLaw(options), 1e6).head_dim;
  options.n = 1e240;
  const double many = continuous_optimum(ErrorLaw(options), 1e6).head_dim;
  EXPECT_NEAR(many / few, 2.0, 0.15);
  EXPECT_EQ(regime(ErrorLaw(options), 512).name, "exponential_optimal");
}

TEST(Scaling, RefusesWhatCannotBe) {
  const ErrorLaw law(published(1e5));
  EXPECT_THROW(closed_form(law, 0.5), ArgumentError);
  EXPECT_THROW(continuous_optimum(law, std::nan("")), ArgumentError);
  EXPECT_THROW(scaling(law, 512, {.n_from = 2.0}), ArgumentError);
  EXPECT_THROW(scaling(law, 512, {.budget_from = 10.0, .budget_to = 10.0}), ArgumentError);
}

// Hardly correlated heads follow the law of orthogonal ones: the form for correlated ones is no limit of it.
TEST(ClosedForm, OfCorrelatedHeadsOnlyWhereTheyShareMostOfTheVariance) {
  for (const double rho : {1e-9, 1e-3, 0.01}) {
    LawOptions options = published(1e5);
    options.correlation = CommonCorrelation{rho};
    const Scaling found = scaling(ErrorLaw(options), 512, {});
    EXPECT_FALSE(found.closed_form) << rho;
    EXPECT_EQ(found.regime.name, "exponential_fixed") << rho;
    EXPECT_NEAR(found.optimum.head_dim, 17.8, 0.3) << rho;
    EXPECT_NEAR(*found.head_dim_on_log_n.value, 1.13, 0.02) << rho;
  }
  LawOptions options = published(1e5);
  options.correlation = CommonCorrelation{0.3};
  EXPECT_TRUE(closed_form(ErrorLaw(options), 512));
  EXPECT_EQ(regime(ErrorLaw(options), 512).name, "exponential_fixed_correlated");
}

}  // namespace
}  // namespace headspan::plan
