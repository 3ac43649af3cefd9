#include "headspan/numeric/tiles.h"

// SSSE3 and the newest AVX-512 add nothing to these loops that their neighbours lack.
#ifndef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_AVX3_DL)
#endif
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "numeric/tiles.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "numeric/tiles-inl.h"

#if HWY_ONCE

namespace headspan {
namespace {

#define HEADSPAN_EXPORT(S)           \
  HWY_EXPORT(pack_keys_##S);         \
  HWY_EXPORT(pack_queries_##S);      \
  HWY_EXPORT(score_tile_##S);        \
  HWY_EXPORT(largest_rows_##S);      \
  HWY_EXPORT(weigh_rows_##S);        \
  HWY_EXPORT(accumulate_values_##S); \
  HWY_EXPORT(narrow_block_##S);      \
  HWY_EXPORT(narrow_largest_##S);    \
  HWY_EXPORT(soft_cap_##S);          \
  HWY_EXPORT(cross_sums_##S);
HEADSPAN_EXPORT(f32)
HEADSPAN_EXPORT(f64)
#undef HEADSPAN_EXPORT

}  // namespace

#define HEADSPAN_DEFINE(T, S)                                                                          \
  template <>                                                                                          \
  void pack_keys(const T* rows, Index row_stride, Index n, Index d, T* out) {                          \
    HWY_DYNAMIC_DISPATCH(pack_keys_##S)(rows, row_stride, n, d, out);                                  \
  }                                                                                                    \
  template <>                                                                                          \
  void pack_queries(const T* rows, Index row_stride, Index m, Index d, T factor, T* out) {             \
    HWY_DYNAMIC_DISPATCH(pack_queries_##S)(rows, row_stride, m, d, factor, out);                       \
  }                                                                                                    \
  template <>                                                                                          \
  void score_tile(TileScore how, const ScoreTile<T>& tile) {                                           \
    HWY_DYNAMIC_DISPATCH(score_tile_##S)(how, tile);                                                   \
  }                                                                                                    \
  template <>                                                                                          \
  void largest_rows(const WeightRows<T>& rows, T* top) {                                               \
    HWY_DYNAMIC_DISPATCH(largest_rows_##S)(rows, top);                                                 \
  }                                                                                                    \
  template <>                                                                                          \
  void weigh_rows(TileWeight weight, const T* shift, const WeightRows<T>& rows, RowSums<T>* sums) {    \
    HWY_DYNAMIC_DISPATCH(weigh_rows_##S)(weight, shift, rows, sums);                                   \
  }                                                                                                    \
  template <>                                                                                          \
  void accumulate_values(const ValueTile<T>& tile) {                                                   \
    HWY_DYNAMIC_DISPATCH(accumulate_values_##S)(tile);                                                 \
  }                                                                                                    \
  template <>                                                                                          \
  void narrow_block(const NarrowBlock<T>& block) {                                                     \
    HWY_DYNAMIC_DISPATCH(narrow_block_##S)(block);                                                     \
  }                                                                                                    \
  template <>                                                                                          \
  void narrow_largest(const NarrowBlock<T>& block, T* top) {                                           \
    HWY_DYNAMIC_DISPATCH(narrow_largest_##S)(block, top);                                              \
  }                                                                                                    \
  template <>                                                                                          \
  void soft_cap_row(T cap, T* row, Index n) {                                                          \
    HWY_DYNAMIC_DISPATCH(soft_cap_##S)(cap, row, n);                                                   \
  }                                                                                                    \
  template <>                                                                                          \
  void cross_sums(const T* rows, Index stride, Index count, Index n, double* out) {                    \
    HWY_DYNAMIC_DISPATCH(cross_sums_##S)(rows, rows, stride, count, n, out);                           \
  }                                                                                                    \
  template <>                                                                                          \
  void cross_sums(const T* rows_a, const T* rows_b, Index stride, Index count, Index n, double* out) { \
    HWY_DYNAMIC_DISPATCH(cross_sums_##S)(rows_a, rows_b, stride, count, n, out);                       \
  }
HEADSPAN_DEFINE(float, f32)
HEADSPAN_DEFINE(double, f64)
#undef HEADSPAN_DEFINE

}  // namespace headspan

#endif
