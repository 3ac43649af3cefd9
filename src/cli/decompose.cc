#include "cli/decompose.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <ostream>
#include <set>
#include <utility>

#include "cli/decompose_arguments.h"
#include "cli/exit_code.h"
#include "cli/outputs.h"
#include "cli/terminal_style.h"
#include "headspan/numeric/error.h"
#include "headspan/numeric/parallel.h"
#include "headspan/report/decompose_report.h"
#include "headspan/table/grid.h"

namespace headspan::cli {
namespace {

using report::DecomposeReport;
using table::ColumnFacts;
using table::ColumnType;

// Fourth powers of errors, summed over the points, must stay below the largest double, and where all errors
// are small above zero.
constexpr double kLargestError = 1e70;
constexpr double kSmallestError = 1e-70;

/// Numbers in which a few cells are not: more likely members with mistakes in them than words.
bool is_damaged_number(const ColumnFacts& column, std::int64_t n_rows) {
  return column.type == ColumnType::text && 2 * column.misfit->n_rows < n_rows - column.n_missing;
}

/// Sets report.members and report.unused.
void choose_members(const table::Table& table, const DecomposeArguments& arguments, DecomposeReport& report) {
  report.members = column_names(table, arguments.members, "--members");
  const std::set<std::string> named(report.members.begin(), report.members.end());
  for (const ColumnFacts& column : table.understood.columns) {
    const bool is_label = column.name == arguments.replicate || column.name == arguments.point;
    if (column.name == arguments.truth || is_label || named.contains(column.name)) continue;
    const bool could_be =
        column.type == ColumnType::number || is_damaged_number(column, table.understood.n_rows);
    // Of two columns of one name it refuses to choose.
    if (named.empty() && could_be) column_index(table, column.name);
    (named.empty() && could_be ? report.members : report.unused).push_back(column.name);
  }
  if (report.members.empty())
    throw DataError(
        FileFault::missing, {table.understood.path, {}, {}},
        fmt::format("no column but the truth, '{}', holds numbers, so there are no members; the other "
                    "columns must be predictions",
                    arguments.truth));
}

/// Labels that are members too would be decomposed as predictions.
void check_roles(const DecomposeArguments& arguments, const DecomposeReport& report) {
  const auto check = [&](const std::optional<std::string>& label, const char* option) {
    if (!label) return;
    const auto& members = report.members;
    if (*label == arguments.truth || std::find(members.begin(), members.end(), *label) != members.end())
      throw UsageError(fmt::format("{} {}: the column is the truth or a member already", option, *label));
  };
  check(arguments.replicate, "--replicate");
  check(arguments.point, "--point");
  if (arguments.replicate && arguments.replicate == arguments.point)
    throw UsageError(fmt::format("--replicate and --point both name {}", *arguments.replicate));
}

void check_errors(const table::NumericRows& rows, const DecomposeReport& report) {
  for (Index i = 0; i < rows.x.rows(); ++i)
    for (Index h = 0; h < rows.x.cols(); ++h)
      if (!(std::abs(rows.x(i, h) - rows.y[i]) < kLargestError))
        throw DataError(FileFault::refused,
                        {report.input.understood.path,
                         fmt::format("column '{}'", report.members[static_cast<std::size_t>(h)]),
                         std::nullopt, static_cast<std::uint64_t>(rows.lines[static_cast<std::size_t>(i)])},
                        fmt::format("an error of {:.3g}, whose fourth power leaves double; give predictions "
                                    "and truth in other units",
                                    std::abs(rows.x(i, h) - rows.y[i])));
  const double largest = (rows.x.colwise() - rows.y).cwiseAbs().maxCoeff();
  if (largest > 0.0 && largest < kSmallestError)
    throw DataError(FileFault::refused, {report.input.understood.path, {}, std::nullopt},
                    fmt::format("errors of at most {:.3g}, whose fourth powers leave double; give "
                                "predictions and truth in other units",
                                largest));
}

/// One truth per point, whatever the training set.
Vector truth_of_points(const table::NumericRows& rows, const table::Grid& grid,
                       const DecomposeReport& report) {
  const std::size_t n = grid.inner.size();
  Vector truth(static_cast<Index>(n));
  for (std::size_t cell = 0; cell < grid.row.size(); ++cell) {
    const double value = rows.y[grid.row[cell]];
    double& known = truth[static_cast<Index>(cell % n)];
    if (cell < n) known = value;
    if (value != known)
      throw DataError(
          FileFault::refused,
          {report.input.understood.path, fmt::format("column '{}'", report.truth), std::nullopt,
           static_cast<std::uint64_t>(rows.lines[static_cast<std::size_t>(grid.row[cell])])},
          fmt::format(
              "{} for {} '{}' and {} on line {}; a point has one truth, the regression function or one "
              "observation, in every {}",
              value, *report.point, grid.inner[cell % n], known,
              rows.lines[static_cast<std::size_t>(grid.row[cell % n])], *report.replicate));
  }
  return truth;
}

ensemble::Replicates repeated(const table::Table& table, const table::NumericRows& rows,
                              const DecomposeReport& report) {
  const table::Grid grid = table::arrange_rows(table, rows, *report.replicate, *report.point);
  if (grid.outer.size() < 2)
    throw DataError(
        FileFault::refused,
        {table.understood.path, fmt::format("column '{}'", *report.replicate), std::nullopt},
        fmt::format("one training set only, '{}', does not tell bias from variance; leave --replicate and "
                    "--point out",
                    grid.outer.front()));
  const auto n = static_cast<std::ptrdiff_t>(grid.inner.size());
  ensemble::Replicates out;
  out.truth = truth_of_points(rows, grid, report);
  for (auto first = grid.row.begin(); first != grid.row.end(); first += n)
    out.predictions.emplace_back(rows.x(std::vector<Index>(first, first + n), Eigen::all).transpose());
  return out;
}

ensemble::Replicates predictions(const DecomposeArguments& arguments, DecomposeReport& report) {
  table::Table table = read_table(arguments.data, csv_options(arguments.table));
  report.truth = arguments.truth;
  report.replicate = arguments.replicate;
  report.point = arguments.point;
  choose_members(table, arguments, report);
  check_roles(arguments, report);
  const table::NumericRows rows = select_numeric(table, report.members, report.truth);
  report.input = {table.understood, rows.dropped};
  report.truth_is_constant = rows.y.minCoeff() == rows.y.maxCoeff();
  check_errors(rows, report);
  if (report.replicate) return repeated(table, rows, report);
  ensemble::Replicates out;
  out.truth = rows.y;
  out.predictions.emplace_back(rows.x.transpose());
  return out;
}

int run_decompose(const DecomposeArguments& arguments) {
  DecomposeReport report;
  report.options = resolve(arguments);
  std::vector<Output> outputs;
  if (arguments.json) outputs.push_back({"--json", *arguments.json});
  check_outputs(outputs, {arguments.data});
  const ThreadLimit limit(arguments.n_threads);
  const ensemble::Replicates replicates = predictions(arguments, report);
  const double equal = 1.0 / static_cast<double>(report.members.size());
  if (report.options.greatest_norm2.value_or(1.0) < equal)
    throw UsageError(fmt::format("--greatest-norm2 {}: must be at least 1/H = {} for {} members",
                                 *report.options.greatest_norm2, equal, report.members.size()));
  report.facts = ensemble::decompose_predictions(replicates, report.options);
  for (const Output& output : outputs)
    write_output(output, [&](std::ostream& out) { write_decompose_json(out, report, HEADSPAN_VERSION); });
  write_table(outputs, arguments.quiet,
              [&](std::ostream& out) { write_decompose_terminal(out, report, terminal_style()); });
  return kDone;
}

}  // namespace

void add_decompose_command(CLI::App& app, std::function<int()>& run) {
  CLI::App* command = app.add_subcommand(
      "decompose",
      "Bias, variance, covariance, ambiguity and best weights of an ensemble from its predictions");
  const auto arguments = std::make_shared<DecomposeArguments>();
  declare(*command, *arguments);
  command->callback([arguments, &run] { run = [arguments] { return run_decompose(*arguments); }; });
}

}  // namespace headspan::cli
