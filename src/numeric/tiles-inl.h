// Vector bodies of tiles.cc, compiled once per instruction set.

#if defined(HEADSPAN_NUMERIC_TILES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEADSPAN_NUMERIC_TILES_INL_H_
#undef HEADSPAN_NUMERIC_TILES_INL_H_
#else
#define HEADSPAN_NUMERIC_TILES_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <limits>

#include "headspan/numeric/tiles.h"
#include "numeric/tile_weights-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headspan {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <class T>
void pack_keys_rows(const T* rows, Index row_stride, Index n, Index d, T* out) {
  constexpr Index kP = kPanel<T>;
  for (Index panel = 0; panel * kP < n; ++panel) {
    const Index lanes = std::min(kP, n - panel * kP);
    const T* from = rows + panel * kP * row_stride;
    T* to = out + panel * kP * d;
    if (lanes < kP) std::fill_n(to, kP * d, T(0));
    for (Index lane = 0; lane < lanes; ++lane)
      for (Index j = 0; j < d; ++j) to[j * kP + lane] = from[lane * row_stride + j];
  }
}

template <class T>
void pack_queries_rows(const T* rows, Index row_stride, Index m, Index d, T factor, T* out) {
  for (Index group = 0; group * kGroup < m; ++group) {
    const Index count = std::min(kGroup, m - group * kGroup);
    const T* from = rows + group * kGroup * row_stride;
    T* to = out + group * kGroup * d;
    if (count < kGroup) std::fill_n(to, kGroup * d, T(0));
    for (Index row = 0; row < count; ++row)
      for (Index j = 0; j < d; ++j) to[j * kGroup + row] = from[row * row_stride + j] * factor;
  }
}

// Twelve sums of six rows by two vectors, in registers.
#define HEADSPAN_SIX(M) M(0) M(1) M(2) M(3) M(4) M(5)

