#include "experiments/measure.h"

#include <gtest/gtest.h>

#include <cmath>

#include "headspan/numeric/error.h"
#include "headspan/numeric/random.h"

namespace headspan::experiments {
namespace {

/// Errors sqrt(rho) common + sqrt(1 - rho) own of 5 agents at 4 points.
ErrorSums correlated(double rho, Index n_replicates, double share_reached, double bias) {
  ErrorSums errors(n_replicates, 4);
  RandomStream random(11, 0);
  for (Index r = 0; r < n_replicates; ++r)
    for (Index p = 0; p < 4; ++p) {
      const double common = random.normal();
      for (int agent = 0; agent < 5; ++agent) {
        const double error = 2.0 * (std::sqrt(rho) * common + std::sqrt(1.0 - rho) * random.normal()) + bias;
        if (random.uniform() < share_reached) errors.add(r, p, error);
      }
    }
  return errors;
}

TEST(MeasuredLaw, FindsTheCorrelationOfCorrelatedErrors) {
  for (const double rho : {0.0, 0.3, 0.8})
    for (const double reached : {1.0, 0.5}) {
      const LawRow row = measured_law(correlated(rho, 2000, reached, 7.0));
      EXPECT_NEAR(row.rho.value, rho, 4.0 * *row.rho.standard_error) << rho << ' ' << reached;
      EXPECT_NEAR(row.v.value, 4.0, 4.0 * *row.v.standard_error);
      EXPECT_LT(*row.rho.standard_error, 0.03);
      EXPECT_NEAR(row.law.value, row.ensemble_variance.value, 0.03 * row.law.value);
    }
}

TEST(MeasuredLaw, HoldsToRoundingWhereEveryAgentIsEverywhere) {
  const LawRow row = measured_law(correlated(0.4, 10, 1.0, 3.0));
  EXPECT_NEAR(row.law.value, row.ensemble_variance.value, 1e-13);
  EXPECT_DOUBLE_EQ(row.inverse_members, 0.2);
  const double rho = row.rho.value, v = row.v.value;
  EXPECT_NEAR(row.law.value, rho * v + (1.0 - rho) * v / 5.0, 1e-13);
}

TEST(MeasuredLaw, StandardErrorsAreThoseOfRepeatedMeasuring) {
  // Jackknife errors of 60 replicates beside the spread of 200 such measurements.
  Vector rho(200), claimed(200);
  RandomStream random(3, 0);
  for (Index i = 0; i < 200; ++i) {
    ErrorSums errors(60, 3);
    for (Index r = 0; r < 60; ++r)
      for (Index p = 0; p < 3; ++p) {
        const double common = random.normal();
        for (int agent = 0; agent < 4; ++agent) errors.add(r, p, common + random.normal());
      }
    const LawRow row = measured_law(errors);
    rho[i] = row.rho.value;
    claimed[i] = *row.rho.standard_error;
  }
  const double spread = std::sqrt((rho.array() - rho.mean()).square().sum() / 199.0);
  EXPECT_NEAR(claimed.mean() / spread, 1.0, 0.2);
  EXPECT_NEAR(rho.mean(), 0.5, 4.0 * spread / std::sqrt(200.0));
}

TEST(MeasuredLaw, RefusesWhatCannotBeMeasured) {
  EXPECT_THROW(measured_law(ErrorSums(2, 1)), ArgumentError);
  EXPECT_THROW(measured_law(ErrorSums(5, 3)), ArgumentError);
}

TEST(FallingFit, PoolsWhatRises) {
  const auto point = [](double dial, double rho) {
    return DialPoint{dial, {rho, ensemble::Origin::estimated, 0.1}};
  };
  // The dial counts, not the order.
  const std::vector<DialPoint> points = {point(3, -0.1), point(1, 0.4), point(2, 0.6), point(0, 0.9)};
  const std::vector<Part> fit = falling_fit(points);
  const double mean[] = {-0.1, 0.5, 0.5, 0.9}, error[] = {0.1, std::sqrt(0.005), std::sqrt(0.005), 0.1};
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_DOUBLE_EQ(fit[i].value, mean[i]);
    EXPECT_DOUBLE_EQ(*fit[i].standard_error, error[i]);
  }
  LawRow row;
  row.v.value = 2.0;
  row.inverse_members = 0.25;
  std::vector<LawRow> rows(4, row);
  predict_from(points, {&rows[0], &rows[1], &rows[2], &rows[3]});
  EXPECT_DOUBLE_EQ(rows[1].law_predicted, 2.0 * (0.5 + 0.5 * 0.25));
  EXPECT_DOUBLE_EQ(*rows[1].law_predicted_error, 2.0 * 0.75 * std::sqrt(0.005));
  EXPECT_DOUBLE_EQ(rows[0].rho_predicted, -0.1);
}

TEST(Trend, IsDecidedByThreeStandardErrors) {
  const auto part = [](double value) { return Part{value, ensemble::Origin::estimated, 0.01}; };
  EXPECT_EQ(trend_between(part(0.5), part(0.4)).direction, -1);
  EXPECT_EQ(trend_between(part(0.4), part(0.5)).direction, 1);
  EXPECT_EQ(trend_between(part(0.4), part(0.42)).direction, 0);
}

}  // namespace
}  // namespace headspan::experiments
