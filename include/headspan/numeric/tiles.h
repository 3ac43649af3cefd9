#pragma once
// The inner loops of kernel regression and attention on tiles of queries x keys: vectorised, instruction set
// chosen at run time. T is float or double throughout. Nothing here allocates or checks; sizes are the
// caller's promise.

#include <cstddef>

#include "headspan/numeric/matrix.h"

namespace headspan {

/// Keys lie in panels of this many, one cache line of elements; queries in groups of kGroup; values in rows
/// padded to a multiple of kValuePad elements.
template <class T>
inline constexpr Index kPanel = 64 / static_cast<Index>(sizeof(T));
template <class T>
inline constexpr Index kValuePad = 2 * kPanel<T>;
inline constexpr Index kGroup = 6;

constexpr Index round_up(Index n, Index multiple) { return (n + multiple - 1) / multiple * multiple; }

/// How a score s becomes a weight: exp2 2^s; laplace 2^(-sqrt(-s)); the compact ones take s = -u^2.
enum class TileWeight { exp2, laplace, epanechnikov, biweight, triweight, tricube, uniform };

/// How a score comes about. product: bias + q.k. difference: bias - sum_j (k_j - q_j)^2. scaled_difference:
/// the same with (k_j - q_j) scale_j, for inputs that lose digits when they are scaled first.
enum class TileScore { product, difference, scaled_difference };

/// Rows of `row_stride` elements into panels: out[panel][j][lane], lanes beyond `n` zero. Space for
/// round_up(n, kPanel) * d elements.
template <class T>
void pack_keys(const T* rows, Index row_stride, Index n, Index d, T* out);
/// Rows times `factor` into groups: out[group][j][row], rows beyond `m` zero. Space for round_up(m, kGroup) *
/// d.
template <class T>
void pack_queries(const T* rows, Index row_stride, Index m, Index d, T factor, T* out);

template <class T>
struct ScoreTile {
  const T* queries;  ///< packed, m of them
  const T* keys;     ///< packed, n of them
  const T* bias;     ///< [round_up(n, kPanel)] added to every query's score; -inf in the padding
  const T* scale;    ///< [d], scaled_difference only
  Index m, n, d;
  T* scores;  ///< [round_up(m, kGroup)][stride]; columns up to round_up(n, 2 kPanel) are written
  Index stride;
};

/// All scores of a tile. `keys` and `bias` must extend to round_up(n, 2 kPanel).
template <class T>
void score_tile(TileScore how, const ScoreTile<T>& tile);

/// m rows of n elements, n a multiple of 2 kPanel: scores, or the weights they become.
template <class T>
struct WeightRows {
  T* data;
  Index stride, m, n;
};

/// top[row] = the largest element of the row; NaN are not looked for.
template <class T>
void largest_rows(const WeightRows<T>& rows, T* top);

template <class T>
struct RowSums {
  T sum, sum_of_squares;
};

/// row[i] = weight(row[i] - shift[row]) in place, and the sums of every row. exp2 gives exact zeros below
/// 2^-126 (float) or 2^-1022 (double).
template <class T>
void weigh_rows(TileWeight weight, const T* shift, const WeightRows<T>& rows, RowSums<T>* sums);

/// out[row][c] += sum_i weights[row][i] values_i,c for c < columns, `columns` a multiple of kValuePad, m rows
/// in groups of kGroup (padded rows are touched). Values lie in panels of kPanel columns, each with its rows
/// one after the other.
template <class T>
struct ValueTile {
  const T* weights;
  Index weight_stride;
  const T* values;  ///< row 0 of panel 0
  Index panel_stride;
  Index m, n, columns;
  T* out;
  Index out_stride;
};
template <class T>
void accumulate_values(const ValueTile<T>& tile);

/// Few value columns: scores, weights and sums of a block of keys, the weights never stored.
template <class T>
struct NarrowBlock {
  ScoreTile<T> tile;  ///< scores: scratch of kGroup rows of `stride`
  TileScore score;
  TileWeight weight;
  const T* shift;       ///< [round_up(m, kGroup)] subtracted from a query's scores
  Index first_own_key;  ///< leave-one-out: the key of the block that is query 0 (may lie outside); else
                        ///< kNoOwnKey
  const T* values;      ///< [columns][value_stride], padding zero
  Index value_stride, columns;  ///< columns 1, 2 or 4
  bool squares;                 ///< sums of squared weights too
  double* sums;  ///< [round_up(m, kGroup)][2 + columns] += sum, sum of squares, weighted values
};
inline constexpr Index kNoOwnKey = -(Index{1} << 62);
template <class T>
void narrow_block(const NarrowBlock<T>& block);

/// Largest score of every query over a block of keys, the query's own key left out: top[q] = max(top[q],
/// ...).
template <class T>
void narrow_largest(const NarrowBlock<T>& block, T* top);

/// row[i] = cap * tanh(row[i] / cap).
template <class T>
void soft_cap_row(T cap, T* row, Index n);

/// out[a][b] += sum_i rows[a][i] rows[b][i] for b <= a < count, out [count][count]; rows of `stride`, n a
/// multiple of 2 kPanel.
template <class T>
void cross_sums(const T* rows, Index stride, Index count, Index n, double* out);
/// The same with rows_a and rows_b: out[a][b] += sum_i rows_a[a][i] rows_b[b][i] for b <= a.
template <class T>
void cross_sums(const T* rows_a, const T* rows_b, Index stride, Index count, Index n, double* out);

}  // namespace headspan
