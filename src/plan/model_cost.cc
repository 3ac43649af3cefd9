#include "headspan/plan/model_cost.h"

#include <fmt/format.h>

#include <initializer_list>

#include "headspan/numeric/error.h"

namespace headspan::plan {
namespace {

/// The product, or ArgumentError beyond 2^62.
std::int64_t product(std::initializer_list<Index> factors) {
  std::int64_t out = 1;
  for (const Index factor : factors)
    if (__builtin_mul_overflow(out, std::int64_t{factor}, &out) || out > std::int64_t{1} << 62)
      throw ArgumentError("model: a cost exceeds 2^62, so some size is no model's");
  return out;
}

AttentionCost cost_of(const AttentionSize& size, const Pair& pair) {
  AttentionCost out;
  out.pair = pair;
  out.n_kv_heads = size.n_kv_heads.value_or(pair.n_heads);
  const Index heads = pair.n_heads + out.n_kv_heads;
  out.parameters =
      product({2, size.n_stored_layers.value_or(size.n_layers), size.d_model, heads, pair.head_dim});
  out.kv_cache_bytes = product({2, size.n_layers, out.n_kv_heads, pair.head_dim, size.bytes});
  const std::int64_t attended = product({4, size.n_layers, size.context, pair.n_heads, pair.head_dim});
  if (__builtin_add_overflow(product({4, size.n_layers, size.d_model, heads, pair.head_dim}), attended,
                             &out.flops))
    throw ArgumentError("model: a cost exceeds 2^62, so some size is no model's");
  return out;
}

}  // namespace

std::vector<AttentionCost> attention_costs(const AttentionSize& size, const PairRules& rules) {
  const auto positive = [](const char* name, Index value) {
    if (value < 1) throw ArgumentError(fmt::format("{}: must be at least 1, it is {}", name, value));
  };
  positive("d_model", size.d_model);
  positive("n_layers", size.n_layers);
  positive("n_stored_layers", size.n_stored_layers.value_or(1));
  positive("context", size.context);
  positive("bytes", size.bytes);
  PairRules grouped = rules;
  grouped.n_kv_heads = size.n_kv_heads.value_or(1);
  std::vector<AttentionCost> out;
  for (const Pair& pair : admissible_pairs(grouped)) out.push_back(cost_of(size, pair));
  return out;
}

}  // namespace headspan::plan
