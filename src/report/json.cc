#include <nlohmann/json.hpp>
#include <ostream>

#include "headspan/report/report.h"
#include "report/json_values.h"

namespace headspan::report {
namespace {

using audit::AuditReport;
using audit::HeadFacts;
using audit::LayerFacts;
using audit::PairFacts;
using audit::SourceFacts;
using Json = nlohmann::ordered_json;

// Bytes of a path or a tensor name that are not UTF-8 become U+FFFD: the document stays valid.
std::string dump(const Json& value) { return value.dump(-1, ' ', false, Json::error_handler_t::replace); }

template <class T>
Json optional_value(const std::optional<T>& value) {
  if (!value) return {};
  if constexpr (std::is_floating_point_v<T>)
    return number(*value);
  else
    return *value;
}

// The facts write 0 for a number nobody knows.
Json known(std::int64_t value) { return value == 0 ? Json() : Json(value); }

Json known(const std::string& text) { return text.empty() ? Json() : Json(text); }

Json model_object(const audit::ModelFacts& model) {
  return {{"path", model.path},
          {"format", model.format},
          {"layout", model.layout},
          {"layout_code", model.layout_code},
          {"n_layers", model.n_layers},
          {"d_model", known(model.d_model)},
          {"n_heads", optional_value(model.n_heads)},
          {"n_kv_heads", optional_value(model.n_kv_heads)},
          {"head_dim", optional_value(model.head_dim)},
          {"origin", model.origin},
          {"prefixes", model.prefixes},
          {"notes", model.notes}};
}

Json options_object(const audit::AuditOptions& options) {
  return {{"source", to_string(options.source)},
          {"alpha", options.alpha},
          {"bandwidth", optional_value(options.bandwidth)},
          {"fold_norm", options.fold_norm},
          {"covariance", known(options.covariance_path)},
          {"seed", options.seed},
          {"n_samples", options.n_samples},
          {"pairs", options.n_pairs},
          {"all_angles", options.all_angles},
          {"min_hdi", optional_value(options.min_hdi)},
          {"max_redundant", optional_value(options.max_redundant)},
          {"relative_offset", 0},
          {"qk_norm_gain", "folded into score and head"},
          {"biases", "left out"}};
}

Json roles_object(const std::optional<audit::RoleFacts>& roles) {
  if (!roles) return {};
  Json scores = Json::object();
  for (const auto& [code, score] : roles->scores) scores[code] = number(score);
  return {{"stated", roles->stated},
          {"best", known(roles->best)},
          {"scores", std::move(scores)},
          {"confidence", number(roles->confidence)},
          {"verdict", roles->verdict}};
}

Json source_object(const SourceFacts& facts, bool matrices) {
  const ensemble::Diversity& d = facts.diversity;
  const bool show_matrix = matrices && facts.matrix.size() > 0;
  return {{"hdi", optional_value(d.hdi)},
          {"baseline", optional_value(d.baseline)},
          {"baseline_sd", optional_value(d.baseline_sd)},
          {"z", optional_value(d.z)},
          {"z_method", known(d.z_method)},
          {"p_method", known(facts.p_method)},
          {"bound", optional_value(d.bound)},
          {"headroom", optional_value(d.headroom)},
          {"n_eff_1", optional_value(d.n_eff_1)},
          {"n_eff_2", optional_value(d.n_eff_2)},
          {"n_eff_inf", optional_value(d.n_eff_inf)},
          {"n_heads", known(facts.n_heads)},
          {"heads_left_out", facts.heads_left_out},
          {"reason", known(facts.reason)},
          {"n_aligned", facts.n_significant_aligned},
          {"n_repelled", facts.n_significant_repelled},
          {"matrix", show_matrix ? matrix_rows(facts.matrix) : Json()}};
}

Json pair_object(const PairFacts& pair) {
  Json angles;
  if (pair.angles) {
    angles = Json::array();
    for (const double angle : *pair.angles) angles.push_back(number(angle));
  }
  return {{"source", to_string(pair.source)},
          {"a", pair.a},
          {"b", pair.b},
          {"overlap", optional_value(pair.overlap)},
          {"z", optional_value(pair.z)},
          {"p", optional_value(pair.p)},
          {"q", optional_value(pair.q)},
          {"direction", to_string(pair.direction)},
          {"forced_zero_angles", pair.forced_zero_angles},
          {"angles", std::move(angles)}};
}

Json head_object(const HeadFacts& head) {
  return {{"head", head.head},
          {"status", to_string(head.status)},
          {"reason", known(head.reason)},
          {"rank",
           {{"query", optional_value(head.rank_query)},
            {"key", optional_value(head.rank_key)},
            {"value", optional_value(head.rank_value)},
            {"output", optional_value(head.rank_output)}}},
          {"qk_norm", optional_value(head.qk_norm)},
          {"ov_norm", optional_value(head.ov_norm)}};
}

Json layer_head_object(const LayerFacts& layer) {
  Json tolerance = Json::object();
  for (const auto& [role, value] : layer.rank_tolerance) tolerance[role] = number(value);
  return {{"layer", layer.layer},
          {"stack", layer.stack},
          {"attention", layer.attention},
          {"status", to_string(layer.status)},
          {"reason", known(layer.reason)},
          {"n_heads", known(layer.n_heads)},
          {"n_kv_heads", known(layer.n_kv_heads)},
          {"head_dim", known(layer.head_dim)},
          {"value_dim", known(layer.value_dim)},
          {"layout_code", known(layer.code)},
          {"used_by", layer.used_by},
          {"qk_norm", known(layer.qk_norm)},
          {"folded", known(layer.folded)},
          {"rank_tolerance", std::move(tolerance)},
          {"roles", roles_object(layer.roles)},
          {"tensors", layer.tensors}};
}

// Lists are written item by item: the pairs of a large model, held as one document, would take gigabytes.
template <class Items, class Text>
void write_list(std::ostream& out, const char* brackets, const Items& items, const Text& text) {
  out << brackets[0];
  const char* separator = "\n";
  for (const auto& item : items) {
    out << separator << text(item);
    separator = ",\n";
  }
  out << brackets[1];
}

void write_layer(std::ostream& out, const LayerFacts& layer, bool matrices) {
  std::string head = dump(layer_head_object(layer));
  head.pop_back();  // the closing brace: the lists follow inside the same object
  out << head << ",\n\"diversity\":";
  write_list(out, "{}", layer.sources, [&](const SourceFacts& facts) {
    return dump(to_string(facts.source)) + ":" + dump(source_object(facts, matrices));
  });
  out << ",\n\"pairs\":";
  write_list(out, "[]", layer.pairs, [](const PairFacts& pair) { return dump(pair_object(pair)); });
  out << ",\n\"heads\":";
  write_list(out, "[]", layer.heads, [](const HeadFacts& facts) { return dump(head_object(facts)); });
  out << '}';
}

Json threshold_object(const audit::ThresholdFacts& threshold) {
  return {{"rule", threshold.rule},
          {"limit", number(threshold.limit)},
          {"source", to_string(threshold.source)},
          {"value", optional_value(threshold.value)},
          {"offenders", threshold.offenders},
          {"crossed", threshold.crossed}};
}

Json means_object(const std::map<std::string, double>& means) {
  Json object = Json::object();
  for (const auto& [source, mean] : means) object[source] = number(mean);
  return object;
}

Json summary_object(const audit::SummaryFacts& summary) {
  return {{"n_layers", summary.n_layers},
          {"n_layers_ok", summary.n_layers_ok},
          {"n_heads", summary.n_heads},
          {"n_pairs_aligned", summary.n_pairs_aligned},
          {"n_pairs_repelled", summary.n_pairs_repelled},
          {"mean_hdi", means_object(summary.mean_hdi)},
          {"mean_baseline", means_object(summary.mean_baseline)},
          {"mean_n_eff_2", means_object(summary.mean_n_eff_2)},
          {"reading", summary.reading},
          {"complete", summary.complete}};
}

}  // namespace

void write_json(std::ostream& out, const AuditReport& report, bool matrices, const std::string& version) {
  out << "{\"headspan_version\":" << dump(version)
      << ",\n\"kind\":\"audit\",\n\"model\":" << dump(model_object(report.model))
      << ",\n\"options\":" << dump(options_object(report.options)) << ",\n\"layers\":[";
  const char* separator = "\n";
  for (const LayerFacts& layer : report.layers) {
    out << separator;
    write_layer(out, layer, matrices);
    separator = ",\n";
  }
  out << "],\n\"thresholds\":";
  write_list(out, "[]", report.thresholds,
             [](const audit::ThresholdFacts& threshold) { return dump(threshold_object(threshold)); });
  out << ",\n\"summary\":" << dump(summary_object(report.summary)) << "}\n";
}

}  // namespace headspan::report
