#include "cli/nw.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <ostream>
#include <utility>

#include "cli/exit_code.h"
#include "cli/nw_arguments.h"
#include "cli/outputs.h"
#include "cli/terminal_style.h"
#include "headspan/numeric/error.h"
#include "headspan/numeric/parallel.h"
#include "headspan/nw/estimate.h"
#include "headspan/report/nw_report.h"

namespace headspan::cli {
namespace {

using report::NwReport;

void check_bandwidth_count(const NwReport& report, const NwOptions& options) {
  const Index given = options.bandwidth.size();
  const auto inputs = static_cast<Index>(report.x.size());
  if (given > 1 && given != inputs)
    throw UsageError(
        fmt::format("--bandwidth: {} numbers for {} inputs; give one, or one per input", given, inputs));
}

table::NumericRows training_rows(const NwArguments& arguments, const NwOptions& options, NwReport& report) {
  table::Table data = read_table(arguments.data, options.csv);
  report.x = column_names(data, arguments.x, "--x");
  report.y = arguments.y;
  check_bandwidth_count(report, options);
  table::NumericRows rows = select_numeric(data, report.x, report.y);
  report.input = {std::move(data.understood), rows.dropped};
  report.n = rows.x.rows();
  return rows;
}

// A column that does not vary has no scale, so no bandwidth of its own can be chosen.
void refuse_constant_columns(const NwReport& report, const table::NumericRows& rows) {
  if (report.n == 1)
    throw DataError(FileFault::refused, {report.input.understood.path, {}, std::nullopt},
                    "one usable row cannot choose a bandwidth; give --bandwidth");
  for (std::size_t j = 0; j < report.x.size(); ++j) {
    const auto column = rows.x.col(static_cast<Index>(j));
    if (column.minCoeff() == column.maxCoeff())
      throw DataError(FileFault::refused,
                      {report.input.understood.path, fmt::format("column '{}'", report.x[j]), std::nullopt},
                      fmt::format("the same value, {}, in all {} rows; leave the column out of --x, or give "
                                  "--bandwidth",
                                  column[0], report.n));
  }
}

void choose_bandwidth(const table::NumericRows& rows, const NwOptions& options, NwReport& report) {
  if (options.bandwidth.size() > 0) {
    report.bandwidth = options.bandwidth;
    return;
  }
  refuse_constant_columns(report, rows);
  report.selection_options = options.selection;
  report.selection = nw::select_bandwidth(rows.x, rows.y, options.selection);
  report.bandwidth = report.selection->bandwidth;
}

void take_points(const NwArguments& arguments, const NwOptions& options, const table::NumericRows& rows,
                 NwReport& report) {
  if (!arguments.at) {
    report.points = rows.x;
    report.lines = rows.lines;
    return;
  }
  table::Table at = read_table(*arguments.at, options.csv);
  table::NumericRows points = select_numeric(at, report.x, std::nullopt);
  report.at = report::InputFacts{std::move(at.understood), std::move(points.dropped)};
  report.points = std::move(points.x);
  report.lines = std::move(points.lines);
}

void estimate_points(const NwArguments& arguments, const table::NumericRows& rows, NwReport& report) {
  nw::EstimateOptions options;
  options.kernel = report.kernel;
  options.bandwidth = report.bandwidth;
  options.nearest_if_none = arguments.nearest;
  options.relative_error = arguments.relative_error;
  const Matrix values = rows.y;
  report.estimate = nw::estimate<double>(report.points, rows.x, values, options);
  if (!arguments.loo) return;
  options.leave_one_out = true;
  report.leave_one_out = nw::estimate<double>(report.points, rows.x, values, options);
}

// Points for which there is no number.
std::int64_t n_without_estimate(const NwReport& report) {
  const auto is_without = [](nw::PointStatus status) {
    return status != nw::PointStatus::ok && status != nw::PointStatus::nearest;
  };
  const auto& status = report.estimate.status;
  return std::count_if(status.begin(), status.end(), is_without);
}

int run_nw(const NwArguments& arguments) {
  const NwOptions options = resolve(arguments);
  std::vector<Output> outputs;
  if (arguments.json) outputs.push_back({"--json", *arguments.json});
  std::vector<std::string> inputs = {arguments.data};
  if (arguments.at) inputs.push_back(*arguments.at);
  check_outputs(outputs, inputs);
  const ThreadLimit limit(arguments.n_threads);
  NwReport report;
  report.kernel = options.kernel;
  report.nearest_if_none = arguments.nearest;
  report.relative_error = arguments.relative_error;
  const table::NumericRows rows = training_rows(arguments, options, report);
  take_points(arguments, options, rows, report);
  choose_bandwidth(rows, options, report);
  report.scores = nw::smoother_scores(rows.x, rows.y, report.kernel, report.bandwidth);
  estimate_points(arguments, rows, report);
  for (const Output& output : outputs)
    write_output(output, [&](std::ostream& out) { write_nw_json(out, report, HEADSPAN_VERSION); });
  write_table(outputs, arguments.quiet,
              [&](std::ostream& out) { write_nw_terminal(out, report, terminal_style()); });
  const std::int64_t n_without = n_without_estimate(report);
  if (n_without == 0) return kDone;
  fmt::print(stderr,
             "headspan: {} of {} points have no estimate: no row in reach (--nearest takes the nearest)\n",
             n_without, report.points.rows());
  return kPartial;
}

}  // namespace

void add_nw_command(CLI::App& app, std::function<int()>& run) {
  CLI::App* command =
      app.add_subcommand("nw", "Nadaraya-Watson regression of one column of a table on others");
  const auto arguments = std::make_shared<NwArguments>();
  declare(*command, *arguments);
  command->callback([arguments, &run] { run = [arguments] { return run_nw(*arguments); }; });
}

}  // namespace headspan::cli
