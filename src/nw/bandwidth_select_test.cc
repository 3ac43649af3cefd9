#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "headspan/numeric/error.h"
#include "headspan/numeric/random.h"
#include "headspan/nw/bandwidth.h"
#include "nw/test_table.h"

namespace headspan::nw {
namespace {

struct Sample {
  Matrix x;
  Vector y;
};

/// y = sin(2 x_0) + noise; further columns are noise.
Sample wave(Index n, Index d, double noise, std::uint64_t seed) {
  RandomStream random(seed, 0);
  Sample sample{random.normal_matrix(n, d), Vector(n)};
  for (Index i = 0; i < n; ++i) sample.y[i] = std::sin(2.0 * sample.x(i, 0)) + noise * random.normal();
  return sample;
}

TEST(SelectBandwidth, PublishedOneDimension) {
  const std::optional<Matrix> faithful = shared_table("faithful.csv"), mcycle = shared_table("mcycle.csv");
  if (!faithful || !mcycle) GTEST_SKIP() << "no ../shared/data";
  EXPECT_NEAR(select_bandwidth(faithful->leftCols(1), faithful->col(1), {}).bandwidth[0] / 0.2614, 1.0, 1e-3);
  EXPECT_NEAR(select_bandwidth(mcycle->leftCols(1), mcycle->col(1), {}).bandwidth[0] / 0.9138, 1.0, 1e-3);
}

TEST(SelectBandwidth, PublishedTwoDimensions) {
  const std::optional<Matrix> table = shared_table("np_case_n60.csv");
  if (!table) GTEST_SKIP() << "no ../shared/data";
  const BandwidthSelection selection = select_bandwidth(table->rightCols(2), table->col(0), {});
  EXPECT_NEAR(selection.bandwidth[0] / 0.6163835, 1.0, 1e-5);
  EXPECT_NEAR(selection.bandwidth[1] / 0.1649656, 1.0, 1e-5);
  const Vector fit = smoother_scores(table->rightCols(2), table->col(0), {}, selection.bandwidth).fit;
  const Vector published{{31.49157, 37.29536, 43.72332, 40.58997, 36.80711}};
  for (Index i = 0; i < published.size(); ++i) EXPECT_NEAR(fit[i], published[i], 1e-5);
}

TEST(SelectBandwidth, UnitsOfTheDataChangeUnitsOnly) {
  const Sample s = wave(150, 2, 0.3, 1);
  for (const Criterion criterion : {Criterion::loo, Criterion::gcv, Criterion::aicc}) {
    SCOPED_TRACE(to_string(criterion));
    const BandwidthSelection base = select_bandwidth(s.x, s.y, {.kernel = {}, .criterion = criterion});
    const Vector fit = smoother_scores(s.x, s.y, {}, base.bandwidth).fit;
    for (const double unit : {0.01, 100.0}) {
      const BandwidthSelection other =
          select_bandwidth(unit * s.x, 10.0 * s.y, {.kernel = {}, .criterion = criterion});
      for (Index k = 0; k < 2; ++k) {
        if (std::isinf(base.bandwidth[k])) continue;
        EXPECT_NEAR(other.bandwidth[k] / (unit * base.bandwidth[k]), 1.0, 1e-5);
      }
      EXPECT_EQ(other.irrelevant, base.irrelevant);
      const Vector again = smoother_scores(unit * s.x, 10.0 * s.y, {}, other.bandwidth).fit;
      EXPECT_LT((again / 10.0 - fit).cwiseAbs().maxCoeff(), 1e-5);
    }
  }
}

TEST(SelectBandwidth, CriterionIsNoLargerThanAnywhereOnAGrid) {
  const Sample s = wave(120, 2, 0.3, 2);
  for (const KernelFunction function : {KernelFunction::gaussian, KernelFunction::epanechnikov}) {
    const Kernel kernel{function, KernelShape::product};
    const BandwidthSelection found = select_bandwidth(s.x, s.y, {.kernel = kernel});
    for (double a = 0.05; a < 20.0; a *= 1.3)
      for (double b = 0.05; b < 20.0; b *= 1.3) {
        const SmootherScores scores = smoother_scores(s.x, s.y, kernel, Vector{{a, b}});
        if (scores.n_isolated > 0) continue;
        EXPECT_GE(*scores.loo, found.value * (1 - 1e-9)) << a << " " << b;
      }
    if (is_compact(function)) continue;
    EXPECT_NEAR(*smoother_scores(s.x, s.y, kernel, found.bandwidth).loo, found.value, 1e-12);
  }
}

TEST(SelectBandwidth, SameOptimumForAnyNumberOfStarts) {
  const Sample s = wave(150, 3, 0.3, 3);
  const BandwidthSelection one = select_bandwidth(s.x, s.y, {.kernel = {}, .n_starts = 1});
  for (const int n : {5, 10}) {
    const BandwidthSelection more = select_bandwidth(s.x, s.y, {.kernel = {}, .n_starts = n});
    EXPECT_NEAR(more.value / one.value, 1.0, 1e-8);
    for (Index k = 0; k < 3; ++k) {
      if (std::isinf(one.bandwidth[k])) continue;
      EXPECT_NEAR(more.bandwidth[k] / one.bandwidth[k], 1.0, 1e-4);
    }
  }
}

// Small tables with curves of several scales, where criteria have many valleys.
TEST(SelectBandwidth, MoreStartsNeverEndHigher) {
  int n_missed = 0;
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    RandomStream random(100 + seed, 0);
    const Index d = 2 + static_cast<Index>(seed % 2), n = 40 + static_cast<Index>(5 * seed);
    Matrix x = random.normal_matrix(n, d);
    if (seed % 4 > 1) x = (1.5 * x).array().exp();
    Vector y(n);
    for (Index i = 0; i < n; ++i) {
      y[i] = 0.3 * random.normal();
      for (Index k = 0; k < d; ++k) y[i] += std::sin((1.0 + 1.3 * static_cast<double>(k)) * x(i, k));
    }
    double before = std::numeric_limits<double>::infinity(), first = 0.0;
    for (const int starts : {1, 4, 8}) {
      const double value = select_bandwidth(x, y, {.kernel = {}, .n_starts = starts}).value;
      EXPECT_LE(value, before * (1.0 + 1e-8)) << seed << " " << starts;
      if (starts == 1) first = value;
      before = value;
    }
    n_missed += first > before * (1.0 + 1e-6) ? 1 : 0;
  }
  EXPECT_LE(n_missed, 1);
}

// Kernels whose criterion has steps or no slopes known: the search must not follow rounding.
TEST(SelectBandwidth, UnitsDoNotMatterToSearchesByValuesAlone) {
  const Sample s = wave(50, 2, 0.3, 10);
  for (const KernelFunction function : {KernelFunction::uniform, KernelFunction::softmax}) {
    SCOPED_TRACE(to_string(function));
    const BandwidthSelection base = select_bandwidth(s.x, s.y, {.kernel = {function}, .n_starts = 1});
    const BandwidthSelection other = select_bandwidth(0.01 * s.x, s.y, {.kernel = {function}, .n_starts = 1});
    EXPECT_NEAR(other.value / base.value, 1.0, 1e-6);
  }
}

TEST(SelectBandwidth, ColumnsThatDoNotMatterAreCalledIrrelevant) {
  const Sample s = wave(300, 3, 0.3, 4);
  const BandwidthSelection found = select_bandwidth(s.x, s.y, {});
  EXPECT_EQ(found.irrelevant, (std::vector<bool>{false, true, true}));
  EXPECT_LT(found.bandwidth[0], 0.5);
}

TEST(SelectBandwidth, PureNoiseIsAveraged) {
  RandomStream random(5, 0);
  const Matrix x = random.normal_matrix(200, 1);
  const Vector y = Vector::Ones(200);
  const BandwidthSelection constant = select_bandwidth(x, y, {});
  EXPECT_TRUE(std::isinf(constant.bandwidth[0]));
  EXPECT_NEAR(constant.value, 0.0, 1e-28);
  const BandwidthSelection two = select_bandwidth(x.topRows(2), Vector{{1.0, 3.0}}, {});
  EXPECT_TRUE(std::isinf(two.bandwidth[0]));
  EXPECT_DOUBLE_EQ(two.value, 4.0);
}

TEST(SelectBandwidth, DuplicatesDoNotDriveItToZero) {
  // Ten copies of every tenth: the copies alone predict each other best as h -> 0 wherever the curve is
  // steep.
  RandomStream random(6, 0);
  Matrix x(400, 1);
  Vector y(400);
  for (Index i = 0; i < 400; ++i) {
    x(i, 0) = std::round(10.0 * random.normal()) / 10.0;
    y[i] = std::sin(12.0 * x(i, 0)) + 0.1 * random.normal();
  }
  const BandwidthSelection found = select_bandwidth(x, y, {});
  EXPECT_GE(found.bandwidth[0], 0.06 - 1e-9);
  EXPECT_TRUE(found.at_edge[0]);
}

TEST(SelectBandwidth, OneBandwidthForAllColumnsFollowsTheirSpread) {
  Sample s = wave(100, 2, 0.3, 7);
  s.x.col(1) *= 1000.0;
  const BandwidthSelection found = select_bandwidth(s.x, s.y, {.kernel = {}, .per_dimension = false});
  const auto spread = [&](Index k) {
    return std::sqrt((s.x.col(k).array() - s.x.col(k).mean()).square().mean());
  };
  EXPECT_NEAR(found.bandwidth[1] / found.bandwidth[0], spread(1) / spread(0), 1e-9);
}

TEST(SelectBandwidth, EveryMinimumOfOneDimensionIsListed) {
  const Sample s = wave(80, 1, 0.3, 8);
  const BandwidthSelection found = select_bandwidth(s.x, s.y, {.kernel = {KernelFunction::uniform}});
  ASSERT_GT(found.minima.size(), 1U);
  for (std::size_t i = 1; i < found.minima.size(); ++i)
    EXPECT_LE(found.minima[i - 1].value, found.minima[i].value);
}

TEST(SelectBandwidth, RefusesWhatCannotBeJudged) {
  Sample s = wave(10, 2, 0.3, 9);
  EXPECT_THROW(select_bandwidth(s.x.topRows(1), s.y.head(1), {}), ArgumentError);
  EXPECT_THROW(select_bandwidth(s.x, s.y, {.kernel = {}, .n_starts = 0}), ArgumentError);
  EXPECT_THROW(select_bandwidth(s.x.topRows(2), s.y.head(2), {.kernel = {}, .criterion = Criterion::aicc}),
               ArgumentError);
  s.x.col(1).setConstant(3.0);
  EXPECT_THROW(select_bandwidth(s.x, s.y, {}), ArgumentError);
}

}  // namespace
}  // namespace headspan::nw
