#include "cli/plan_data.h"

#include <fmt/format.h>

#include <ostream>
#include <utility>

#include "cli/exit_code.h"
#include "cli/outputs.h"
#include "cli/progress.h"
#include "cli/run_options.h"
#include "cli/terminal_style.h"
#include "headspan/estimator/pilot.h"
#include "headspan/numeric/error.h"
#include "headspan/numeric/parallel.h"
#include "headspan/report/pilot_report.h"

namespace headspan::cli {
namespace {

using report::PilotReport;

void check_words(const PlanArguments& a) {
  const auto refuse = [](bool given, const char* option) {
    if (given)
      throw UsageError(
          fmt::format("{}: is part of a law; with DATA it is measured, so leave it out", option));
  };
  refuse(a.n.has_value(), "--n");
  refuse(a.noise.has_value(), "--noise");
  refuse(a.bias.has_value(), "--bias");
  refuse(a.bandwidth.has_value(), "--bandwidth");
  refuse(a.signal.has_value(), "--signal");
  refuse(a.rho.has_value(), "--rho");
  if (!a.y) throw UsageError("--y: is needed, the column to predict");
  if (a.at_n && !(*a.at_n > 2.0)) throw UsageError(fmt::format("--at-n {}: must be above 2", *a.at_n));
  if (a.n_draws < 1) throw UsageError(fmt::format("--draws {}: must be at least 1", a.n_draws));
  check_threads(a.n_threads);
}

/// Every column of numbers but the target, unless --x names them.
std::vector<std::string> inputs_of(const table::Table& data, const PlanArguments& a) {
  if (!a.x.empty()) return column_names(data, a.x, "--x");
  std::vector<std::string> names;
  for (const table::ColumnFacts& column : data.understood.columns)
    if (column.type == table::ColumnType::number && column.name != *a.y) names.push_back(column.name);
  if (names.empty())
    throw DataError(FileFault::refused, {data.understood.path, {}, {}},
                    fmt::format("no column of numbers besides '{}'; name inputs with --x", *a.y));
  return names;
}

table::NumericRows read_rows(const PlanArguments& a, PilotReport& report) {
  table::Table data = read_table(*a.data, csv_options(a.table));
  report.x = inputs_of(data, a);
  report.y = *a.y;
  table::NumericRows rows = select_numeric(data, report.x, report.y);
  report.input = {std::move(data.understood), rows.dropped};
  return rows;
}

/// A table that cannot be planned for is no wrong usage: the error names the file.
void check_rows(const table::NumericRows& rows, const PilotReport& report) {
  try {
    estimator::check_pilot_table(rows.x, rows.y);
  } catch (const ArgumentError& error) {
    throw DataError(FileFault::refused, {report.input.understood.path, {}, {}},
                    fmt::format("{} (y is the column '{}', x the inputs)", error.what(), report.y));
  }
}

void fill(const PlanArguments& a, const table::NumericRows& rows, PilotReport& report) {
  report.rules = pair_rules(a);
  report.options.seed = a.seed;
  report.pilot = estimator::run_pilot(rows.x, rows.y, report.rules, report.options);
  const auto n = static_cast<double>(report.pilot.n);
  report.plan = estimator::plan_from(report.pilot, report.rules, n, report.options);
  if (a.at_n) report.at_n = estimator::plan_from(report.pilot, report.rules, *a.at_n, report.options);
  // Another seed than the pilot's, so that the grid is not judged by the projections that chose the plan.
  if (a.check) {
    ProgressLine line("draw at most", !a.quiet);
    report.check = estimator::check_grid(rows.x, rows.y, report.plan, {a.n_draws, ~a.seed},
                                         [&](std::size_t done, std::size_t most) { line.show(done, most); });
  }
}

}  // namespace

int run_plan_data(const PlanArguments& arguments) {
  check_words(arguments);
  std::vector<Output> outputs;
  if (arguments.json) outputs.push_back({"--json", *arguments.json});
  check_outputs(outputs, {*arguments.data});
  const ThreadLimit limit(arguments.n_threads);
  PilotReport report;
  const table::NumericRows rows = read_rows(arguments, report);
  check_rows(rows, report);
  fill(arguments, rows, report);
  for (const Output& output : outputs)
    write_output(output, [&](std::ostream& out) { write_pilot_json(out, report, HEADSPAN_VERSION); });
  write_table(outputs, arguments.quiet,
              [&](std::ostream& out) { write_pilot_terminal(out, report, terminal_style()); });
  return kDone;
}

}  // namespace headspan::cli
