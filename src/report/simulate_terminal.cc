#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <ostream>

#include "headspan/report/simulate_report.h"
#include "report/terminal.h"
#include "report/text_table.h"

namespace headspan::report {
namespace {

using ensemble::Part;
using experiments::LawRow;

// What is zero but for rounding, such as the predicted correlation of orthogonal heads, is printed as zero.
std::string value_text(double value) { return fmt::format("{:.4g}", std::abs(value) < 1e-12 ? 0.0 : value); }

/// "0.4213 +- 0.0021": to the second digit of the error.
std::string part_text(const Part& part) {
  const double error = part.standard_error.value_or(0.0);
  if (!(error > 1e-12)) return value_text(part.value);
  const int decimals = std::max(0, 1 - static_cast<int>(std::floor(std::log10(error))));
  return fmt::format("{:.{}f} +- {:.{}f}", part.value, decimals, error, decimals);
}

// Variances take three digits, so that a line fits a terminal; JSON has them all.
std::string short_value(double value) { return fmt::format("{:.3g}", std::abs(value) < 1e-12 ? 0.0 : value); }

std::string short_part(const Part& part) {
  return fmt::format("{:.3g} +- {:.2g}", part.value, part.standard_error.value_or(0.0));
}

/// A closed form has no error; a fit to other replicates has.
std::string predicted_text(const LawRow& row) {
  if (!row.rho_predicted_error) return short_value(row.rho_predicted);
  return part_text({row.rho_predicted, ensemble::Origin::estimated, row.rho_predicted_error});
}

/// How far the fits to other replicates are from what was measured, in standard errors of the difference.
template <class Row>
void write_agreement(std::ostream& out, const std::vector<Row>& rows, const TerminalStyle& style) {
  double farthest = 0.0;
  bool below_zero = false;
  for (const Row& row : rows) {
    const LawRow& law = row.law;
    const double error =
        std::hypot(law.rho.standard_error.value_or(0.0), law.rho_predicted_error.value_or(0.0));
    const double off = std::abs(law.rho.value - law.rho_predicted);
    if (off > 1e-12) farthest = std::max(farthest, off / error);
    below_zero = below_zero || law.rho_predicted < 0.0;
  }
  write_entry(
      out, "agreement",
      fmt::format("rho is at most {:.2g} standard errors of the difference from its prediction", farthest),
      style);
  if (below_zero)
    write_entry(out, "note", "a prediction below zero is the fit as it is: a small correlation and its error",
                style);
}

/// A column beside those of the law.
template <class Row>
struct Extra {
  std::string title;
  std::function<std::string(const Row&)> text;
};

template <class Row>
void write_rows(std::ostream& out, const std::string& dial, const std::vector<Row>& rows,
                const std::vector<Extra<Row>>& extras, const TerminalStyle& style) {
  std::vector<TextColumn> columns = {{dial, true, 0},        {"v", true, 2},     {"rho", true, 2},
                                     {"predicted", true, 2}, {"Var F", true, 2}, {"law", true, 2}};
  for (const Extra<Row>& extra : extras) columns.push_back({extra.title, true, 2});
  TextTable table(std::move(columns));
  for (const Row& row : rows) {
    const LawRow& law = row.law;
    std::vector<Cell> cells = {
        {value_text(law.dial)}, {short_value(law.v.value)},          {part_text(law.rho)},
        {predicted_text(law)},  {short_part(law.ensemble_variance)}, {short_value(law.law_predicted)}};
    for (const Extra<Row>& extra : extras) cells.push_back({extra.text(row)});
    table.add_row(std::move(cells));
  }
  out << '\n';
  table.write(out, style.colour, style.width);
  out << '\n';
}

std::string trend_text(const experiments::Trend& trend, const char* what) {
  if (!trend.change.standard_error) return fmt::format("none of {}: the dial has one setting", what);
  const char* direction = trend.direction < 0   ? "falls"
                          : trend.direction > 0 ? "rises"
                                                : "does not change beyond three standard errors";
  return fmt::format("{} {} along the dial: {:+.4g} +- {:.2g}", what, direction, trend.change.value,
                     *trend.change.standard_error);
}

std::string replicates_text(Index n_replicates, std::uint64_t seed) {
  return fmt::format("{} fresh data sets, seed {}", n_replicates, seed);
}

constexpr const char* kLaw = "Var F = rho v + (1 - rho) v / M; the column law has the predicted rho in it";

struct Terminal {
  std::ostream& out;
  const TerminalStyle& style;

  void operator()(const experiments::AngleFacts& facts) const {
    const auto& o = facts.options;
    write_entry(out, "heads",
                fmt::format("{} of dimension {}, {} of bandwidth {}, every two at equal principal angles",
                            o.n_heads, o.head_dim, nw::to_string(o.kernel), o.bandwidth),
                style);
    write_entry(out, "data",
                fmt::format("{} normal keys, pure noise of variance {}; {} fixed queries; {}", o.n,
                            o.noise_variance, o.n_points, replicates_text(o.n_replicates, o.seed)),
                style);
    write_entry(out, "law", kLaw, style);
    write_entry(out, "predicted", "closed form at these queries, n without limit", style);
    write_rows<experiments::AngleRow>(
        out, "degrees", facts.rows,
        {{"centred rho", [](const auto& row) { return part_text(row.centred_rho); }},
         {"predicted", [](const auto& row) { return short_value(row.centred_rho_predicted); }}},
        style);
    write_entry(out, "trend", trend_text(facts.trend, "rho"), style);
  }

