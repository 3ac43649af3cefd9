#include "nw/line.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "headspan/numeric/random.h"

namespace headspan::nw {
namespace {

// More points than are sorted at once, many of them equal.
TEST(Rising, IsTheStableOrderOfPartsSortedApart) {
  RandomStream random(1, 1);
  Vector points(150'001);
  for (Index i = 0; i < points.size(); ++i) points[i] = std::floor(1000.0 * random.normal());
  const RisingPoints sorted = rising(points);
  std::vector<Index> expected(static_cast<std::size_t>(points.size()));
  std::iota(expected.begin(), expected.end(), Index{0});
  std::stable_sort(expected.begin(), expected.end(), [&](Index a, Index b) { return points[a] < points[b]; });
  EXPECT_EQ(sorted.order, expected);
  EXPECT_EQ(sorted.points, points(expected));
}

TEST(Rising, OfNoPointIsEmpty) {
  EXPECT_TRUE(rising(Vector()).order.empty());
  EXPECT_EQ(rising(Vector::Constant(1, 2.0)).order, std::vector<Index>{0});
}

}  // namespace
}  // namespace headspan::nw
