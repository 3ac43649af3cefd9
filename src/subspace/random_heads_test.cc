#include "headspan/subspace/random_heads.h"

#include <gtest/gtest.h>

#include <cmath>

#include "headspan/numeric/decompose.h"
#include "headspan/numeric/random.h"

namespace headspan::subspace {
namespace {

constexpr Sampling kMany{1, 4000};

struct Direct {
  double mean = 0, variance = 0, shared_covariance = 0;
};

/// Energy correlations of three explicit random heads.
Direct direct_energy(Index k, Index d, int n) {
  Vector first(n), second(n);
  for (int i = 0; i < n; ++i) {
    RandomStream random(99, static_cast<std::uint64_t>(i));
    const Matrix w1 = random.normal_matrix(k, d), w2 = random.normal_matrix(k, d),
                 w3 = random.normal_matrix(k, d);
    const auto norm = [](const Matrix& w) { return (w * w.transpose()).norm(); };
    first(i) = (w1 * w2.transpose()).squaredNorm() / (norm(w1) * norm(w2));
    second(i) = (w1 * w3.transpose()).squaredNorm() / (norm(w1) * norm(w3));
  }
  const auto covariance = [n](const Vector& x, const Vector& y) {
    return ((x.array() - x.mean()) * (y.array() - y.mean())).sum() / (n - 1);
  };
  return {first.mean(), covariance(first, first), covariance(first, second)};
}

TEST(RandomEnergy, MatchesExplicitHeads) {
  for (const auto& [k, d] : {std::pair<Index, Index>{4, 12}, {6, 5}, {3, 40}}) {
    const int n = 4000;
    const Direct direct = direct_energy(k, d, n);
    const PairMoments sampled = random_energy(k, d, kMany);
    EXPECT_NEAR(sampled.mean, direct.mean, 6 * std::sqrt(direct.variance / n)) << k << " " << d;
    EXPECT_NEAR(sampled.variance / direct.variance, 1.0, 0.15);
    EXPECT_NEAR(sampled.shared_covariance, direct.shared_covariance, 6 * direct.variance / std::sqrt(n));
  }
}

TEST(RandomEnergy, ClosedFormMeanHoldsForHeadsMuchSmallerThanTheirSpace) {
  EXPECT_NEAR(random_energy(16, 128, kMany).mean, 16.0 / 145.0, 2e-4);
  EXPECT_NEAR(random_energy(8, 64, kMany).mean, 8.0 / 73.0, 5e-4);
}

TEST(RandomMap, MatchesTheClosedForms) {
  const Index k = 16, d = 64;
  const MapVariances variances = random_map(k, d, d, kMany);
  EXPECT_NEAR(std::sqrt(variances.separate) * d, 1.0, 0.06);
  EXPECT_NEAR(std::sqrt(variances.shared) / std::sqrt(1.0 / (k * d) + 1.0 / (d * d)), 1.0, 0.06);
}

TEST(RandomKernel, MatchesExplicitSubspaces) {
  const Index k = 3, d = 8;
  const GaussianKernelLaw law(1.2);
  const int n = 4000;
  Vector rho(n);
  for (int i = 0; i < n; ++i) {
    RandomStream random(55, static_cast<std::uint64_t>(i));
    const Matrix u = thin_lq(random.normal_matrix(k, d)).q, v = thin_lq(random.normal_matrix(k, d)).q;
    rho(i) = law.correlation(law.log_v_product(u * v.transpose()), k, k);
  }
  const double variance = (rho.array() - rho.mean()).square().sum() / (n - 1);
  const PairMoments sampled = random_kernel(k, d, law, kMany);
  EXPECT_NEAR(sampled.mean, rho.mean(), 6 * std::sqrt(2 * variance / n));
  EXPECT_NEAR(sampled.variance / variance, 1.0, 0.2);
}

TEST(RandomHeads, DoNotDependOnThreadsAndKeepTheSeed) {
  EXPECT_EQ(random_energy(4, 16, {3, 64}).variance, random_energy(4, 16, {3, 64}).variance);
  EXPECT_NE(random_energy(4, 16, {3, 64}).variance, random_energy(4, 16, {4, 64}).variance);
}

}  // namespace
}  // namespace headspan::subspace