  void operator()(const experiments::LatentFacts& facts) const {
    const auto& o = facts.options;
    write_entry(out, "heads",
                fmt::format("budget {}, bandwidth {}, cosines {:.4g} between heads", o.budget, o.bandwidth,
                            1.0 / (1.0 + o.private_noise * o.private_noise)),
                style);
    write_entry(
        out, "data",
        fmt::format("{} normal keys, noise variance {}, squared bias {} exp(-{} k) of what is unseen; {}",
                    o.n, o.noise_variance, o.scale, o.rate, replicates_text(2 * o.n_replicates, o.seed)),
        style);
    write_entry(out, "law", kLaw, style);
    write_entry(
        out, "predicted",
        fmt::format(
            "leading order in 1/n, which leaves the given share of v out; where that is above {:.0f} % (and "
            "two standard errors), or V(1)^k above sqrt(n), the predictions do not hold",
            100.0 * experiments::kLeftOut),
        style);
    write_rows<experiments::LatentRow>(
        out, "head_dim", facts.rows,
        {{"heads", [](const auto& row) { return std::to_string(row.n_heads); }},
         {"mse", [](const auto& row) { return part_text(row.mse); }},
         {"predicted", [](const auto& row) { return value_text(row.mse_predicted); }},
         {"left out", [](const auto& row) { return fmt::format("{:+.1f} %", 100.0 * row.left_out.value); }},
         {"range", [](const auto& row) { return std::string(row.in_range ? "ok" : "beyond"); }}},
        style);
    write_entry(out, "best",
                fmt::format("measured head_dim {}, predicted {}", facts.rows[facts.best].law.dial,
                            facts.rows[facts.best_predicted].law.dial),
                style);
  }

  void operator()(const experiments::AdditiveFacts& facts) const {
    const auto& o = facts.options;
    write_entry(out, "heads",
                fmt::format("{}, each seeing one coordinate, bandwidth {}", o.n_heads, o.bandwidth), style);
    write_entry(
        out, "data",
        fmt::format("y = sum_h sin({} x_h) + noise of variance {}, {} normal keys; {} fixed queries; {}",
                    o.frequency, o.noise_variance, o.n, o.n_points, replicates_text(o.n_replicates, o.seed)),
        style);
    TextTable table({{"combiner", false, 0},
                     {"mse", true, 2},
                     {"squared bias", true, 2},
                     {"predicted", true, 2},
                     {"variance", true, 2},
                     {"by a head's", true, 2}});
    const auto add = [&](const char* name, const experiments::CombinerRow& row) {
      table.add_row({{name},
                     {part_text(row.mse)},
                     {part_text(row.squared_bias)},
                     {value_text(row.squared_bias_predicted)},
                     {part_text(row.variance)},
                     {value_text(row.variance.value / facts.head_variance.value)}});
    };
    add("mean", facts.mean);
    add("sum", facts.sum);
    out << '\n';
    table.write(out, style.colour, style.width);
  }

  void operator()(const experiments::ForestFacts& facts) const {
    const auto& o = facts.options;
    write_entry(out, "forest",
                fmt::format("{} trees, {} inputs of which five matter, leaves of at least {} rows{}",
                            o.n_trees, o.n_inputs, o.least_leaf, o.bootstrap ? ", bootstrap" : ""),
                style);
    write_entry(out, "data",
                fmt::format("{} rows, noise variance {}; {} fixed points; {}", o.n, o.noise_variance,
                            o.n_points, replicates_text(o.n_replicates, o.seed)),
                style);
    write_entry(out, "law", kLaw, style);
    write_entry(
        out, "predicted",
        fmt::format("fit to {} other data sets that never rises with the dial 1 - mtry/p; there is no "
                    "closed form",
                    o.n_replicates),
        style);
    write_rows<experiments::ForestRow>(out, "dial", facts.rows,
                                       {{"mtry", [](const auto& row) { return std::to_string(row.mtry); }},
                                        {"mse", [](const auto& row) { return part_text(row.mse); }}},
                                       style);
    write_agreement(out, facts.rows, style);
    write_entry(out, "trend", trend_text(facts.trend, "rho"), style);
  }

  void operator()(const experiments::ColonyFacts& facts) const {
    const auto& o = facts.options;
    write_entry(
        out, "colony",
        fmt::format("{} scouts, {} sites, {} steps, rule {}, sharing {}, quorum {}", o.n_scouts, o.n_sites,
                    o.n_steps, to_string(o.rule), o.sharing, o.quorum > 0.0 ? value_text(o.quorum) : "none"),
        style);
    write_entry(out, "data",
                fmt::format("observations with noise of standard deviation {}, evaporation {}; {}",
                            o.noise_sd, o.evaporation, replicates_text(o.n_replicates, o.seed)),
                style);
    write_entry(out, "law", fmt::format("{}; errors at sites that a scout has visited, 1/M its mean", kLaw),
                style);
    write_entry(
        out, "predicted",
        fmt::format("fit to {} other data sets that never rises with exploration; there is no closed form",
                    o.n_replicates),
        style);
    write_rows<experiments::ColonyRow>(
        out, "exploration", facts.rows,
        {{"of estimates", [](const auto& row) { return short_value(row.estimate_correlation.value); }},
         {"visited", [](const auto& row) { return short_value(row.visited); }},
         {"right", [](const auto& row) { return short_value(row.accuracy.value); }},
         {"steps", [](const auto& row) { return short_value(row.n_steps); }}},
        style);
    write_agreement(out, facts.rows, style);
    write_entry(out, "trend", trend_text(facts.trend, "rho"), style);
    write_entry(out, "trend",
                trend_text(facts.estimate_trend, "the correlation of estimates, unvisited sites as zero"),
                style);
  }
};

}  // namespace

void write_simulate_terminal(std::ostream& out, const SimulateReport& report, const TerminalStyle& style) {
  std::visit(Terminal{out, style}, report);
}

}  // namespace headspan::report
