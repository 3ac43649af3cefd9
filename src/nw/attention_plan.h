#pragma once
// An attention call made ready: shapes checked, keys and values laid out for tiles.

#include <cmath>
#include <limits>
#include <vector>

#include "headspan/numeric/aligned.h"
#include "headspan/numeric/tiles.h"
#include "headspan/nw/attention.h"

namespace headspan::nw {

/// Keys [first, last) that a query may see by position: causal order, window, padding.
struct KeyRange {
  Index first = 0, last = 0;
};

/// What every tile of one call reads. Scores are in units of log 2, so that a weight is 2^score.
template <class T>
struct AttentionPlan {
  AttentionPlan(const AttentionInput<T>& attention_input, const AttentionOptions& attention_options);

  const AttentionInput<T>& input;
  const AttentionOptions& options;
  Index n_batch, n_heads, n_kv_heads, m, n, d, value_dim;
  double scale;  ///< of the scores in natural logarithms

  Index group() const { return n_heads / n_kv_heads; }
  KeyRange range(Index batch, Index query) const;
  bool has_masks() const { return static_cast<bool>(input.bias) || static_cast<bool>(input.visible); }

  /// Keys of one key head as panels, from key `first`, a multiple of two panels.
  const T* keys(Index batch, Index kv_head, Index first) const;
  /// Values of one key head in panels of columns from row `first`, panels value_panel_stride() apart, padding
  /// 0.
  const T* values(Index batch, Index kv_head, Index first) const;
  Index value_panel_stride() const { return n * kPanel<T>; }
  /// 0, and -inf beyond the last key.
  const T* key_bias(Index first) const { return key_bias_.data() + first; }
  /// Keys of which the key or value is not finite: they take no part in tiles.
  const std::vector<Index>& odd_keys(Index batch, Index kv_head) const;
  Index value_columns;

 private:
  void check() const;
  void lay_out();
  void lay_out_head(Index batch, Index kv_head);
  void lay_out_values(Index batch, Index kv_head);

  Index padded_n_;
  AlignedArray<T> keys_, values_, key_bias_;
  std::vector<std::vector<Index>> odd_keys_;
};

/// One score in natural logarithms from the definition, in double: mask and all; -inf where hidden.
template <class T>
double score_of(const AttentionPlan<T>& plan, Index batch, Index head, Index query, Index key,
                ScoreStage stage);

/// One query's result from the definition, in double. NaN and infinity at visible places propagate.
struct AttentionRow {
  Vector output;
  double log_normaliser, n_eff;
  double top = -std::numeric_limits<double>::infinity();  ///< largest score
  double total = 1.0;  ///< sum of exp(score - top), that of the sink included
  /// Of a key with this score. Not exp(score - log_normaliser): scores of a row that a mask lowers by 1e30
  /// leave no place in that for the logarithm of their number.
  double weight(double score) const {
    return score == -std::numeric_limits<double>::infinity() ? 0.0 : std::exp(score - top) / total;
  }
};
template <class T>
AttentionRow row_of(const AttentionPlan<T>& plan, Index batch, Index head, Index query);

/// Sum of scores' exponentials is 0: the query sees no key.
inline constexpr double kSeesNothing = -std::numeric_limits<double>::infinity();

}  // namespace headspan::nw
