#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <ostream>

#include "report/number_text.h"
#include "report/terminal.h"

namespace headspan::report {
namespace {

using audit::AuditReport;
using audit::LayerFacts;

constexpr std::size_t kNameWidth = 13;

std::optional<std::int64_t> quantity(const LayerFacts& layer, const std::string& name) {
  const std::map<std::string, std::int64_t> values = {{"n_heads", layer.n_heads},
                                                      {"n_kv_heads", layer.n_kv_heads},
                                                      {"head_dim", layer.head_dim},
                                                      {"value_dim", layer.value_dim}};
  const auto found = values.find(name);
  if (found == values.end() || found->second == 0) return std::nullopt;
  return found->second;
}

// "encoder.n_heads" is a number of the encoder; "n_heads" is one of the whole model.
std::optional<std::int64_t> origin_value(const AuditReport& report, const std::string& key) {
  const std::map<std::string, std::optional<std::int64_t>> of_model = {
      {"n_heads", report.model.n_heads},
      {"n_kv_heads", report.model.n_kv_heads},
      {"head_dim", report.model.head_dim},
      {"d_model", report.model.d_model == 0 ? std::nullopt : std::optional(report.model.d_model)}};
  const auto found = of_model.find(key);
  if (found != of_model.end()) return found->second;
  const std::size_t dot = key.rfind('.');
  if (dot == std::string::npos) return std::nullopt;
  const std::string stack = key.substr(0, dot);
  for (const LayerFacts& layer : report.layers)
    if (layer.stack == stack || layer.stack + "." + layer.attention == stack)
      return quantity(layer, key.substr(dot + 1));
  return std::nullopt;
}

// Layers differ in their tensors' number only: shown once with N in its place.
std::string without_layer_number(std::string text, int layer) {
  const std::string number = fmt::format(".{}.", layer);
  const std::size_t at = text.find(number);
  if (at != std::string::npos) text.replace(at, number.size(), ".N.");
  return text;
}

// A code in words; codes of several attention kinds stand as they are.
std::string order_text(const std::string& code) {
  const std::map<std::string, std::string> words = {{"SEP", "separate matrices"},
                                                    {"S3", "all queries, all keys, all values in one matrix"},
                                                    {"I3", "query, key, value of each head in turn"},
                                                    {"IG", "queries, key, value of each group in turn"},
                                                    {"QVK4", "four slabs, each all queries, values, keys"}};
  const std::size_t plus = code.find('+');
  const auto found = words.find(code.substr(0, plus));
  if (found == words.end()) return printable(code);
  return fmt::format("{}: {}{}", code, found->second, plus == std::string::npos ? "" : ", stored [in, out]");
}

void write_folding(std::ostream& out, const AuditReport& report, const TerminalStyle& style) {
  std::vector<std::pair<std::string, int>> kinds;
  for (const LayerFacts& layer : report.layers) {
    if (layer.folded.empty()) continue;
    const std::string text = without_layer_number(layer.folded, layer.layer);
    const auto same = [&](const auto& kind) { return kind.first == text; };
    const auto found = std::find_if(kinds.begin(), kinds.end(), same);
    if (found == kinds.end())
      kinds.emplace_back(text, 1);
    else
      ++found->second;
  }
  constexpr std::size_t kShown = 4;
  for (std::size_t i = 0; i < std::min(kinds.size(), kShown); ++i) {
    const bool everywhere = kinds.size() == 1;
    write_entry(out, i == 0 ? "norm folded" : "",
                printable(kinds[i].first) + (everywhere ? ""
                                                        : fmt::format(" ({} layer{})", kinds[i].second,
                                                                      kinds[i].second == 1 ? "" : "s")),
                style);
  }
  if (kinds.size() > kShown)
    write_entry(out, "", fmt::format("... {} more; --json lists them by layer", kinds.size() - kShown),
                style);
}

void write_roles(std::ostream& out, const AuditReport& report, const TerminalStyle& style) {
  std::map<std::string, int> verdicts;
  int n_fused = 0;
  for (const LayerFacts& layer : report.layers) {
    if (!layer.roles) continue;
    ++n_fused;
    std::string text = layer.roles->verdict;
    if (text == "contradicts") text += fmt::format(" (supports {})", layer.roles->best);
    ++verdicts[text];
  }
  if (n_fused == 0) return;
  std::string text;
  for (const auto& [verdict, count] : verdicts)
    append(text, ", ", fmt::format("{} in {} of {} layers", verdict, count, n_fused));
  write_entry(out, "fused order",
              fmt::format("the weights' own evidence on {}: {}", report.model.layout_code, text), style);
}

}  // namespace

void write_entry(std::ostream& out, const std::string& name, const std::string& text,
                 const TerminalStyle& style) {
  // A name too wide for its column moves its own text, not everybody's.
  const std::size_t width = std::max(kNameWidth, name.size() + 2);
  std::string block = wrapped(text, static_cast<int>(width), style.width);
  block.erase(0, width);
  out << paint(name, Tone::heading, style.colour) << std::string(width - name.size(), ' ') << block;
}

void write_header(std::ostream& out, const AuditReport& report, const TerminalStyle& style) {
  const audit::ModelFacts& model = report.model;
  write_entry(out, "model", printable(model.path), style);
  write_entry(out, "format", printable(model.format), style);
  write_entry(out, "layout", fmt::format("{} ({})", printable(model.layout), order_text(model.layout_code)),
              style);
  write_entry(out, "layers", fmt::format("{} with attention", model.n_layers), style);
  for (const auto& [key, origin] : model.origin) {
    const std::optional<std::int64_t> value = origin_value(report, key);
    write_entry(out, key, value ? fmt::format("{} ({})", *value, printable(origin)) : printable(origin),
                style);
  }
  write_folding(out, report, style);
  write_roles(out, report, style);
  std::string prefixes;
  for (const std::string& prefix : model.prefixes) append(prefixes, " ", printable(prefix));
  if (!prefixes.empty())
    write_entry(out, "prefixes", fmt::format("{} (stripped from the tensor names)", prefixes), style);
  for (const std::string& note : model.notes) write_entry(out, "note", printable(note), style);
  out << '\n';
}

}  // namespace headspan::report
