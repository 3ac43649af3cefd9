// Weights of scores, one row at a time and fused with their sums.

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>

#include "headspan/numeric/tiles.h"
#include "numeric/every_target.h"
#include "numeric/tile_fixture.h"

namespace headspan {
namespace {

template <class T>
class TileWeights : public testing::Test {};
using Elements = testing::Types<float, double>;
TYPED_TEST_SUITE(TileWeights, Elements);

template <class T>
inline constexpr Index kStep = 2 * kPanel<T>;
template <class T>
inline constexpr T kInfinity = std::numeric_limits<T>::infinity();
template <class T>
inline constexpr long double kExp2Error = sizeof(T) == 4 ? 3e-7L : 2e-15L;
/// The least exponent that is not flushed: 2^kLeast is the smallest normal number.
template <class T>
inline constexpr T kLeast = T(std::numeric_limits<T>::min_exponent - 1);

template <class T>
RowSums<T> weigh(TileWeight weight, T shift, T* row, Index n) {
  RowSums<T> sums;
  weigh_rows(weight, &shift, {row, 0, 1, n}, &sums);
  return sums;
}

TYPED_TEST(TileWeights, Exp2OverItsWholeRange) {
  using T = TypeParam;
  constexpr Index kPoints = 512 * kStep<T>;
  const T greatest = T(std::numeric_limits<T>::max_exponent - 1);
  on_every_target([&] {
    AlignedArray<T> x(kPoints), w(kPoints);
    for (Index i = 0; i < kPoints; ++i)
      x[i] =
          std::max(std::nextafter(kLeast<T>, T(0)), kLeast<T> + (greatest - kLeast<T>)*T(i) / T(kPoints - 1));
    std::copy_n(x.data(), kPoints, w.data());
    weigh(TileWeight::exp2, T(0), w.data(), kPoints);
    for (Index i = 0; i < kPoints; ++i)
      ASSERT_LE(std::abs(w[i] / exact_weight(TileWeight::exp2, x[i]) - 1.0L), kExp2Error<T>) << x[i];
  });
}

TYPED_TEST(TileWeights, Exp2AtItsSpecialPoints) {
  using T = TypeParam;
  const T nan = std::numeric_limits<T>::quiet_NaN();
  on_every_target([&] {
    for (Index at = 0; at < kStep<T>; ++at) {
      AlignedArray<T> row = aligned<T>(kStep<T>, T(2.5));
      row[at] = kLeast<T> + T(2.5);
      const RowSums<T> sums = weigh(TileWeight::exp2, T(2.5), row.data(), kStep<T>);
      for (Index i = 0; i < kStep<T>; ++i) ASSERT_EQ(row[i], i == at ? T(0) : T(1)) << at << " " << i;
      ASSERT_EQ(sums.sum, T(kStep<T> - 1));
      ASSERT_EQ(sums.sum_of_squares, T(kStep<T> - 1));
      row[at] = nan;
      ASSERT_TRUE(std::isnan(weigh(TileWeight::exp2, T(1), row.data(), kStep<T>).sum));
      ASSERT_TRUE(std::isnan(row[at]));
      for (const T below : {kLeast<T> * T(1.01), T(-1e30), -kInfinity<T>}) {
        row[at] = below;
        weigh(TileWeight::exp2, T(0), row.data(), kStep<T>);
        ASSERT_EQ(row[at], T(0)) << below;
      }
    }
  });
}

// Scores from well beyond one bandwidth to a little above 0, where rounding may bring them.
template <class T>
T score_at(Index i, Index n) {
  return T(-1.6) + T(1.6001) * T(i) / T(n - 1);
}

template <class T>
void expect_weights(TileWeight weight, Index n) {
  AlignedArray<T> row(n);
  const T shift = weight == TileWeight::exp2 ? T(0.25) : T(0);
  for (Index i = 0; i < n; ++i) row[i] = score_at<T>(i, n);
  const RowSums<T> sums = weigh(weight, shift, row.data(), n);
  ExactSum sum, squares;
  for (Index i = 0; i < n; ++i) {
    const long double want =
        exact_weight(weight, static_cast<long double>(score_at<T>(i, n)) - static_cast<long double>(shift));
    // A power of a difference near the edge of the support is exact to rounding of the 1 it starts from.
    ASSERT_LE(gap(row[i], want), 2 * kExp2Error<T>) << static_cast<int>(weight) << ": " << score_at<T>(i, n);
    const auto w = static_cast<long double>(row[i]);
    sum.add(w);
    squares.add(w * w);
  }
  ASSERT_LE(gap(sums.sum, sum.value), rounding<T>(sum, n));
  ASSERT_LE(gap(sums.sum_of_squares, squares.value), rounding<T>(squares, n));
}

TYPED_TEST(TileWeights, EveryKindAndTheSums) {
  on_every_target([] {
    for (const TileWeight weight : kTileWeights)
      for (Index n = kStep<TypeParam>; n <= 5 * kStep<TypeParam>; n += kStep<TypeParam>)
        expect_weights<TypeParam>(weight, n);
  });
}

TYPED_TEST(TileWeights, RowsHaveShiftsAndSumsOfTheirOwn) {
  using T = TypeParam;
  constexpr Index kRows = 5, kStride = 3 * kStep<T>, kWidth = 2 * kStep<T>;
  on_every_target([] {
    AlignedArray<T> together = aligned<T>(kRows * kStride, T(-7)), alone = aligned<T>(kRows * kStride, T(-7));
    T shift[kRows];
    for (Index r = 0; r < kRows; ++r) {
      shift[r] = T(0.5) * T(r);
      for (Index i = 0; i < kWidth; ++i)
        alone[r * kStride + i] = together[r * kStride + i] = score_at<T>(i + r, kWidth);
    }
    T top[kRows];
    RowSums<T> sums[kRows];
    largest_rows<T>({together.data(), kStride, kRows, kWidth}, top);
    weigh_rows<T>(TileWeight::exp2, shift, {together.data(), kStride, kRows, kWidth}, sums);
    for (Index r = 0; r < kRows; ++r) {
      EXPECT_EQ(top[r], score_at<T>(kWidth - 1 + r, kWidth));
      const RowSums<T> want = weigh(TileWeight::exp2, shift[r], alone.data() + r * kStride, kWidth);
      EXPECT_EQ(sums[r].sum, want.sum) << r;
      EXPECT_EQ(sums[r].sum_of_squares, want.sum_of_squares) << r;
    }
    for (Index i = 0; i < kRows * kStride; ++i) ASSERT_EQ(together[i], alone[i]) << i;
  });
}

TYPED_TEST(TileWeights, NoWeightAtAnInfiniteDistance) {
  on_every_target([] {
    for (const TileWeight weight : kTileWeights) {
      AlignedArray<TypeParam> row = aligned<TypeParam>(kStep<TypeParam>, -kInfinity<TypeParam>);
      const RowSums<TypeParam> sums = weigh(weight, TypeParam(0), row.data(), kStep<TypeParam>);
      EXPECT_EQ(sums.sum, TypeParam(0)) << static_cast<int>(weight);
      EXPECT_EQ(sums.sum_of_squares, TypeParam(0)) << static_cast<int>(weight);
      EXPECT_EQ(row[kStep<TypeParam> - 1], TypeParam(0)) << static_cast<int>(weight);
    }
  });
}

// cap tanh(row / cap): the worst relative error is where the series hands over to 1 - 2 / (1 + e^2x), which
// cancels most there.
TYPED_TEST(TileWeights, SoftCapFromTinyToInfinite) {
  using T = TypeParam;
  constexpr Index kPoints = 64 * kPanel<T>;
  const long double bound = sizeof(T) == 4 ? 3e-6L : 3e-13L;
  on_every_target([&] {
    const T cap = T(30);
    AlignedArray<T> x(kPoints), row(kPoints);
    for (Index i = 0; i < kPoints; ++i)
      x[i] = (i % 2 == 0 ? T(1) : T(-1)) * std::pow(T(10), T(-6) + T(10) * T(i) / T(kPoints - 1));
    x[0] = T(0), x[1] = kInfinity<T>, x[2] = -kInfinity<T>;
    std::copy_n(x.data(), kPoints, row.data());
    soft_cap_row(cap, row.data(), kPoints);
    EXPECT_EQ(row[0], T(0));
    EXPECT_EQ(row[1], cap);
    EXPECT_EQ(row[2], -cap);
    for (Index i = 3; i < kPoints; ++i) {
      const long double want = cap * std::tanh(static_cast<long double>(x[i]) / cap);
      ASSERT_LE(std::abs(row[i] / want - 1.0L), bound) << x[i];
    }
  });
}

/// A narrow block over a fixture, with random values and shifts.
template <class T>
struct NarrowFixture {
  TileFixture<T> tile;
  Index columns;
  AlignedArray<T> shift, values;
  std::vector<double> sums;

