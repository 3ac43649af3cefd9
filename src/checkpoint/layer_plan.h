#pragma once
// One attention layer of a file, ready to be read: its tensors, their order, and the norms to fold.

#include "checkpoint/counts.h"
#include "checkpoint/names.h"
#include "headspan/checkpoint/container.h"
#include "headspan/checkpoint/model.h"

namespace headspan::checkpoint {

/// A norm to fold into the projections that read its output: W diag(gain + offset), and for LayerNorm (I -
/// 11^T/d) after it, since a LayerNorm takes the mean off its input.
struct NormFold {
  const TensorEntry* gain = nullptr;  ///< nullptr: nothing is folded
  bool centre = false;
  double offset = 0.0;
};

struct LayerPlan {
  const AttentionNames* names = nullptr;
  const TensorEntry *query = nullptr, *key = nullptr, *value = nullptr, *fused = nullptr, *output = nullptr;
  std::vector<const TensorEntry*> query_norm, key_norm;  ///< none, one, or one per head in their order
  NormFold query_fold, memory_fold;                      ///< of the queries; of keys and values
};

/// What a layer is looked up with.
struct LayerQuestion {
  const StackNames* stack = nullptr;
  int number = 0;
  const CountRules* rules = nullptr;
  FoldNorm fold_norm = FoldNorm::automatic;
  std::int64_t n_pruned = 0;
};

/// Finds the tensors of a layer and checks them. Fills `place` as far as it gets, throws LayerTrouble.
/// `counts` receives the numbers with their origins.
LayerPlan plan_layer(const Container& container, const LayerQuestion& question, LayerPlace& place,
                     Counts& counts);

/// The weights of a planned layer; `place` supplies the counts.
LayerHeads read_heads(const Container& container, const LayerPlan& plan, const LayerPlace& place);

/// The stored fused matrix with its heads along the rows; empty for separate layouts.
Matrix read_fused_rows(const Container& container, const LayerPlan& plan);

}  // namespace headspan::checkpoint
