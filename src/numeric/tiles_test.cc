#include "headspan/numeric/tiles.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "numeric/every_target.h"
#include "numeric/tile_fixture.h"

namespace headspan {
namespace {

template <class T>
class Tiles : public testing::Test {};
using Elements = testing::Types<float, double>;
TYPED_TEST_SUITE(Tiles, Elements);

// Sizes around the vector width: every number of keys for one number of queries, and the other way round.
template <class Body>
void for_sizes(const Body& body) {
  for (Index n = 1; n <= 70; ++n) body(Index{7}, n);
  for (Index m = 1; m <= 13; ++m) body(m, Index{37});
}

template <class T>
void expect_packed_keys(Index n, Index d) {
  constexpr Index kP = kPanel<T>;
  const Index stride = d + 3, size = round_up(n, kP) * d;
  const RowMatrix<T> rows = RandomStream(1, 1).normal_matrix(n, stride).template cast<T>();
  AlignedArray<T> packed = aligned<T>(size + kP, T(-7));
  pack_keys(rows.data(), stride, n, d, packed.data());
  for (Index i = 0; i < round_up(n, kP); ++i)
    for (Index j = 0; j < d; ++j)
      ASSERT_EQ(packed[(i / kP) * kP * d + j * kP + i % kP], i < n ? rows(i, j) : T(0)) << n << " " << i;
  for (Index i = size; i < size + kP; ++i) ASSERT_EQ(packed[i], T(-7)) << n;
}

TYPED_TEST(Tiles, KeysLieInPanels) {
  on_every_target([] {
    for (Index n = 1; n <= 70; ++n)
      for (const Index d : {1, 3, 8}) expect_packed_keys<TypeParam>(n, d);
  });
}

template <class T>
void expect_packed_queries(Index m, Index d) {
  const Index stride = d + 1, size = round_up(m, kGroup) * d;
  const RowMatrix<T> rows = RandomStream(1, 2).normal_matrix(m, stride).template cast<T>();
  const T factor = T(0.3);
  AlignedArray<T> packed = aligned<T>(size + 1, T(-7));
  pack_queries(rows.data(), stride, m, d, factor, packed.data());
  for (Index i = 0; i < round_up(m, kGroup); ++i)
    for (Index j = 0; j < d; ++j)
      ASSERT_EQ(packed[(i / kGroup) * kGroup * d + j * kGroup + i % kGroup],
                i < m ? rows(i, j) * factor : T(0))
          << m << " " << i;
  ASSERT_EQ(packed[size], T(-7)) << m;
}

TYPED_TEST(Tiles, QueriesLieInGroupsTimesAFactor) {
  on_every_target([] {
    for (Index m = 1; m <= 13; ++m)
      for (const Index d : {1, 3, 8}) expect_packed_queries<TypeParam>(m, d);
  });
}

template <class T>
void expect_scores(TileScore how, Index m, Index n, Index d) {
  TileFixture<T> f(m, n, d);
  score_tile(how, f.tile());
  for (Index q = 0; q < m; ++q) {
    const T* row = f.scores.data() + q * f.stride();
    for (Index k = 0; k < n; ++k) {
      const ExactSum want = f.score(how, q, k);
      ASSERT_LE(gap(row[k], want.value), rounding<T>(want, d))
          << m << "x" << n << "x" << d << ": " << q << " " << k;
    }
    for (Index k = n; k < f.padded; ++k) ASSERT_EQ(row[k], -std::numeric_limits<T>::infinity());
    for (Index k = f.padded; k < f.stride(); ++k) ASSERT_EQ(row[k], T(-7));
  }
}

TYPED_TEST(Tiles, ScoresOfEveryKindAndSize) {
  on_every_target([] {
    for (const TileScore how : {TileScore::product, TileScore::difference, TileScore::scaled_difference})
      for_sizes([&](Index m, Index n) {
        expect_scores<TypeParam>(how, m, n, 1);
        expect_scores<TypeParam>(how, m, n, 5);
      });
  });
}

template <class T>
T largest(T* row, Index n) {
  T top;
  largest_rows<T>({row, 0, 1, n}, &top);
  return top;
}

TYPED_TEST(Tiles, LargestStandsAnywhere) {
  constexpr Index kStep = 2 * kPanel<TypeParam>;
  on_every_target([] {
    for (Index n = kStep; n <= 3 * kStep; n += kStep) {
      AlignedArray<TypeParam> row = aligned<TypeParam>(n, -std::numeric_limits<TypeParam>::infinity());
      EXPECT_EQ(largest(row.data(), n), -std::numeric_limits<TypeParam>::infinity());
      for (Index i = 0; i < n; ++i) row[i] = TypeParam(-100) - static_cast<TypeParam>(i);
      for (Index i = 0; i < n; ++i) {
        const TypeParam before = row[i];
        row[i] = TypeParam(-3.5);
        ASSERT_EQ(largest(row.data(), n), TypeParam(-3.5)) << n << " " << i;
        row[i] = before;
      }
    }
  });
}

template <class T>
void expect_values(Index m, Index n, Index columns) {
  constexpr Index kP = kPanel<T>;
  const Index rows = round_up(m, kGroup), weight_stride = n + 3, panel_stride = (n + 2) * kP;
  RandomStream random(3, static_cast<std::uint64_t>(n));
  const RowMatrix<T> weights = random.normal_matrix(rows, weight_stride).template cast<T>();
  const RowMatrix<T> start = random.normal_matrix(rows, columns).template cast<T>();
  const RowMatrix<T> values = random.normal_matrix(n, columns).template cast<T>();
  AlignedArray<T> packed = aligned<T>(columns / kP * panel_stride, std::numeric_limits<T>::quiet_NaN());
  for (Index i = 0; i < n; ++i)
    for (Index c = 0; c < columns; ++c) packed[c / kP * panel_stride + i * kP + c % kP] = values(i, c);
  AlignedArray<T> out(rows * columns);
  std::copy_n(start.data(), rows * columns, out.data());
  accumulate_values<T>(
      {weights.data(), weight_stride, packed.data(), panel_stride, m, n, columns, out.data(), columns});
  for (Index q = 0; q < m; ++q)
    for (Index c = 0; c < columns; ++c) {
      ExactSum want;
      want.add(start(q, c));
      for (Index i = 0; i < n; ++i)
        want.add(static_cast<long double>(weights(q, i)) * static_cast<long double>(values(i, c)));
      ASSERT_LE(gap(out[q * columns + c], want.value), rounding<T>(want, n))
          << m << "x" << n << ": " << q << " " << c;
    }
}

TYPED_TEST(Tiles, ValuesAreAddedWeighted) {
  on_every_target([] {
    for_sizes([](Index m, Index n) { expect_values<TypeParam>(m, n, kValuePad<TypeParam>); });
    expect_values<TypeParam>(7, 37, 3 * kValuePad<TypeParam>);
  });
}

// Below the diagonal and on it: `out` beyond it is not promised.
template <class T>
void expect_cross_sums(const AlignedArray<T>& a, const AlignedArray<T>& b, Index stride, Index count, Index n,
                       const std::vector<double>& out) {
  for (Index i = 0; i < count; ++i)
    for (Index j = 0; j <= i; ++j) {
      ExactSum want;
      want.add(0.5L);
      for (Index k = 0; k < n; ++k)
        want.add(static_cast<long double>(a[i * stride + k]) * static_cast<long double>(b[j * stride + k]));
      ASSERT_LE(gap(out[static_cast<std::size_t>(i * count + j)], want.value), rounding<T>(want, n))
          << count << " rows of " << n << ": " << i << " " << j;
    }
}

TYPED_TEST(Tiles, CrossSumsOfOneAndOfTwoSetsOfRows) {
  using T = TypeParam;
  constexpr Index kStep = 2 * kPanel<T>;
  on_every_target([] {
    for (Index count = 1; count <= 13; ++count)
      for (const Index n : {kStep, 3 * kStep}) {
        const Index stride = n + kPanel<T>;
        RandomStream random(5, static_cast<std::uint64_t>(count));
        AlignedArray<T> a(count * stride), b(count * stride);
        for (Index i = 0; i < count * stride; ++i)
          a[i] = static_cast<T>(random.normal()), b[i] = static_cast<T>(random.normal());
        std::vector<double> own(static_cast<std::size_t>(count * count), 0.5), both = own;
        cross_sums<T>(a.data(), stride, count, n, own.data());
        expect_cross_sums(a, a, stride, count, n, own);
        cross_sums<T>(a.data(), b.data(), stride, count, n, both.data());
        expect_cross_sums(a, b, stride, count, n, both);
      }
  });
}

}  // namespace
}  // namespace headspan
