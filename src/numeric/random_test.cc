#include "headspan/numeric/random.h"

#include <Random123/philox.h>
#include <gtest/gtest.h>

#include <cmath>

#include "headspan/numeric/error.h"

namespace headspan {
namespace {

TEST(RandomStream, IsPhiloxOnItsCounter) {
  // Published known answers of Philox 4x64-10 for the zero counter and key (Random123's kat_vectors).
  RandomStream random(0, 0);
  EXPECT_EQ(random(), 0x16554d9eca36314cULL);
  EXPECT_EQ(random(), 0xdb20fe9d672d0fdcULL);
  EXPECT_EQ(random(), 0xd7e772cee186176bULL);
  EXPECT_EQ(random(), 0x7e68b68aec7ba23bULL);
}

TEST(RandomStream, StreamsAndSeedsDiffer) {
  const std::uint64_t first = RandomStream(1, 2)();
  EXPECT_EQ(first, RandomStream(1, 2)());
  EXPECT_NE(first, RandomStream(2, 2)());
  EXPECT_NE(first, RandomStream(1, 3)());
}

TEST(RandomStream, MomentsAreThoseOfTheLaws) {
  constexpr int n = 200000;
  RandomStream random(7, 0);
  double uniform = 0, normal = 0, normal2 = 0, chi = 0, chi2 = 0;
  for (int i = 0; i < n; ++i) {
    const double u = random.uniform(), z = random.normal(), c = random.chi_square(0.7);
    ASSERT_TRUE(u > 0 && u < 1);
    uniform += u / n;
    normal += z / n;
    normal2 += z * z / n;
    chi += c / n;
    chi2 += c * c / n;
  }
  // Five standard errors each.
  EXPECT_NEAR(uniform, 0.5, 5 * std::sqrt(1.0 / 12 / n));
  EXPECT_NEAR(normal, 0.0, 5 / std::sqrt(n));
  EXPECT_NEAR(normal2, 1.0, 5 * std::sqrt(2.0 / n));
  EXPECT_NEAR(chi, 0.7, 5 * std::sqrt(1.4 / n));
  EXPECT_NEAR(chi2, 0.7 * 2.7, 5 * std::sqrt((0.7 * 2.7 * 4.7 * 6.7 - 1.89 * 1.89) / n));
  EXPECT_THROW(random.chi_square(0.0), ArgumentError);
}

}  // namespace
}  // namespace headspan
