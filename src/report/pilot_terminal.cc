#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ostream>

#include "headspan/report/pilot_report.h"
#include "report/input_facts.h"
#include "report/number_text.h"
#include "report/plan_parts.h"
#include "report/terminal.h"
#include "report/text_table.h"

namespace headspan::report {
namespace {

constexpr std::size_t kRowsShown = 16;

std::string with_error(double value, const std::optional<double>& error) {
  return error && *error > 0.0 ? fmt::format("{:.4g} +- {:.2g}", value, *error)
                               : fmt::format("{:.4g}", value);
}

std::string part_text(const ensemble::Part& part) { return with_error(part.value, part.standard_error); }

void write_pilot(std::ostream& out, const PilotReport& report, const TerminalStyle& style) {
  const estimator::Pilot& pilot = report.pilot;
  std::string inputs;
  for (const std::string& name : report.x) append(inputs, ", ", printable(name));
  write_entry(out, "model",
              fmt::format("{} from {}, {}", printable(report.y), inputs, counted(pilot.n, "row")), style);
  for (const Index j : pilot.constant_inputs)
    write_entry(out, "note",
                fmt::format("{} is the same in every row and left out",
                            printable(report.x[static_cast<std::size_t>(j)])),
                style);
  write_budget(out, report.rules, style);
  write_entry(out, "pilot",
              fmt::format("{} of {} in up to {} dimensions, {}", counted(report.options.n_heads, "head"),
                          counted(static_cast<std::int64_t>(pilot.dimensions.size()), "dimension"), pilot.d,
                          counted(pilot.n_used, "row")),
              style);
  write_entry(out, "noise",
              fmt::format("{:.5g} of a variance of {:.5g} (residuals {}, neighbours {}; both err upwards)",
                          pilot.noise, pilot.y_variance, part_text(pilot.residual_noise),
                          part_text(pilot.neighbour_noise)),
              style);
  if (std::isfinite(report.plan.log_growth.value))
    write_entry(
        out, "growth",
        fmt::format("log variance {} a dimension at the best pair's bandwidth; a Gaussian design has {:.3g}",
                    part_text(report.plan.log_growth), report.plan.theory_log_growth),
        style);
}

std::string best_text(const estimator::PilotPlan& plan) {
  const std::size_t at = plan.allocation.best;
  const plan::PlanPoint& best = plan.allocation.curve[at];
  return fmt::format(
      "{}, bandwidth {:.3g}: mse {:.5g} = squared bias {:.4g} + variance {:.4g}; best in {:.0f} % of the "
      "resamples",
      pair_text(best.pair), plan.bandwidth[at], best.error.mse, best.error.squared_bias, best.error.variance,
      100.0 * plan.chosen_share[at]);
}

void write_plan(std::ostream& out, const estimator::PilotPlan& plan, const TerminalStyle& style) {
  write_entry(out, fmt::format("n {:.6g}", plan.n), best_text(plan), style);
  write_entry(out, "near-ties", near_ties_text(plan.allocation, "one standard error of the difference"),
              style);
  write_plan_notes(out, plan.allocation, style);
}

/// Over draws of the projections; without an error where every draw is the same.
std::string measured_text(const estimator::MeasuredPair& pair) {
  const bool is_exact = pair.standard_error == 0.0;
  return fmt::format("{} ({})",
                     is_exact ? fmt::format("{:.5g}", pair.loo) : with_error(pair.loo, pair.standard_error),
                     is_exact ? "any draw" : counted(pair.n_draws, "draw"));
}

std::string regret_text(const estimator::GridCheck& check) {
  if (!check.regret_error)
    return fmt::format("{:.2g} %, of unknown error: one draw each; raise --draws", 100.0 * check.regret);
  return fmt::format("{:.2g} +- {:.2g} %{}", 100.0 * check.regret, 100.0 * *check.regret_error,
                     check.within_noise ? ", within noise" : "");
}

void write_check(std::ostream& out, const PilotReport& report, const TerminalStyle& style) {
  if (!report.check) return;
  const estimator::GridCheck& check = *report.check;
  const estimator::MeasuredPair &planned = check.pairs[check.planned], &best = check.pairs[check.best];
  write_entry(
      out, "check",
      check.planned == check.best
          ? fmt::format("the planned pair is the best on the grid, leave-one-out error {}",
                        measured_text(planned))
          : fmt::format("leave-one-out error of the planned pair {}, of the best on the grid, {}, {}: "
                        "regret {}",
                        measured_text(planned), pair_text(best.pair), measured_text(best),
                        regret_text(check)),
      style);
}

void write_curve(std::ostream& out, const PilotReport& report, const TerminalStyle& style) {
  const estimator::PilotPlan& plan = report.plan;
  const plan::Allocation& found = plan.allocation;
  std::vector<TextColumn> columns = {{"head_dim", true, 0}, {"n_heads"}, {"bandwidth"}, {"mse"}, {"bias^2"},
                                     {"variance"},          {"rho"}};
  if (report.check) columns.insert(columns.end(), {{"measured"}, {"+-"}});
  columns.push_back({"", false});
  TextTable table(std::move(columns));
  const std::size_t size = found.curve.size(), shown = std::min(size, kRowsShown);
  const std::size_t first = std::min(found.best - std::min(found.best, shown / 2), size - shown);
  for (std::size_t i = first; i < first + shown; ++i) {
    const plan::PlanPoint& point = found.curve[i];
    std::vector<Cell> row = {{std::to_string(point.pair.head_dim)},
                             {std::to_string(point.pair.n_heads)},
                             {short_text(plan.bandwidth[i])},
                             {short_text(point.error.mse)},
                             {short_text(point.error.squared_bias)},
                             {short_text(point.error.variance)},
                             {rho_text(point)}};
    if (report.check) {
      const estimator::MeasuredPair& measured = report.check->pairs[i];
      row.push_back({short_text(measured.loo)});
      row.push_back({!measured.standard_error         ? "unknown"
                     : measured.standard_error == 0.0 ? "exact"
                                                      : fmt::format("{:.2g}", *measured.standard_error)});
    }
    const bool tied = std::find(found.near_ties.begin(), found.near_ties.end(), i) != found.near_ties.end();
    row.push_back({i == found.best ? "best"
                   : tied          ? "near-tie"
                                   : "",
                   i == found.best ? Tone::good : Tone::plain});
    table.add_row(std::move(row));
  }
  out << '\n';
  table.write(out, style.colour, style.width);
  if (shown < size)
    out << fmt::format("... {}; --json writes them all\n",
                       counted(static_cast<std::int64_t>(size - shown), "more pair"));
}

}  // namespace

void write_pilot_terminal(std::ostream& out, const PilotReport& report, const TerminalStyle& style) {
  write_input(out, "data", report.input, style);
  write_pilot(out, report, style);
  write_plan(out, report.plan, style);
  if (report.at_n) write_plan(out, *report.at_n, style);
  write_entry(out, "slopes",
              fmt::format("head_dim on log n {}", slope_text(report.plan.scaling.head_dim_on_log_n, "n")),
              style);
  write_entry(
      out, "",
      fmt::format("log n_heads on log D {}", slope_text(report.plan.scaling.log_n_heads_on_log_budget, "D")),
      style);
  write_check(out, report, style);
  write_curve(out, report, style);
}

}  // namespace headspan::report
