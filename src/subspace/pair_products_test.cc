#include "headspan/subspace/pair_products.h"

#include <gtest/gtest.h>

#include <mutex>
#include <set>

#include "headspan/numeric/decompose.h"
#include "headspan/numeric/parallel.h"
#include "headspan/numeric/random.h"

namespace headspan::subspace {
namespace {

HeadWeights random_heads(Index n, Index k, Index d, std::uint64_t stream) {
  return {RandomStream(4, stream).normal_matrix(n * k, d), n, k, 0x1p-24};
}

LayerHeads random_layer(Index n, Index g, Index k, Index v) {
  LayerHeads heads;
  heads.query = random_heads(n, k, 40, 0);
  heads.key = random_heads(g, k, 30, 1);
  heads.value = random_heads(g, v, 30, 2);
  heads.output = random_heads(n, v, 25, 3);
  heads.query_gain = RandomStream(4, 9).normal_matrix(n * k, 1);
  heads.key_gain = RandomStream(4, 10).normal_matrix(g * k, 1);
  return heads;
}

double relative_error(const Matrix& a, const Matrix& b) { return (a - b).norm() / b.norm(); }

/// The definitions, written out with the d x d matrices themselves.
TEST(WeightProducts, EqualTheDefinitions) {
  // 40 heads of 32 dimensions: several tiles.
  const LayerHeads heads = random_layer(40, 20, 32, 17);
  MapProducts maps;
  const WeightProducts products = weight_products(heads, &maps);
  for (const auto& [h, l] : {std::pair<Index, Index>{0, 0}, {3, 1}, {39, 0}, {17, 16}, {20, 39}}) {
    const Matrix mh = heads.query.head(h).transpose() * heads.query.head(h);
    const Matrix ml = heads.query.head(l).transpose() * heads.query.head(l);
    EXPECT_NEAR(products.query_energy(h, l) / (mh * ml).trace(), 1.0, 1e-12);
    const auto score_map = [&](Index i) -> Matrix {
      return (heads.query_gain.segment(i * 32, 32).asDiagonal() * heads.query.head(i)).transpose() *
             (heads.key_gain.segment(i / 2 * 32, 32).asDiagonal() * heads.key.head(i / 2));
    };
    EXPECT_NEAR(maps.score(h, l), score_map(h).cwiseProduct(score_map(l)).sum(), 1e-9 * maps.score(h, h));
    const auto value_map = [&](Index i) -> Matrix {
      return heads.output.head(i).transpose() * heads.value.head(i / 2);
    };
    EXPECT_NEAR(maps.output_value(h, l), value_map(h).cwiseProduct(value_map(l)).sum(),
                1e-9 * maps.output_value(h, h));
    EXPECT_NEAR(products.output_energy(h, l),
                (heads.output.head(h) * heads.output.head(l).transpose()).squaredNorm(), 1e-9);
  }
  EXPECT_LT(relative_error(map_products(heads).score, maps.score), 1e-15);
  EXPECT_EQ(products.value_energy.rows(), 20);
}

TEST(WeightProducts, DoNotDependOnThreads) {
  const LayerHeads heads = random_layer(48, 12, 24, 24);
  MapProducts one, two;
  {
    const ThreadLimit limit(1);
    weight_products(heads, &one);
  }
  weight_products(heads, &two);
  EXPECT_TRUE(one.score == two.score);
  EXPECT_TRUE(one.output_value == two.output_value);
}

TEST(OverlapProducts, CountEachPairOnceAndEqualTheFrobeniusNorm) {
  const Index n = 30, block = 40, d = 60;
  Matrix stacked = Matrix::Zero(n * block, d);
  for (Index h = 0; h < n; ++h) {
    const Index rank = h == 7 ? 5 : block;  // one frame of lower rank, zero rows below it
    stacked.middleRows(h * block, rank) =
        thin_lq(RandomStream(6, static_cast<std::uint64_t>(h)).normal_matrix(rank, d)).q;
  }
  std::mutex mutex;
  std::multiset<std::pair<Index, Index>> seen;
  const Matrix overlaps = overlap_products(stacked, block, [&](Index a, Index b, MatrixView cross) {
    const Matrix expected =
        stacked.middleRows(a * block, block) * stacked.middleRows(b * block, block).transpose();
    const std::lock_guard lock(mutex);
    EXPECT_LT((cross - expected).norm(), 1e-12);
    seen.emplace(a, b);
  });
  EXPECT_EQ(seen.size(), static_cast<std::size_t>(n * (n + 1) / 2));
  const std::set<std::pair<Index, Index>> distinct(seen.begin(), seen.end());
  EXPECT_EQ(distinct.size(), seen.size());
  EXPECT_NEAR(overlaps(7, 7), 5.0, 1e-12);
  EXPECT_NEAR(overlaps(0, 0), 40.0, 1e-12);
  EXPECT_EQ(overlaps(3, 20), overlaps(20, 3));
}

}  // namespace
}  // namespace headspan::subspace
