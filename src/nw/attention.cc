#include "headspan/nw/attention.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <vector>

#include "headspan/numeric/error.h"
#include "headspan/numeric/parallel.h"
#include "nw/attention_plan.h"
#include "nw/attention_tile.h"

namespace headspan::nw {
namespace {

// A task is a run of tiles of one head: enough of them to share a block of keys in cache, few enough that
// there are tasks for every core. Depends on the sizes alone.
template <class T>
Index tiles_per_task(const AttentionPlan<T>& plan) {
  constexpr Index kMost = 4, kTasksWanted = 64;
  const Index tiles = plan.n_batch * plan.n_heads * ((plan.m + kAttentionTile - 1) / kAttentionTile);
  return std::clamp<Index>(tiles / kTasksWanted, 1, kMost);
}

template <class T>
void run_task(const AttentionPlan<T>& plan, const AttentionOutput<T>& output, Index batch, Index head,
              Index first, Index last) {
  const Index keys = attention_block_keys<T>(plan.d);
  std::vector<std::unique_ptr<AttentionTile<T>>> tiles;
  KeyRange range{plan.n, 0};
  for (Index query = first; query < last; query += kAttentionTile) {
    const Index m = std::min(kAttentionTile, last - query);
    tiles.push_back(std::make_unique<AttentionTile<T>>(plan, m, keys));
    tiles.back()->start(batch, head, query, m);
    range.first = std::min(range.first, tiles.back()->range().first);
    range.last = std::max(range.last, tiles.back()->range().last);
  }
  for (Index key = range.first / keys * keys; key < range.last; key += keys) {
    const KeyBlock block{key, std::min(keys, plan.n - key)};
    for (const auto& tile : tiles)
      if (tile->weigh(block)) tile->add_values(block);
  }
  for (const auto& tile : tiles) tile->finish(output);
}

// The late soft cap gives hidden keys a weight, which tiles that skip them cannot.
template <class T>
void run_by_definition(const AttentionPlan<T>& plan, const AttentionOutput<T>& output) {
  parallel_for(plan.n_batch * plan.n_heads * plan.m, [&](Index i) {
    const Index query = i % plan.m, head = i / plan.m % plan.n_heads, batch = i / plan.m / plan.n_heads;
    const AttentionRow row = row_of(plan, batch, head, query);
    if (output.log_normaliser) *output.log_normaliser.at(batch, head, query) = row.log_normaliser;
    if (output.n_eff) *output.n_eff.at(batch, head, query) = row.n_eff;
    if (!output.output) return;
    for (Index c = 0; c < plan.value_dim; ++c)
      output.output.at(batch, head, query)[c * output.output.stride[3]] = static_cast<T>(row.output[c]);
  });
}

template <class T>
void write_scores(const AttentionPlan<T>& plan, const AttentionOutput<T>& output) {
  const ScoreStage stage = plan.options.stage;
  parallel_for(plan.n_batch * plan.n_heads * plan.m, [&](Index i) {
    const Index query = i % plan.m, head = i / plan.m % plan.n_heads, batch = i / plan.m / plan.n_heads;
    T* to = output.scores.at(batch, head, query);
    std::optional<AttentionRow> row;
    if (stage == ScoreStage::weights) row = row_of(plan, batch, head, query);
    for (Index key = 0; key < plan.n; ++key) {
      const double score = score_of(plan, batch, head, query, key, stage);
      to[key * output.scores.stride[3]] = static_cast<T>(row ? row->weight(score) : score);
    }
  });
}

template <class S>
void check_span(const char* name, const TensorSpan<S>& span, const std::array<Index, 4>& want) {
  if (span && span.shape != want)
    throw ArgumentError(std::string(name) + ": the space given has another shape");
}

}  // namespace

template <class T>
void attention(const AttentionInput<T>& input, const AttentionOptions& options,
               const AttentionOutput<T>& output) {
  const AttentionPlan<T> plan(input, options);
  check_span("output", output.output, {plan.n_batch, plan.n_heads, plan.m, plan.value_dim});
  check_span("log_normaliser", output.log_normaliser, {plan.n_batch, plan.n_heads, plan.m, 1});
  check_span("n_eff", output.n_eff, {plan.n_batch, plan.n_heads, plan.m, 1});
  check_span("scores", output.scores, {plan.n_batch, plan.n_heads, plan.m, plan.n});
  if (output.scores) write_scores(plan, output);
  if (options.cap_after_mask && options.soft_cap > 0.0) {
    run_by_definition(plan, output);
    return;
  }
  const Index queries = tiles_per_task(plan) * kAttentionTile;
  const Index per_head = (plan.m + queries - 1) / queries;
  parallel_for(plan.n_batch * plan.n_heads * per_head, [&](Index task) {
    const Index first = task % per_head * queries, head = task / per_head % plan.n_heads;
    run_task(plan, output, task / per_head / plan.n_heads, head, first, std::min(plan.m, first + queries));
  });
}

template void attention(const AttentionInput<float>&, const AttentionOptions&, const AttentionOutput<float>&);
template void attention(const AttentionInput<double>&, const AttentionOptions&,
                        const AttentionOutput<double>&);

}  // namespace headspan::nw
