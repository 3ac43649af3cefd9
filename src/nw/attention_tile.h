#pragma once
// One head, a tile of queries, keys block after block: running maximum, sums and output.

#include <vector>

#include "headspan/numeric/aligned.h"
#include "nw/attention_plan.h"

namespace headspan::nw {

/// A block of keys of one batch entry.
struct KeyBlock {
  Index first = 0, n = 0;
};

template <class T>
class AttentionTile {
 public:
  AttentionTile(const AttentionPlan<T>& plan, Index most_queries, Index most_keys);

  /// Starts queries [first, first + m) of one head.
  void start(Index batch, Index head, Index first, Index m);
  /// Weights of a block relative to the running maximum, which may rise: what was summed before is brought to
  /// it. False where no query of the tile sees a key of the block: there is nothing to add.
  bool weigh(const KeyBlock& block);
  /// Adds the block's weighted values.
  void add_values(const KeyBlock& block);
  /// Writes results; queries that a tile cannot do (NaN, infinity at a visible place) come from the
  /// definition.
  void finish(const AttentionOutput<T>& output);

  /// Weights of the last block, [m][stride()], 0 beyond its last key.
  const T* weights() const { return scores_.data(); }
  Index stride() const { return stride_; }
  /// What the sums of query q before the last weigh() are to be multiplied by.
  double rescale(Index q) const { return rescale_[static_cast<std::size_t>(q)]; }
  /// sum of weights of query q, sink included, relative to its maximum; 0 where it sees nothing.
  double total(Index q) const;
  bool needs_definition(Index q) const;
  bool sees_no_key(Index q) const;
  /// Keys that some query of the tile may see by position.
  KeyRange range() const { return range_; }

 private:
  void hide(const KeyBlock& block, Index q, T* row) const;
  void hide_by_masks(const KeyBlock& block, Index q, T* row);
  void raise(Index q, T block_top, const WeightRows<T>& rows);
  void weigh_scores(const WeightRows<T>& rows);
  void hand_over();
  void write(const AttentionOutput<T>& output, Index q) const;
  bool any_odd_key_visible(Index q) const;

  const AttentionPlan<T>& plan_;
  Index stride_, batch_ = 0, head_ = 0, first_ = 0, m_ = 0;
  KeyRange range_;
  AlignedArray<T> rows_, queries_, scores_, values_;
  std::vector<double> value_sums_;  // of what was handed over, [m][value_columns]
  std::vector<KeyRange> ranges_;
  std::vector<T> shift_;              // top_, or 0 where it is still -inf
  std::vector<T> block_top_;          // largest scores of a block
  std::vector<RowSums<T>> row_sums_;  // and sums of its weights
  std::vector<double> top_, sum_, squares_, rescale_;
  std::vector<bool> odd_;
  Index since_hand_over_ = 0;
  bool handed_over_ = false;
};

extern template class AttentionTile<float>;
extern template class AttentionTile<double>;

/// Keys of a block, a multiple of two panels, where `n_blocks` of them share the first-level cache; and
/// queries of a tile: functions of the sizes alone.
template <class T>
Index attention_block_keys(Index d, Index n_blocks = 1);
inline constexpr Index kAttentionTile = 8 * kGroup;
inline constexpr Index kMostTileQueries = 16 * kGroup;

}  // namespace headspan::nw
