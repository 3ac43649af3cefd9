#include "checkpoint/counts.h"

#include <fmt/format.h>

namespace headspan::checkpoint {
namespace {

constexpr std::int64_t kLargestFlag = std::int64_t{1} << 30;
constexpr const char* kRemedy = "correct the configuration, or state --heads, --kv-heads and --head-dim";

[[noreturn]] void contradiction(const std::string& reason) {
  throw LayerTrouble(LayerTrouble::Kind::contradiction, reason + "; " + kRemedy);
}

std::string shown(const char* quantity, const Sourced& number) {
  return fmt::format("{} = {} ({})", quantity, number.value, number.origin);
}

std::vector<std::string> keys_of(const AttentionNames& names, const std::string& quantity) {
  const auto own = names.config_keys.find(quantity);
  return own == names.config_keys.end() ? config_aliases(quantity) : own->second;
}

std::optional<Sourced> flag_value(const std::optional<std::int64_t>& flag, const char* name) {
  if (!flag) return {};
  if (*flag <= 0 || *flag > kLargestFlag)
    throw ArgumentError(fmt::format("{} is {}: it must lie between 1 and {}", name, *flag, kLargestFlag));
  return Sourced{*flag, name};
}

/// The part of a rule that a class default settles.
void apply_default(CountRule& rule, const std::optional<ClassDefault>& found) {
  if (!found) return;
  if (const auto* number = std::get_if<std::int64_t>(&found->value)) {
    rule.value = Sourced{*number, found->origin};
  } else {
    rule.rule = std::get<std::string>(found->value);
    rule.rule_origin = found->origin + ": " + rule.rule;
  }
}

CountRule count_rule(const std::string& quantity, const std::optional<Sourced>& flag, const Layout& layout,
                     const AttentionNames& names, const Config& config, const ConfigScope& scope) {
  CountRule rule;
  const auto fixed = layout.fixed.find(quantity);
  if (fixed != layout.fixed.end()) {
    if (flag && flag->value != fixed->second)
      throw CheckpointError(
          FileFault::refused, {config.path(), quantity, {}},
          fmt::format("{} is {}, but layout {} has {}; drop the flag or force another --layout", flag->origin,
                      flag->value, layout.name, fixed->second));
    rule.value = Sourced{fixed->second, "layout " + layout.name};
    return rule;
  }
  if (flag) {
    rule.value = flag;
    return rule;
  }
  const ConfigNumber stated = scope.exists() ? scope.number(keys_of(names, quantity), true) : ConfigNumber{};
  if (stated.value) {
    rule.value = stated.value;
    return rule;
  }
  const std::optional<ClassDefault> absent = class_default(layout, config, scope, quantity);
  const std::optional<ClassDefault> null =
      stated.null_key.empty() ? std::nullopt : class_default(layout, config, scope, quantity + "_if_null");
  apply_default(rule, null ? null : absent);
  if (null && absent && std::holds_alternative<std::int64_t>(absent->value))
    rule.alternative = Sourced{std::get<std::int64_t>(absent->value), absent->origin};
  return rule;
}

Sourced query_heads(const CountRules& rules, const LayerShapes& shapes) {
  if (rules.n_heads.value) return *rules.n_heads.value;
  std::int64_t head_dim = 0;
  if (rules.head_dim.value) head_dim = rules.head_dim.value->value;
  const bool norm_is_per_head = shapes.query_norm > 0 && shapes.query_norm < shapes.query_rows;
  if (head_dim == 0 && norm_is_per_head) head_dim = shapes.query_norm;
  if (head_dim == 0)
    throw LayerTrouble(
        LayerTrouble::Kind::unknown,
        fmt::format("the number of heads is not known: {}, and {} fixes only n_heads * head_dim = {}; state "
                    "--heads (and --kv-heads or --head-dim where D / heads is not the head dimension){}",
                    rules.has_config ? "the configuration states no head count and its class has no default"
                                     : "there is no configuration",
                    shapes.query_text, shapes.query_rows,
                    rules.has_config ? "" : ", or give the model's config.json with --config"));
  if (shapes.query_rows % head_dim != 0)
    contradiction(
        fmt::format("{} is not a whole number of heads of dimension {}", shapes.query_text, head_dim));
  return {shapes.query_rows / head_dim, "shapes: query rows / head_dim"};
}

Sourced head_dimension(const CountRules& rules, const LayerShapes& shapes, const Sourced& n_heads_in_class,
                       std::int64_t n_heads) {
  if (rules.head_dim.value) return *rules.head_dim.value;
  if (rules.head_dim.rule == "d_model/n_heads") {
    const Sourced d_model =
        rules.d_model.value_or(Sourced{shapes.width, "shapes: width of " + shapes.query_text});
    if (d_model.value % n_heads_in_class.value != 0)
      contradiction(fmt::format("{} does not divide {}, and no head_dim is stated",
                                shown("n_heads", n_heads_in_class), shown("d_model", d_model)));
    return {d_model.value / n_heads_in_class.value, rules.head_dim.rule_origin};
  }
  if (shapes.query_norm > 0 && shapes.query_norm * n_heads == shapes.query_rows)
    return {shapes.query_norm, "shapes: length of the query norm"};
  if (shapes.query_rows % n_heads != 0)
    contradiction(fmt::format("{} does not divide the rows of {}", shown("n_heads", n_heads_in_class),
                              shapes.query_text));
  return {shapes.query_rows / n_heads, "shapes: query rows / n_heads"};
}

Sourced key_heads(const CountRules& rules, const LayerShapes& shapes, const Sourced& n_heads,
                  const Sourced& head_dim) {
  const CountRule& rule = rules.n_kv_heads;
  const std::int64_t rows = shapes.key_rows;
  if (rule.rule == "n_heads") {
    const bool other_fits = rule.alternative && n_heads.value * head_dim.value != rows &&
                            rule.alternative->value * head_dim.value == rows;
    return other_fits ? *rule.alternative : Sourced{n_heads.value, rule.rule_origin};
  }
  if (rule.value) return *rule.value;
  if (rows % head_dim.value != 0 || rows == 0)
    contradiction(
        fmt::format("{} is not a whole number of heads of {}", shapes.key_text, shown("head_dim", head_dim)));
  return {rows / head_dim.value, "shapes: key rows / head_dim"};
}

void check_rows(const char* quantity, const Sourced& heads, const Sourced& head_dim, std::int64_t rows,
                const std::string& text) {
  const std::int64_t needed = heads.value * head_dim.value;
  if (needed == rows) return;
  std::string instead;
  if (rows % head_dim.value == 0)
    instead = fmt::format(", {} heads of {}", rows / head_dim.value, head_dim.value);
  else if (rows % heads.value == 0)
    instead = fmt::format(", {} heads of {}", heads.value, rows / heads.value);
  contradiction(fmt::format("{} with {} needs {} rows, but {} holds {}{}", shown(quantity, heads),
                            shown("head_dim", head_dim), needed, text, rows, instead));
}

void check_grouping(const Counts& counts, FusedCode code) {
  if (counts.n_heads.value % counts.n_kv_heads.value != 0)
    contradiction(fmt::format("{} heads cannot share {} key/value heads evenly: {}, {}", counts.n_heads.value,
                              counts.n_kv_heads.value, shown("n_heads", counts.n_heads),
                              shown("n_kv_heads", counts.n_kv_heads)));
  const bool equal_only = code == FusedCode::per_head || code == FusedCode::qvk_slabs;
  if (equal_only && counts.n_heads.value != counts.n_kv_heads.value)
    contradiction(fmt::format("the fused order {} has one key head per query head, but {}, {}",
                              to_string(code), shown("n_heads", counts.n_heads),
                              shown("n_kv_heads", counts.n_kv_heads)));
  if (code == FusedCode::qvk_slabs && counts.n_heads.value % 4 != 0)
    contradiction(fmt::format("the fused order QVK4 has four slabs, but {} is no multiple of 4",
                              shown("n_heads", counts.n_heads)));
}

}  // namespace

std::optional<ClassDefault> class_default(const Layout& layout, const Config& config,
                                          const ConfigScope& scope, const std::string& quantity) {
  std::vector<std::string> classes;
  if (scope.exists()) classes = {scope.model_type(), scope.section(), config.top().model_type()};
  for (const std::string& name : classes) {
    const auto defaults = layout.defaults.find(name);
    if (name.empty() || defaults == layout.defaults.end()) continue;
    const auto found = defaults->second.find(quantity);
    if (found != defaults->second.end()) return ClassDefault{found->second, "class default of " + name};
  }
  const auto any = layout.defaults.find("*");
  if (any == layout.defaults.end() || !any->second.contains(quantity)) return {};
  return ClassDefault{any->second.at(quantity), "layout " + layout.name};
}

CountRules count_rules(const ModelOptions& options, const Layout& layout, const AttentionNames& names,
                       const Config& config, const ConfigScope& scope) {
  const auto rule = [&](const char* quantity, const std::optional<std::int64_t>& flag,
                        const char* flag_name) {
    return count_rule(quantity, flag_value(flag, flag_name), layout, names, config, scope);
  };
  CountRules rules;
  rules.n_heads = rule("n_heads", options.n_heads, "--heads");
  rules.n_kv_heads = rule("n_kv_heads", options.n_kv_heads, "--kv-heads");
  rules.head_dim = rule("head_dim", options.head_dim, "--head-dim");
  rules.has_config = config.exists();
  if (scope.exists()) {
    rules.d_model = scope.number(keys_of(names, "d_model"), false).value;
    rules.n_layers = scope.number(keys_of(names, "n_layers"), false).value;
  }
  return rules;
}

Counts layer_counts(const CountRules& rules, const LayerShapes& shapes, FusedCode code,
                    std::int64_t n_pruned) {
  if (rules.d_model && rules.d_model->value != shapes.width)
    contradiction(fmt::format("{}, but {} reads a width of {}", shown("d_model", *rules.d_model),
                              shapes.query_text, shapes.width));
  Counts counts;
  const Sourced in_class = query_heads(rules, shapes);
  counts.n_heads = in_class;
  if (n_pruned > 0) {
    counts.n_heads.value -= n_pruned;
    counts.n_heads.origin += ", less pruned_heads";
    if (counts.n_heads.value <= 0)
      contradiction(fmt::format("pruned_heads leaves no head of {}", in_class.value));
  }
  counts.head_dim = head_dimension(rules, shapes, in_class, counts.n_heads.value);
  counts.n_kv_heads = key_heads(rules, shapes, counts.n_heads, counts.head_dim);
  check_grouping(counts, code);
  check_rows("n_heads", counts.n_heads, counts.head_dim, shapes.query_rows, shapes.query_text);
  check_rows("n_kv_heads", counts.n_kv_heads, counts.head_dim, shapes.key_rows, shapes.key_text);
  if (shapes.value_rows % counts.n_kv_heads.value != 0)
    contradiction(fmt::format("{} does not divide the rows of {}", shown("n_kv_heads", counts.n_kv_heads),
                              shapes.value_text));
  counts.value_dim = shapes.value_rows / counts.n_kv_heads.value;
  if (shapes.output_inner != counts.n_heads.value * counts.value_dim)
    contradiction(fmt::format(
        "{} and values of dimension {} ({}) need an output projection that reads {}, but {} reads {}",
        shown("n_heads", counts.n_heads), counts.value_dim, shapes.value_text,
        counts.n_heads.value * counts.value_dim, shapes.output_text, shapes.output_inner));
  return counts;
}

}  // namespace headspan::checkpoint
