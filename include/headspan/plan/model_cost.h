#pragma once
// What the attention of a Transformer costs for each way of dividing its budget into heads.

#include <cstdint>
#include <optional>
#include <vector>

#include "headspan/plan/allocate.h"

namespace headspan::plan {

struct AttentionSize {
  Index d_model = 1, n_layers = 1;
  std::optional<Index>
      n_stored_layers{};              ///< blocks of weights, where layers share them; empty: one per layer
  std::optional<Index> n_kv_heads{};  ///< stored key/value heads; empty: one per head
  Index context = 4096;               ///< tokens attended to
  Index bytes = 2;                    ///< of a cached number
};

/// All layers together; biases and norms left out.
struct AttentionCost {
  Pair pair;
  Index n_kv_heads = 1;             ///< G
  std::int64_t parameters = 0;      ///< stored layers d_model (2 H k + 2 G k)
  std::int64_t kv_cache_bytes = 0;  ///< of one token, layers 2 G k bytes
  /// Floating-point operations for one token after `context` others: 2 for each parameter of each layer, and
  /// layers 4 context H k for scores and their weighted values.
  std::int64_t flops = 0;
};

/// The cost of every admissible pair; H is a multiple of the number of key/value heads. Throws ArgumentError
/// as admissible_pairs() does, on sizes below 1, and where a cost exceeds 2^62.
std::vector<AttentionCost> attention_costs(const AttentionSize& size, const PairRules& rules);

}  // namespace headspan::plan