  NarrowFixture(Index m, Index n, Index n_columns)
      : tile(m, n, 3),
        columns(n_columns),
        shift(aligned<T>(round_up(m, kGroup), T(0.5))),
        values(aligned<T>(columns * tile.stride(), T(0))),
        sums(static_cast<std::size_t>(round_up(m, kGroup) * (2 + columns)), 0.25) {
    RandomStream random(13, static_cast<std::uint64_t>(n));
    for (Index c = 0; c < columns; ++c)
      for (Index i = 0; i < n; ++i) values[c * tile.stride() + i] = static_cast<T>(random.normal());
    for (Index q = 0; q < m; ++q) shift[q] += static_cast<T>(0.1 * random.normal());
  }

  NarrowBlock<T> block(TileScore score, TileWeight weight, Index first_own_key, bool squares) {
    return {tile.tile(),   score,         weight,  shift.data(), first_own_key,
            values.data(), tile.stride(), columns, squares,      sums.data()};
  }
};

// Weights differ from the exact ones by the rounding of their score, and have a slope of 3 at most; those of
// `uniform` jump, so theirs come from the scores that the kernels themselves give.
template <class T>
void expect_narrow(TileWeight weight, Index m, Index n, Index columns, Index first_own_key, bool squares) {
  NarrowFixture<T> f(m, n, columns);
  score_tile(TileScore::difference, f.tile.tile());
  const AlignedArray<T> scores = std::move(f.tile.scores);
  f.tile.scores = aligned<T>(kGroup * f.tile.stride(), T(-7));
  narrow_block(f.block(TileScore::difference, weight, first_own_key, squares));
  for (Index q = 0; q < m; ++q) {
    std::array<ExactSum, 6> want;
    for (ExactSum& sum : want) sum.add(0.25L);
    for (Index k = 0; k < n; ++k) {
      if (k == first_own_key + q) continue;
      const long double w = exact_weight(weight, static_cast<long double>(scores[q * f.tile.stride() + k]) -
                                                     static_cast<long double>(f.shift[q]));
      want[0].add(w);
      want[1].add(squares ? w * w : 0.0L);
      for (Index c = 0; c < columns; ++c)
        want[static_cast<std::size_t>(2 + c)].add(w * f.values[c * f.tile.stride() + k]);
    }
    for (Index s = 0; s < 2 + columns; ++s) {
      const ExactSum& sum = want[static_cast<std::size_t>(s)];
      if (s == 1 && !squares && weight != TileWeight::exp2) continue;  // they may be computed all the same
      ASSERT_LE(gap(f.sums[static_cast<std::size_t>(q * (2 + columns) + s)], sum.value),
                rounding<T>(sum, n) + 4 * static_cast<long double>(n) * std::numeric_limits<T>::epsilon())
          << static_cast<int>(weight) << " " << m << "x" << n << " sum " << s << " of query " << q;
    }
  }
}

TYPED_TEST(TileWeights, NarrowBlocksOfEveryWeightAndWidth) {
  on_every_target([] {
    for (const TileWeight weight : kTileWeights)
      for (const Index columns : {1, 2, 4})
        for (const bool squares : {false, true})
          for (const Index n : {1, 8, 33, 70})
            expect_narrow<TypeParam>(weight, 7, n, columns, kNoOwnKey, squares);
  });
}

TYPED_TEST(TileWeights, NarrowBlocksOfEverySize) {
  on_every_target([] {
    for (Index n = 1; n <= 70; ++n) expect_narrow<TypeParam>(TileWeight::exp2, 7, n, 1, kNoOwnKey, true);
    for (Index m = 1; m <= 13; ++m) expect_narrow<TypeParam>(TileWeight::exp2, m, 37, 2, kNoOwnKey, true);
  });
}

TYPED_TEST(TileWeights, NarrowBlocksLeaveOutTheOwnKey) {
  on_every_target([] {
    // Own keys before the block, across its start, inside, across its end, beyond it.
    for (const Index first : {-20, -5, 0, 11, 33, 36, 37, 60})
      for (const TileWeight weight : {TileWeight::exp2, TileWeight::biweight})
        expect_narrow<TypeParam>(weight, 13, 37, 1, first, true);
  });
}

template <class T>
void expect_narrow_largest(Index m, Index n, Index first_own_key) {
  NarrowFixture<T> f(m, n, 1);
  score_tile(TileScore::product, f.tile.tile());
  const AlignedArray<T> scores = std::move(f.tile.scores);
  f.tile.scores = aligned<T>(kGroup * f.tile.stride(), T(-7));
  std::vector<T> top(static_cast<std::size_t>(round_up(m, kGroup)), T(1)), want = top;
  narrow_largest(f.block(TileScore::product, TileWeight::exp2, first_own_key, false), top.data());
  for (Index q = 0; q < m; ++q)
    for (Index k = 0; k < n; ++k)
      if (k != first_own_key + q)
        want[static_cast<std::size_t>(q)] =
            std::max(want[static_cast<std::size_t>(q)], scores[q * f.tile.stride() + k]);
  EXPECT_EQ(top, want) << m << "x" << n << " from " << first_own_key;
}

TYPED_TEST(TileWeights, NarrowLargestLeavesOutTheOwnKey) {
  on_every_target([] {
    for (Index n = 1; n <= 70; ++n) expect_narrow_largest<TypeParam>(7, n, kNoOwnKey);
    for (Index m = 1; m <= 13; ++m) expect_narrow_largest<TypeParam>(m, 37, 3);
    for (const Index first : {-5, 0, 30, 36}) expect_narrow_largest<TypeParam>(13, 37, first);
  });
}

}  // namespace
}  // namespace headspan
