#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <ostream>

#include "headspan/report/model_cost_report.h"
#include "report/number_text.h"
#include "report/plan_parts.h"
#include "report/terminal.h"
#include "report/text_table.h"

namespace headspan::report {
namespace {

using Json = nlohmann::ordered_json;

bool is_model(const ModelCostReport& report, const plan::Pair& pair) {
  return pair == plan::Pair{report.model.head_dim.value, report.model.n_heads.value};
}

Json sourced_object(const checkpoint::Sourced& number) {
  return {{"value", number.value}, {"origin", number.origin}};
}

Json model_object(const checkpoint::AttentionShape& model) {
  return {{"config", model.path},
          {"model_type", model.model_type},
          {"layout", model.layout},
          {"d_model", sourced_object(model.d_model)},
          {"n_layers", sourced_object(model.n_layers)},
          {"n_stored_layers", sourced_object(model.n_stored_layers)},
          {"n_heads", sourced_object(model.n_heads)},
          {"n_kv_heads", sourced_object(model.n_kv_heads)},
          {"head_dim", sourced_object(model.head_dim)}};
}

Json cost_object(const ModelCostReport& report, const plan::AttentionCost& cost) {
  return {{"head_dim", cost.pair.head_dim},         {"n_heads", cost.pair.n_heads},
          {"n_kv_heads", cost.n_kv_heads},          {"parameters", cost.parameters},
          {"kv_cache_bytes", cost.kv_cache_bytes},  {"flops", cost.flops},
          {"is_model", is_model(report, cost.pair)}};
}

}  // namespace

void write_model_cost_json(std::ostream& out, const ModelCostReport& report, const std::string& version) {
  Json options = rules_object(report.rules);
  options["n_kv_heads"] = report.size.n_kv_heads ? Json(*report.size.n_kv_heads) : Json();
  options["context"] = report.size.context;
  options["bytes"] = report.size.bytes;
  Json pairs = Json::array();
  for (const plan::AttentionCost& cost : report.pairs) pairs.push_back(cost_object(report, cost));
  const Json document = {{"headspan_version", version},
                         {"kind", "plan_model"},
                         {"model", model_object(report.model)},
                         {"options", std::move(options)},
                         {"pairs", std::move(pairs)}};
  out << document.dump(-1, ' ', false, Json::error_handler_t::replace) << '\n';
}

void write_model_cost_terminal(std::ostream& out, const ModelCostReport& report, const TerminalStyle& style) {
  const checkpoint::AttentionShape& model = report.model;
  const auto entry = [&](const char* name, const checkpoint::Sourced& number) {
    write_entry(out, name, fmt::format("{} ({})", number.value, printable(number.origin)), style);
  };
  write_entry(out, "model", printable(model.model_type.empty() ? model.path : model.model_type), style);
  entry("d_model", model.d_model);
  entry("n_layers", model.n_layers);
  if (model.n_stored_layers.value != model.n_layers.value) entry("stored", model.n_stored_layers);
  entry("n_heads", model.n_heads);
  entry("n_kv_heads", model.n_kv_heads);
  entry("head_dim", model.head_dim);
  write_budget(out, report.rules, style);
  write_entry(
      out, "costs",
      fmt::format("of all layers; cache in numbers of {}, flops of one token, each with {}",
                  counted(report.size.bytes, "byte"), counted(report.size.context, "token") + " before it"),
      style);
  TextTable table({{"head_dim", true, 0},
                   {"n_heads"},
                   {"n_kv_heads"},
                   {"parameters"},
                   {"cache bytes/token"},
                   {"flops/token"},
                   {"", false}});
  for (const plan::AttentionCost& cost : report.pairs)
    table.add_row({{std::to_string(cost.pair.head_dim)},
                   {std::to_string(cost.pair.n_heads)},
                   {std::to_string(cost.n_kv_heads)},
                   {std::to_string(cost.parameters)},
                   {std::to_string(cost.kv_cache_bytes)},
                   {short_text(static_cast<double>(cost.flops))},
                   {is_model(report, cost.pair) ? "the model's" : "", Tone::good}});
  out << '\n';
  table.write(out, style.colour, style.width);
}

}  // namespace headspan::report
