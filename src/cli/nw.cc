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
#include "headspan/nw/category.h"
#include "headspan/report/nw_report.h"
#include "headspan/table/inputs.h"

namespace headspan::cli {
namespace {

using report::NwCategories;
using report::NwReport;

/// The training rows, and what their columns are.
struct Training {
  table::InputColumns columns;
  Matrix x;
  Vector y;
  nw::Categories categories;
};

void check_counts(const table::InputColumns& columns, const NwOptions& options) {
  const Index given = options.bandwidth.size(), lambdas = options.lambda.size();
  const Index inputs = std::ssize(columns.numbers), c = std::ssize(columns.categories);
  if (given > 1 && given != inputs)
    throw UsageError(
        fmt::format("--bandwidth: {} numbers for {} inputs; give one, or one per input", given, inputs));
  if (given > 0 && inputs == 0)
    throw UsageError("--bandwidth: every input is a category; give --lambda instead");
  if (lambdas > 0 && c == 0) throw UsageError("--lambda: no input is a category; leave it out");
  if (lambdas > 1 && lambdas != c)
    throw UsageError(fmt::format(
        "--lambda: {} numbers for {} columns of categories; give one, or one for each", lambdas, c));
  if (inputs > 0 && c > 0 && (given > 0) != (lambdas > 0))
    throw UsageError("--bandwidth and --lambda are chosen together; give both, or leave both to be chosen");
}

Training training_rows(const NwArguments& arguments, const NwOptions& options, NwReport& report) {
  table::Table data = read_table(arguments.data, options.csv);
  report.x = column_names(data, arguments.x, "--x");
  report.y = arguments.y;
  Training training{
      input_columns(data, report.x, column_names(data, arguments.ordered, "--ordered")), {}, {}, {}};
  check_counts(training.columns, options);
  table::InputRows rows = learn_inputs(data, training.columns, report.y);
  for (const table::CategoryColumn& column : training.columns.categories)
    training.categories.kernels.push_back(column.is_ordered ? options.ordered : options.unordered);
  training.categories.codes = std::move(rows.codes);
  training.x = std::move(rows.numbers.x);
  training.y = std::move(rows.numbers.y);
  report.categories.columns = training.columns.categories;
  report.categories.kernels = training.categories.kernels;
  report.lines = std::move(rows.numbers.lines);
  report.input = {std::move(data.understood), std::move(rows.numbers.dropped)};
  report.n = training.x.rows();
  return training;
}

[[noreturn]] void refuse_constant_column(const NwReport& report, const std::string& name,
                                         const std::string& value, const char* option) {
  throw DataError(FileFault::refused,
                  {report.input.understood.path, fmt::format("column '{}'", name), std::nullopt},
                  fmt::format("the same value, {}, in all {} rows; leave the column out of --x, or give {}",
                              value, report.n, option));
}

// A column that does not vary has no scale, so no bandwidth or lambda of its own can be chosen.
void refuse_constant_columns(const NwReport& report, const Training& training) {
  if (report.n == 1)
    throw DataError(FileFault::refused, {report.input.understood.path, {}, std::nullopt},
                    "one usable row cannot choose a bandwidth; give --bandwidth");
  for (std::size_t j = 0; j < training.columns.numbers.size(); ++j) {
    const auto column = training.x.col(static_cast<Index>(j));
    if (column.minCoeff() == column.maxCoeff())
      refuse_constant_column(report, training.columns.numbers[j], fmt::format("{}", column[0]),
                             "--bandwidth");
  }
  for (const table::CategoryColumn& column : training.columns.categories)
    if (column.levels.size() == 1)
      refuse_constant_column(report, column.name, fmt::format("'{}'", column.levels.front()), "--lambda");
}

// The lambdas given, one for each column of categories.
Vector given_lambda(const NwOptions& options, const NwCategories& categories) {
  const auto c = static_cast<Index>(categories.columns.size());
  const Vector all = options.lambda.size() == 1 ? Vector::Constant(c, options.lambda[0]) : options.lambda;
  for (Index k = 0; k < c; ++k) {
    const auto at = static_cast<std::size_t>(k);
    const table::CategoryColumn& column = categories.columns[at];
    const double largest = nw::largest_lambda(categories.kernels[at], std::ssize(column.levels));
    if (all[k] > largest)
      throw UsageError(fmt::format("--lambda: is {} of column '{}'; {} with {} levels goes from 0 to {}",
                                   all[k], column.name, to_string(categories.kernels[at]),
                                   column.levels.size(), largest));
  }
  return all;
}

void choose_bandwidth(const Training& training, const NwOptions& options, NwReport& report) {
  if (options.bandwidth.size() > 0 || options.lambda.size() > 0) {
    report.bandwidth = options.bandwidth;
    report.categories.lambda = given_lambda(options, report.categories);
    return;
  }
  refuse_constant_columns(report, training);
  report.selection_options = options.selection;
  report.selection = nw::select_bandwidth(training.x, training.y, options.selection, training.categories);
  report.bandwidth = report.selection->bandwidth;
  report.categories.lambda = report.selection->lambda;
}

void take_points(const NwArguments& arguments, const NwOptions& options, const Training& training,
                 NwReport& report) {
  if (!arguments.at) {
    report.points = training.x;
    report.categories.points = training.categories.codes;
    return;
  }
  table::Table at = read_table(*arguments.at, options.csv);
  table::InputRows points = select_inputs(at, training.columns, std::nullopt);
  report.at = report::InputFacts{std::move(at.understood), std::move(points.numbers.dropped)};
  report.points = std::move(points.numbers.x);
  report.lines = std::move(points.numbers.lines);
  report.categories.points = std::move(points.codes);
  report.categories.unseen = std::move(points.unseen);
}

void estimate_points(const NwArguments& arguments, const Training& training, NwReport& report) {
  nw::EstimateOptions options;
  options.kernel = report.kernel;
  options.bandwidth = report.bandwidth;
  options.nearest_if_none = arguments.nearest;
  options.relative_error = arguments.relative_error;
  const Matrix values = training.y;
  const nw::EstimateCategories categories{training.categories, report.categories.points,
                                          report.categories.lambda};
  report.estimate = nw::estimate(report.points, training.x, values, options, categories);
  if (!arguments.loo) return;
  options.leave_one_out = true;
  report.leave_one_out = nw::estimate(report.points, training.x, values, options, categories);
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
  const Training training = training_rows(arguments, options, report);
  take_points(arguments, options, training, report);
  choose_bandwidth(training, options, report);
  if (!arguments.no_scores)
    report.scores = nw::smoother_scores(training.x, training.y, report.kernel, report.bandwidth,
                                        training.categories, report.categories.lambda);
  estimate_points(arguments, training, report);
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
