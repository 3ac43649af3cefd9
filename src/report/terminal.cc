#include "report/terminal.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ostream>

#include "report/lookup.h"
#include "report/number_text.h"

namespace headspan::report {
namespace {

using audit::AuditReport;
using audit::LayerFacts;
using audit::PairFacts;
using audit::Source;
using audit::SourceFacts;
using audit::Status;
using ensemble::Diversity;

constexpr std::array kShownSources = {Source::query_subspace, Source::key_subspace, Source::score,
                                      Source::head};
// Beyond this many standard deviations an index is worth a colour.
constexpr double kNotableZ = 3.0;

Tone z_tone(const std::optional<double>& z) {
  if (!z || std::abs(*z) < kNotableZ) return Tone::plain;
  return *z < 0.0 ? Tone::warning : Tone::good;
}

TextTable layer_table() {
  std::vector<TextColumn> columns = {
      {"layer", true, 0}, {"code", false, 2}, {"H", true, 1}, {"G", true, 1}, {"d", true, 1}};
  for (const char* title : {"query", "key", "score", "head"}) {
    columns.push_back({title, true, 2});
    columns.push_back({"z", true, 1});
  }
  columns.push_back({"n_eff", true, 2});
  columns.push_back({"+/-", true, 2});
  columns.push_back({"status", false, 2});
  return TextTable(std::move(columns));
}

std::string pair_counts(const LayerFacts& layer, Source source) {
  const SourceFacts* facts = find_source(layer, source);
  if (facts == nullptr || facts->matrix.size() == 0) return "-";
  return fmt::format("{}/{}", facts->n_significant_aligned, facts->n_significant_repelled);
}

std::vector<Cell> layer_row(const AuditReport& report, const LayerFacts& layer) {
  std::vector<Cell> row = {{layer_label(report, layer)},
                           {layer.code.empty() ? "-" : layer.code},
                           {count_text(layer.n_heads)},
                           {count_text(layer.n_kv_heads)},
                           {count_text(layer.head_dim)}};
  for (const Source source : kShownSources) {
    const std::optional<double> z = diversity_value(layer, source, &Diversity::z);
    row.push_back({fixed_text(diversity_value(layer, source, &Diversity::hdi))});
    row.push_back({z_text(z), z_tone(z)});
  }
  const std::optional<double> effective = diversity_value(layer, Source::query_subspace, &Diversity::n_eff_2);
  row.push_back({effective ? fmt::format("{:.2f}", *effective) : "-"});
  row.push_back({pair_counts(layer, report.options.source)});
  row.push_back({to_string(layer.status), status_tone(layer.status)});
  return row;
}

using BaselineTexts = std::array<std::string, kShownSources.size()>;

BaselineTexts baselines(const LayerFacts& layer) {
  BaselineTexts out;
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = fixed_text(diversity_value(layer, kShownSources[i], &Diversity::baseline));
  return out;
}

// Completes `known` by what `own` has more; false, and no change, where the two contradict one another.
bool merge(BaselineTexts& known, const BaselineTexts& own) {
  BaselineTexts merged = known;
  for (std::size_t i = 0; i < own.size(); ++i) {
    if (merged[i] == "-") merged[i] = own[i];
    if (own[i] != "-" && own[i] != merged[i]) return false;
  }
  known = merged;
  return true;
}

std::vector<Cell> baseline_row(const BaselineTexts& values) {
  std::vector<Cell> row = {{"random", Tone::quiet}, {}, {}, {}, {}};
  for (const std::string& value : values) {
    row.push_back({value, Tone::quiet});
    row.push_back({});
  }
  return row;
}

bool has_value(const BaselineTexts& values) {
  return std::any_of(values.begin(), values.end(), [](const std::string& value) { return value != "-"; });
}

// Layers that share a baseline stand together, with it under them.
void write_layers(std::ostream& out, const AuditReport& report, const TerminalStyle& style) {
  TextTable table = layer_table();
  BaselineTexts run;
  run.fill("-");
  const auto end_run = [&] {
    if (has_value(run)) table.add_row(baseline_row(run));
  };
  for (const LayerFacts& layer : report.layers) {
    const BaselineTexts own = baselines(layer);
    if (!merge(run, own)) {
      end_run();
      run = own;
    }
    table.add_row(layer_row(report, layer));
    if (!layer.reason.empty()) table.add_remark(printable(layer.reason), status_tone(layer.status));
  }
  end_run();
  out << paint("Head diversity index (HDI) of each layer", Tone::heading, style.colour) << '\n';
  table.write(out, style.colour, style.width);
  const std::string legend = fmt::format(
      "HDI of query_subspace, key_subspace, score and head; z: distance from random heads of the same shape "
      "(row random) in standard deviations, negative: more alike. n_eff: effective heads of query_subspace. "
      "+/-: pairs of {} significantly more/less alike than random ones (false discovery rate {}). "
      "A dash is a missing value.",
      to_string(report.options.source), short_text(report.options.alpha));
  out << paint(wrapped(legend, 0, style.width), Tone::quiet, style.colour) << '\n';
}

std::vector<Cell> pair_row(const AuditReport& report, const LayerFacts& layer, const PairFacts& pair) {
  std::optional<double> smallest, largest;
  if (pair.angles && !pair.angles->empty()) {
    const auto [low, high] = std::minmax_element(pair.angles->begin(), pair.angles->end());
    smallest = *low;
    largest = *high;
  }
  return {{layer_label(report, layer)},
          {fmt::format("{}, {}", pair.a, pair.b)},
          {fixed_text(pair.overlap)},
          {z_text(pair.z)},
          {probability_text(pair.q)},
          {degrees_text(smallest)},
          {degrees_text(largest)},
          {pair.direction == audit::Direction::none ? "not significant" : to_string(pair.direction),
           direction_tone(pair.direction)}};
}

void write_redundant_pairs(std::ostream& out, const AuditReport& report, const TerminalStyle& style) {
  if (report.options.n_pairs <= 0) return;
  const auto ranked =
      most_redundant(report, report.options.source, static_cast<std::size_t>(report.options.n_pairs));
  if (ranked.empty()) return;
  TextTable table({{"layer", true, 0},
                   {"heads", true, 2},
                   {"overlap", true, 2},
                   {"z", true, 2},
                   {"q", true, 2},
                   {"smallest", true, 2},
                   {"largest angle", true, 2},
                   {"", false, 2}});
  for (const audit::RankedPair& pair : ranked) table.add_row(pair_row(report, *pair.layer, *pair.pair));
  const std::string title =
      fmt::format("Most redundant pairs of {}{}, angles in degrees", to_string(report.options.source),
                  is_of_key_heads(report.options.source) ? " (key/value heads)" : "");
  out << paint(title, Tone::heading, style.colour) << '\n';
  table.write(out, style.colour, style.width);
  out << '\n';
}

std::string offender_list(const std::vector<std::string>& offenders) {
  std::string out;
  for (const std::string& label : offenders) append(out, ", ", label);
  return out;
}

}  // namespace

std::string threshold_text(const audit::ThresholdFacts& threshold) {
  const char* source = to_string(threshold.source);
  const std::string limit = exact_text(threshold.limit);
  std::string text;
  if (threshold.rule == "min_hdi")
    text = fmt::format("--min-hdi {}: smallest {} HDI is {}", limit, source,
                       threshold.value ? fixed_text(threshold.value) : "not known");
  else
    text = fmt::format("--max-redundant {}: {} aligned {} pair{}", limit, exact_text(threshold.value), source,
                       threshold.value == 1.0 ? "" : "s");
  if (!threshold.crossed) return text + ": kept";
  text += ": crossed";
  if (threshold.offenders.empty()) return text;
  return text + (threshold.offenders.size() == 1 ? " by layer " : " by layers ") +
         offender_list(threshold.offenders);
}

Tone status_tone(Status status) {
  switch (status) {
    case Status::ok:
      return Tone::plain;
    case Status::dead:
    case Status::rank_deficient:
    case Status::partial:
    case Status::doubtful:
      return Tone::warning;
    case Status::non_finite:
    case Status::refused:
      return Tone::bad;
  }
  return Tone::plain;
}

Tone direction_tone(audit::Direction direction) {
  switch (direction) {
    case audit::Direction::none:
      return Tone::quiet;
    case audit::Direction::aligned:
      return Tone::warning;
    case audit::Direction::repelled:
      return Tone::good;
  }
  return Tone::plain;
}

void write_terminal(std::ostream& out, const AuditReport& report, const TerminalStyle& style) {
  write_header(out, report, style);
  write_layers(out, report, style);
  write_redundant_pairs(out, report, style);
  for (const audit::ThresholdFacts& threshold : report.thresholds) {
    const Tone tone = threshold.crossed ? Tone::bad : Tone::good;
    out << paint(wrapped(threshold_text(threshold), 0, style.width), tone, style.colour);
  }
  if (!report.thresholds.empty()) out << '\n';
  for (const std::string& sentence : report.summary.reading)
    out << wrapped(printable(sentence), 0, style.width);
}

}  // namespace headspan::report