// Scores of six queries and two vectors of keys. `lane` is where the vectors lie in their panels.
template <TileScore kScore, class D, class T = hn::TFromD<D>>
HWY_INLINE void score_six(D d, const ScoreTile<T>& tile, const T* HWY_RESTRICT q, const T* HWY_RESTRICT k0,
                          const T* HWY_RESTRICT k1, const T* bias0, const T* bias1, T* out) {
  // Copies: the compiler must not think that a store of scores could change them.
  const Index n_lanes = static_cast<Index>(hn::Lanes(d)), stride = tile.stride, dims = tile.d;
  using V = hn::Vec<D>;
  const V b0 = hn::Load(d, bias0), b1 = hn::Load(d, bias1);
#define HEADSPAN_START(R) V a##R = b0, c##R = b1;
  HEADSPAN_SIX(HEADSPAN_START)
#undef HEADSPAN_START
  // Two steps at a time: where two threads share a core, decoding is what the loop waits for.
  const auto step = [&](Index j) HWY_ATTR {
    const V x0 = hn::Load(d, k0 + j * kPanel<T>), x1 = hn::Load(d, k1 + j * kPanel<T>);
    const T* HWY_RESTRICT y_at = q + j * kGroup;
    if constexpr (kScore == TileScore::product) {
#define HEADSPAN_STEP(R)             \
  {                                  \
    const V y = hn::Set(d, y_at[R]); \
    a##R = hn::MulAdd(x0, y, a##R);  \
    c##R = hn::MulAdd(x1, y, c##R);  \
  }
      HEADSPAN_SIX(HEADSPAN_STEP)
#undef HEADSPAN_STEP
    } else {
      const V scale = kScore == TileScore::scaled_difference ? hn::Set(d, tile.scale[j]) : b0;
#define HEADSPAN_STEP(R)                                    \
  {                                                         \
    const V y = hn::Set(d, y_at[R]);                        \
    V u0 = hn::Sub(x0, y), u1 = hn::Sub(x1, y);             \
    if constexpr (kScore == TileScore::scaled_difference) { \
      u0 = hn::Mul(u0, scale);                              \
      u1 = hn::Mul(u1, scale);                              \
    }                                                       \
    a##R = hn::NegMulAdd(u0, u0, a##R);                     \
    c##R = hn::NegMulAdd(u1, u1, c##R);                     \
  }
      HEADSPAN_SIX(HEADSPAN_STEP)
#undef HEADSPAN_STEP
      static_cast<void>(scale);
    }
  };
  Index j = 0;
  for (; j + 1 < dims; j += 2) {
    step(j);
    step(j + 1);
  }
  if (j < dims) step(j);
  T* out1 = out + n_lanes;
#define HEADSPAN_STORE(R)               \
  hn::Store(a##R, d, out + R * stride); \
  hn::Store(c##R, d, out1 + R * stride);
  HEADSPAN_SIX(HEADSPAN_STORE)
#undef HEADSPAN_STORE
}

// One group of queries against keys [first, last), multiples of two panels.
template <TileScore kScore, class T>
HWY_INLINE void score_group(const ScoreTile<T>& tile, Index group, Index first, Index last, T* out) {
  const Tag<T> d;
  const Index lanes = static_cast<Index>(hn::Lanes(d));
  constexpr Index kP = kPanel<T>;
  const T* q = tile.queries + group * kGroup * tile.d;
  const auto at = [&](Index key) { return tile.keys + (key / kP) * kP * tile.d + key % kP; };
  for (Index key = first; key < last; key += 2 * lanes)
    score_six<kScore>(d, tile, q, at(key), at(key + lanes), tile.bias + key, tile.bias + key + lanes,
                      out + key);
}

template <class T, class Body>
HWY_INLINE void with_score(TileScore how, const Body& body) {
  switch (how) {
    case TileScore::product:
      return body(std::integral_constant<TileScore, TileScore::product>());
    case TileScore::difference:
      return body(std::integral_constant<TileScore, TileScore::difference>());
    case TileScore::scaled_difference:
      return body(std::integral_constant<TileScore, TileScore::scaled_difference>());
  }
}

template <class T>
void score_tile_all(TileScore how, const ScoreTile<T>& tile) {
  constexpr Index kStep = 2 * kPanel<T>;
  const Index n = round_up(tile.n, kStep);
  with_score<T>(how, [&](auto score) {
    // Two panels of keys stay in the first-level cache while the groups of queries pass.
    for (Index key = 0; key < n; key += kStep)
      for (Index group = 0; group * kGroup < tile.m; ++group)
        score_group<decltype(score)::value>(tile, group, key, key + kStep,
                                            tile.scores + group * kGroup * tile.stride);
  });
}

// Six rows by two vectors of value columns.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE void values_six(D d, const ValueTile<T>& tile, const T* HWY_RESTRICT weights, Index column,
                           T* out) {
  using V = hn::Vec<D>;
  constexpr Index kP = kPanel<T>;
  const Index lanes = static_cast<Index>(hn::Lanes(d)), n = tile.n, ws = tile.weight_stride,
              os = tile.out_stride;
  const auto at = [&](Index c) { return tile.values + c / kP * tile.panel_stride + c % kP; };
  const T* HWY_RESTRICT v0 = at(column);
  const T* HWY_RESTRICT v1 = at(column + lanes);
  T* out1 = out + lanes;
#define HEADSPAN_START(R)              \
  V a##R = hn::Load(d, out + R * os);  \
  V c##R = hn::Load(d, out1 + R * os); \
  const T* HWY_RESTRICT w##R = weights + R * ws;
  HEADSPAN_SIX(HEADSPAN_START)
#undef HEADSPAN_START
  const auto step = [&](Index i) HWY_ATTR {
    const V x0 = hn::Load(d, v0 + i * kP), x1 = hn::Load(d, v1 + i * kP);
#define HEADSPAN_STEP(R)             \
  {                                  \
    const V y = hn::Set(d, w##R[i]); \
    a##R = hn::MulAdd(x0, y, a##R);  \
    c##R = hn::MulAdd(x1, y, c##R);  \
  }
    HEADSPAN_SIX(HEADSPAN_STEP)
#undef HEADSPAN_STEP
  };
  Index i = 0;
  for (; i + 1 < n; i += 2) {
    step(i);
    step(i + 1);
  }
  if (i < n) step(i);
#define HEADSPAN_STORE(R)           \
  hn::Store(a##R, d, out + R * os); \
  hn::Store(c##R, d, out1 + R * os);
  HEADSPAN_SIX(HEADSPAN_STORE)
#undef HEADSPAN_STORE
}

template <class T>
void accumulate_values_all(const ValueTile<T>& tile) {
  const Tag<T> d;
  const Index step = 2 * static_cast<Index>(hn::Lanes(d));
  // A panel of values stays in the first-level cache while the rows pass.
  for (Index column = 0; column < tile.columns; column += step)
    for (Index row = 0; row < tile.m; row += kGroup)
      values_six(d, tile, tile.weights + row * tile.weight_stride, column,
                 tile.out + row * tile.out_stride + column);
}

// Sums of one query over a block. kColumns value columns at once, in registers.
template <TileWeight kWeight, bool kSquares, int kColumns, class T>
HWY_INLINE void reduce_row(const NarrowBlock<T>& block, const T* HWY_RESTRICT scores, T shift, double* sums) {
  const Tag<T> d;
  using V = hn::Vec<Tag<T>>;
  const Index lanes = static_cast<Index>(hn::Lanes(d));
  const Index n = round_up(block.tile.n, 2 * kPanel<T>);
  const V minus = hn::Set(d, shift);
  V sum0 = hn::Zero(d), sum1 = sum0, squares0 = sum0, squares1 = sum0;
  V y0[kColumns > 0 ? kColumns : 1], y1[kColumns > 0 ? kColumns : 1];
  for (int c = 0; c < kColumns; ++c) y0[c] = y1[c] = hn::Zero(d);
  for (Index i = 0; i < n; i += 2 * lanes) {
    const V w0 = weight_of<kWeight, false>(d, hn::Sub(hn::Load(d, scores + i), minus));
    const V w1 = weight_of<kWeight, false>(d, hn::Sub(hn::Load(d, scores + i + lanes), minus));
    sum0 = hn::Add(sum0, w0);
    sum1 = hn::Add(sum1, w1);
    if constexpr (kSquares) {
      squares0 = hn::MulAdd(w0, w0, squares0);
      squares1 = hn::MulAdd(w1, w1, squares1);
    }
    for (int c = 0; c < kColumns; ++c) {
      const T* v = block.values + c * block.value_stride + i;
      y0[c] = hn::MulAdd(w0, hn::Load(d, v), y0[c]);
      y1[c] = hn::MulAdd(w1, hn::Load(d, v + lanes), y1[c]);
    }
  }
  const auto total = [&](V a, V b) {
    return static_cast<double>(hn::GetLane(hn::SumOfLanes(d, hn::Add(a, b))));
  };
  sums[0] += total(sum0, sum1);
  if constexpr (kSquares) sums[1] += total(squares0, squares1);
  for (int c = 0; c < kColumns; ++c) sums[2 + c] += total(y0[c], y1[c]);
}

template <class T>
HWY_INLINE void leave_out(const NarrowBlock<T>& block, Index row, T* scores) {
  const Index own = block.first_own_key + row;
  if (own >= 0 && own < block.tile.n) scores[own] = -std::numeric_limits<T>::infinity();
}

template <TileWeight kWeight, bool kSquares, int kColumns, class T>
HWY_NOINLINE void narrow_rows(const NarrowBlock<T>& block, Index group) {
  const Index rows = std::min(kGroup, block.tile.m - group * kGroup);
  for (Index r = 0; r < rows; ++r) {
    const Index row = group * kGroup + r;
    T* scores = block.tile.scores + r * block.tile.stride;
    leave_out(block, row, scores);
    reduce_row<kWeight, kSquares, kColumns>(block, scores, block.shift[row],
                                            block.sums + row * (2 + block.columns));
  }
}

template <TileWeight kWeight, bool kSquares, class T>
void (*narrow_rows_for(Index columns))(const NarrowBlock<T>&, Index) {
  if (columns == 1) return narrow_rows<kWeight, kSquares, 1, T>;
  return columns == 2 ? narrow_rows<kWeight, kSquares, 2, T> : narrow_rows<kWeight, kSquares, 4, T>;
}

template <class T>
HWY_NOINLINE void score_one_group(const NarrowBlock<T>& block, Index group, Index n) {
  with_score<T>(block.score, [&](auto score) {
    score_group<decltype(score)::value>(block.tile, group, 0, n, block.tile.scores);
  });
}

template <class T>
void narrow_block_all(const NarrowBlock<T>& block) {
  const Index n = round_up(block.tile.n, 2 * kPanel<T>);
  const auto rows = with_weight(block.weight, [&](auto weight) {
    constexpr TileWeight kWeight = decltype(weight)::value;
    // Only the commonest kernel is worth a variant without the squares.
    if (kWeight == TileWeight::exp2 && !block.squares)
      return narrow_rows_for<TileWeight::exp2, false, T>(block.columns);
    return narrow_rows_for<kWeight, true, T>(block.columns);
  });
  for (Index group = 0; group * kGroup < block.tile.m; ++group) {
    score_one_group(block, group, n);
    rows(block, group);
  }
}

template <class T>
void narrow_largest_all(const NarrowBlock<T>& block, T* top) {
  const Index n = round_up(block.tile.n, 2 * kPanel<T>);
  for (Index group = 0; group * kGroup < block.tile.m; ++group) {
    score_one_group(block, group, n);
    const Index rows = std::min(kGroup, block.tile.m - group * kGroup);
    for (Index r = 0; r < rows; ++r) {
      const Index row = group * kGroup + r;
      T* scores = block.tile.scores + r * block.tile.stride;
      leave_out(block, row, scores);
      top[row] = std::max(top[row], largest_of(scores, n));
    }
  }
}

// Three rows against three rows: nine sums and six loads fill the registers of AVX2.
template <class T>
HWY_INLINE void cross_three(const T* a, const T* b, Index stride, Index n, double* out, Index count,
                            Index rows_a, Index rows_b) {
  const Tag<T> d;
  using V = hn::Vec<Tag<T>>;
  const Index lanes = static_cast<Index>(hn::Lanes(d));
  // Rows that are not there repeat row 0; their sums are not stored.
  const T *a0 = a, *a1 = rows_a > 1 ? a + stride : a, *a2 = rows_a > 2 ? a + 2 * stride : a;
  const T *b0 = b, *b1 = rows_b > 1 ? b + stride : b, *b2 = rows_b > 2 ? b + 2 * stride : b;
  V s00 = hn::Zero(d), s01 = s00, s02 = s00, s10 = s00, s11 = s00, s12 = s00, s20 = s00, s21 = s00, s22 = s00;
  for (Index i = 0; i < n; i += lanes) {
    const V y0 = hn::Load(d, b0 + i), y1 = hn::Load(d, b1 + i), y2 = hn::Load(d, b2 + i);
    const V x0 = hn::Load(d, a0 + i);
    s00 = hn::MulAdd(x0, y0, s00), s01 = hn::MulAdd(x0, y1, s01), s02 = hn::MulAdd(x0, y2, s02);
    const V x1 = hn::Load(d, a1 + i);
    s10 = hn::MulAdd(x1, y0, s10), s11 = hn::MulAdd(x1, y1, s11), s12 = hn::MulAdd(x1, y2, s12);
    const V x2 = hn::Load(d, a2 + i);
    s20 = hn::MulAdd(x2, y0, s20), s21 = hn::MulAdd(x2, y1, s21), s22 = hn::MulAdd(x2, y2, s22);
  }
  const V sums[3][3] = {{s00, s01, s02}, {s10, s11, s12}, {s20, s21, s22}};
  for (Index i = 0; i < rows_a; ++i)
    for (Index j = 0; j < rows_b; ++j)
      out[i * count + j] += static_cast<double>(hn::GetLane(hn::SumOfLanes(d, sums[i][j])));
}

template <class T>
void cross_sums_all(const T* rows_a, const T* rows_b, Index stride, Index count, Index n, double* out) {
  constexpr Index kRows = 3;
  for (Index a = 0; a < count; a += kRows)
    for (Index b = 0; b <= a; b += kRows)
      cross_three(rows_a + a * stride, rows_b + b * stride, stride, n, out + a * count + b, count,
                  std::min(kRows, count - a), std::min(kRows, count - b));
}

// The names that are dispatched, one per element type.
#define HEADSPAN_TILE_FUNCTIONS(T, S)                                                                \
  void pack_keys_##S(const T* r, Index s, Index n, Index d, T* o) { pack_keys_rows(r, s, n, d, o); } \
  void pack_queries_##S(const T* r, Index s, Index m, Index d, T f, T* o) {                          \
    pack_queries_rows(r, s, m, d, f, o);                                                             \
  }                                                                                                  \
  void score_tile_##S(TileScore h, const ScoreTile<T>& t) { score_tile_all(h, t); }                  \
  void largest_rows_##S(const WeightRows<T>& r, T* t) { largest_rows_all(r, t); }                    \
  void weigh_rows_##S(TileWeight w, const T* s, const WeightRows<T>& r, RowSums<T>* o) {             \
    weigh_rows_all(w, s, r, o);                                                                      \
  }                                                                                                  \
  void accumulate_values_##S(const ValueTile<T>& t) { accumulate_values_all(t); }                    \
  void narrow_block_##S(const NarrowBlock<T>& b) { narrow_block_all(b); }                            \
  void narrow_largest_##S(const NarrowBlock<T>& b, T* t) { narrow_largest_all(b, t); }               \
  void soft_cap_##S(T c, T* r, Index n) { soft_cap_all(c, r, n); }                                   \
  void cross_sums_##S(const T* a, const T* b, Index s, Index c, Index n, double* o) {                \
    cross_sums_all(a, b, s, c, n, o);                                                                \
  }
HEADSPAN_TILE_FUNCTIONS(float, f32)
HEADSPAN_TILE_FUNCTIONS(double, f64)
#undef HEADSPAN_TILE_FUNCTIONS
#undef HEADSPAN_SIX

}  // namespace HWY_NAMESPACE
}  // namespace headspan
HWY_AFTER_NAMESPACE();

#endif
