#include "headspan/plan/profile.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "headspan/numeric/error.h"
#include "plan/published_law.h"

namespace headspan::plan {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

MeasuredCurve curve(std::initializer_list<double> at, std::initializer_list<double> values,
                    std::initializer_list<double> errors = {}) {
  const auto vector = [](std::initializer_list<double> list) {
    return Vector(Eigen::Map<const Vector>(list.begin(), static_cast<Index>(list.size())));
  };
  return {vector(at), vector(values), vector(errors)};
}

TEST(ErrorLaw, GrowthIsTheVarianceOfOneDimension) {
  for (const double b : {0.3, 1.0, 2.0}) {
    const double v = std::pow(1 + b * b, 1.5) / (b * b * std::sqrt(3 + b * b));
    EXPECT_NEAR(log_growth(b), std::log(v), 1e-13);
  }
  EXPECT_NEAR(log_growth(1.0), 0.34657, 5e-6);
}

TEST(ErrorLaw, FollowsItsFormula) {
  LawOptions options = published(1e5);
  options.correlation = CommonCorrelation{0.2};
  options.noise = 0.7;
  const PairError error = ErrorLaw(options).at(6, 10);
  const double growth = std::pow(std::sqrt(2.0), 6);  // V(1) = sqrt 2 at bandwidth 1
  EXPECT_NEAR(error.squared_bias, std::exp(-3.0), 1e-15);
  EXPECT_NEAR(error.variance, 0.7 / 1e5 * (1 + (growth - 1) * (0.1 + 0.9 * 0.2)), 1e-18);
  EXPECT_DOUBLE_EQ(error.mse, error.squared_bias + error.variance);
  EXPECT_DOUBLE_EQ(error.rho, 0.2);
  EXPECT_FALSE(error.standard_error || error.bandwidth);
}

TEST(ErrorLaw, VarianceIsCappedAndOutOfRangeSaysSo) {
  // A thousand points, bandwidth 1/2, ten dimensions, one head: no average of the noise varies more than the
  // noise.
  LawOptions options = published(1e5);
  options.growth = FixedGrowth{log_growth(0.5)};
  options.n = 1000;
  const ErrorLaw law(options);
  const PairError error = law.at(10, 1);
  const double growth = std::pow(1.25, 1.5) / (0.25 * std::sqrt(3.25));
  EXPECT_NEAR(law.excess(10, 1) - error.squared_bias, (std::pow(growth, 10) - 1) / 1000, 1e-10);
  EXPECT_TRUE(error.capped);
  EXPECT_TRUE(error.beyond_range);
  EXPECT_DOUBLE_EQ(error.variance, 1.0);
  // growth^k passes sqrt(1000) at k = log(31.6) / log_growth = 3.6.
  EXPECT_FALSE(law.at(3, 1).beyond_range);
  EXPECT_TRUE(law.at(4, 1).beyond_range);
}

TEST(ErrorLaw, BiasProfiles) {
  LawOptions options = published(1e5);
  options.bias = PolynomialBias{2.0, 1.5};
  EXPECT_NEAR(ErrorLaw(options).at(4, 1).squared_bias, 0.25, 1e-15);
  options.bias = FiniteBias{3.0, 6.0};
  EXPECT_NEAR(ErrorLaw(options).at(4, 1).squared_bias, 1.0, 1e-15);
  EXPECT_EQ(ErrorLaw(options).at(9, 1).squared_bias, 0.0);
  options.bias = curve({1, 3, 7}, {1.0, 0.5, 0.1}, {0.1, 0.2, 0.4});
  const ErrorLaw measured(options);
  EXPECT_NEAR(measured.at(5, 1).squared_bias, 0.3, 1e-15);
  EXPECT_NEAR(*measured.at(5, 1).standard_error, 0.3, 1e-15);
  EXPECT_TRUE(measured.covers(7));
  EXPECT_FALSE(measured.covers(7.5));
  EXPECT_THROW(measured.at(8, 1), ArgumentError);
}

TEST(ErrorLaw, FrameBoundIsTheLeastMeanOverlap) {
  LawOptions options = published(1e5);
  options.correlation = FrameBound{64};
  const ErrorLaw law(options);
  EXPECT_EQ(law.at(8, 8).rho, 0.0);
  EXPECT_NEAR(law.at(8, 16).rho, (16.0 * 8 / 64 - 1) / 15, 1e-15);
  EXPECT_EQ(law.at(64, 1).rho, 0.0);
  // Beyond d the variance no longer falls with the number of heads.
  EXPECT_NEAR(law.at(8, 16).variance, law.at(8, 80).variance, 1e-18);
}

TEST(ErrorLaw, TheBestBandwidthIsBestAmongMany) {
  LawOptions options = published(1e5);
  options.growth = BestBandwidth{1.0};
  options.n = 500;
  const PairError best = ErrorLaw(options).at(3, 4);
  ASSERT_TRUE(best.bandwidth);
  const double bias = std::exp(-1.5);
  const auto error = [&](double b) {
    const double v = std::pow(1 + b * b, 1.5) / (b * b * std::sqrt(3 + b * b));
    const double shrunk = std::pow(b * b / (1 + b * b), 2) * (1 - bias);
    return bias + shrunk + (1 + (std::pow(v, 3) - 1) / 4) / 500;
  };
  EXPECT_NEAR(best.mse, error(*best.bandwidth), 1e-12);
  for (double b = 0.05; b < 20.0; b *= 1.01) EXPECT_LE(best.mse, error(b) + 1e-15) << b;
}

TEST(ErrorLaw, HugeNumbersOfPointsDoNotOverflow) {
  LawOptions options = published(1e5);
  options.n = 1e300;
  const PairError error = ErrorLaw(options).at(1000, 1);
  EXPECT_NEAR(std::log(error.variance), 1000 * std::log(2.0) / 2 - 300 * std::log(10.0), 1e-9);
  EXPECT_EQ(ErrorLaw(published(1e5)).at(1e6, 1).variance, 1.0);
}

TEST(ErrorLaw, RefusesWhatCannotBe) {
  const auto refused = [](auto change) {
    LawOptions options = published(1e5);
    change(options);
    EXPECT_THROW(ErrorLaw{options}, ArgumentError);
  };
  for (const double noise : {0.0, -1.0, kInf, std::nan("")}) refused([&](LawOptions& o) { o.noise = noise; });
  for (const double n : {2.0, 0.0, kInf, std::nan("")}) refused([&](LawOptions& o) { o.n = n; });
  refused([](LawOptions& o) { o.bias = ExponentialBias{-1.0, 0.5}; });
  refused([](LawOptions& o) { o.bias = ExponentialBias{1.0, 0.0}; });
  refused([](LawOptions& o) { o.bias = PolynomialBias{1.0, -1.0}; });
  refused([](LawOptions& o) { o.bias = FiniteBias{1.0, 0.5}; });
  refused([](LawOptions& o) { o.bias = curve({}, {}); });
  refused([](LawOptions& o) { o.bias = curve({1, 1}, {0.5, 0.4}); });
  refused([](LawOptions& o) { o.bias = curve({0, 1}, {0.5, 0.4}); });
  refused([](LawOptions& o) { o.bias = curve({1, 2}, {0.5}); });
  refused([](LawOptions& o) { o.bias = curve({1, 2}, {0.5, 0.4}, {0.1, -0.1}); });
  refused([](LawOptions& o) { o.bias = curve({1, 2}, {0.5, kInf}); });
  refused([](LawOptions& o) { o.correlation = CommonCorrelation{1.1}; });
  refused([](LawOptions& o) { o.correlation = FrameBound{0.0}; });
  refused([](LawOptions& o) { o.correlation = curve({1, 2}, {0.5, 1.5}); });
  refused([](LawOptions& o) { o.growth = FixedGrowth{-0.1}; });
  refused([](LawOptions& o) { o.growth = BestBandwidth{kInf}; });
  EXPECT_THROW(ErrorLaw(published(1e5)).at(0.5, 1), ArgumentError);
  EXPECT_THROW(ErrorLaw(published(1e5)).at(2, 0), ArgumentError);
  EXPECT_THROW(log_growth(0.0), ArgumentError);
}

}  // namespace
}  // namespace headspan::plan
