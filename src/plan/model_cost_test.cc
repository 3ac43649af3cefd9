#include "headspan/plan/model_cost.h"

#include <gtest/gtest.h>

#include "headspan/numeric/error.h"

namespace headspan::plan {
namespace {

TEST(AttentionCosts, OfAPublishedModel) {
  // Llama 3 8B: 32 layers, width 4096, 32 heads of 128 that share 8: W_Q and W_O 4096^2, W_K and W_V 4096 x
  // 1024.
  const auto costs = attention_costs({.d_model = 4096, .n_layers = 32, .n_kv_heads = 8, .context = 8192},
                                     {.budget = 4096, .exact = true, .multiple_of = 64});
  ASSERT_EQ(costs.size(), 4u);  // 64 x 64, 128 x 32, 256 x 16, 512 x 8
  const AttentionCost& model = costs[1];
  EXPECT_EQ(model.pair, (Pair{128, 32}));
  EXPECT_EQ(model.parameters, 32ll * (2 * 4096 * 4096 + 2 * 4096 * 1024));
  EXPECT_EQ(model.kv_cache_bytes, 131072);  // 128 KiB a token
  EXPECT_EQ(model.flops, 2 * model.parameters + 32ll * 4 * 8192 * 4096);
}

TEST(AttentionCosts, OneKeyHeadPerHeadCostsTheSameHoweverDivided) {
  const auto costs = attention_costs({.d_model = 768, .n_layers = 12}, {.budget = 768, .exact = true});
  for (const AttentionCost& cost : costs) {
    EXPECT_EQ(cost.n_kv_heads, cost.pair.n_heads);
    EXPECT_EQ(cost.parameters, 12 * 4 * 768 * 768);
    EXPECT_EQ(cost.kv_cache_bytes, 12 * 2 * 768 * 2);
  }
}

TEST(AttentionCosts, SharedLayersAreStoredOnceAndRunEachTime) {
  const auto costs = attention_costs({.d_model = 64, .n_layers = 12, .n_stored_layers = 1, .context = 10},
                                     {.budget = 64, .exact = true, .multiple_of = 64});
  EXPECT_EQ(costs[0].parameters, 4 * 64 * 64);
  EXPECT_EQ(costs[0].kv_cache_bytes, 12 * 2 * 64 * 2);
  EXPECT_EQ(costs[0].flops, 12 * (2 * 4 * 64 * 64 + 4 * 10 * 64));
}

TEST(AttentionCosts, RefusesWhatCannotBe) {
  EXPECT_THROW(attention_costs({.d_model = 0}, {.budget = 8}), ArgumentError);
  EXPECT_THROW(attention_costs({.context = 0}, {.budget = 8}), ArgumentError);
  EXPECT_THROW(attention_costs({.n_kv_heads = 16}, {.budget = 8}), ArgumentError);
  const Index huge = Index{1} << 40;
  EXPECT_THROW(attention_costs({.d_model = huge, .n_layers = huge}, {.budget = 8}), ArgumentError);
}

}  // namespace
}  // namespace headspan::plan
