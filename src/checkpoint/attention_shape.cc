#include "headspan/checkpoint/attention_shape.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "checkpoint/config.h"
#include "checkpoint/counts.h"

namespace headspan::checkpoint {
namespace {

/// A row without names: every count by its usual keys, no class default.
const Layout& plain_layout() {
  static const Layout layout = [] {
    Layout made;
    made.attentions.emplace_back();
    return made;
  }();
  return layout;
}

/// The first row that knows one of the model types, outermost type first.
const Layout& layout_of(const Config& config) {
  for (const std::string& type : config.model_types())
    for (const Layout& row : builtin_layouts())
      if (std::find(row.model_types.begin(), row.model_types.end(), type) != row.model_types.end() &&
          !row.attentions.empty())
        return row;
  return plain_layout();
}

/// Self-attention of the decoder where there is one: what a generating model caches.
const AttentionNames& attention_of(const Layout& layout) {
  const auto& all = layout.attentions;
  const auto is_decoder = [](const AttentionNames& one) {
    return one.stack == "decoder" && one.attention != "cross";
  };
  const auto found = std::find_if(all.begin(), all.end(), is_decoder);
  return found == all.end() ? all.front() : *found;
}

[[noreturn]] void refuse(const Config& config, const char* quantity, const std::string& rule) {
  throw CheckpointError(FileFault::refused, {config.path(), quantity, {}}, rule);
}

Sourced stated(const std::optional<Sourced>& value, const char* quantity, const Config& config) {
  if (value) return *value;
  std::string keys;
  for (const std::string& key : config_aliases(quantity)) keys += (keys.empty() ? "" : ", ") + key;
  refuse(config, quantity,
         fmt::format("is stated under none of {}, and its class has no default; add one of the keys", keys));
}

Sourced head_dimension(const CountRules& rules, const AttentionShape& shape, const Config& config) {
  if (rules.head_dim.value) return *rules.head_dim.value;
  if (shape.d_model.value % shape.n_heads.value != 0)
    refuse(config, "head_dim",
           fmt::format("is not stated, and {} heads do not divide d_model = {}", shape.n_heads.value,
                       shape.d_model.value));
  const bool by_rule = rules.head_dim.rule == "d_model/n_heads";
  return {shape.d_model.value / shape.n_heads.value,
          by_rule ? rules.head_dim.rule_origin : "d_model / n_heads"};
}

}  // namespace

AttentionShape read_attention_shape(const std::string& path) {
  const Config config = Config::load(path);
  const Layout& layout = layout_of(config);
  const AttentionNames& names = attention_of(layout);
  const ConfigScope scope = config.scope(names.config_section, "");
  const CountRules rules = count_rules({}, layout, names, config, scope);
  AttentionShape shape;
  shape.path = path;
  shape.model_type = scope.model_type().empty() ? config.top().model_type() : scope.model_type();
  shape.layout = layout.name;
  shape.d_model = stated(rules.d_model, "d_model", config);
  shape.n_layers = shape.n_stored_layers = stated(rules.n_layers, "n_layers", config);
  if (!layout.shared_layers.empty())
    shape.n_layers = scope.number({layout.shared_layers}, false).value.value_or(shape.n_layers);
  shape.n_heads = stated(rules.n_heads.value, "n_heads", config);
  shape.head_dim = head_dimension(rules, shape, config);
  const bool by_rule = rules.n_kv_heads.rule == "n_heads";
  shape.n_kv_heads = rules.n_kv_heads.value.value_or(
      Sourced{shape.n_heads.value, by_rule ? rules.n_kv_heads.rule_origin : "as n_heads"});
  if (shape.n_heads.value % shape.n_kv_heads.value != 0)
    refuse(config, "n_kv_heads",
           fmt::format("{} heads cannot share {} key/value heads evenly", shape.n_heads.value,
                       shape.n_kv_heads.value));
  return shape;
}

}  // namespace headspan::checkpoint
