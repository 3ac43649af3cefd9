#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ostream>

#include "headspan/report/nw_report.h"
#include "report/input_facts.h"
#include "report/number_text.h"
#include "report/nw_inputs.h"
#include "report/terminal.h"
#include "report/text_table.h"

namespace headspan::report {
namespace {

constexpr Index kPointsShown = 10;
constexpr std::size_t kMinimaShown = 3;
constexpr std::size_t kLevelsShown = 12;

std::string value_text(double value) { return std::isnan(value) ? "-" : fmt::format("{:.6g}", value); }

std::string bandwidth_text(const NwReport& report, const Vector& bandwidth) {
  const std::vector<std::string> names = number_names(report);
  std::string text;
  for (Index j = 0; j < bandwidth.size(); ++j) {
    const std::string value = std::isinf(bandwidth[j]) ? "unlimited" : fmt::format("{:.5g}", bandwidth[j]);
    const bool is_named = bandwidth.size() == std::ssize(names);
    append(text, ", ",
           is_named ? fmt::format("{} ({})", value, printable(names[static_cast<std::size_t>(j)])) : value);
  }
  return text;
}

std::string irrelevance_text(const std::string& column, bool is_left_out) {
  const std::string name = printable(column);
  return is_left_out ? fmt::format("{} is left out: the criterion is no worse without it", name)
                     : fmt::format(
                           "{} hardly matters: without it the leave-one-out error rises by less than its "
                           "standard error",
                           name);
}

double largest_lambda(const NwCategories& categories, std::size_t k) {
  return nw::largest_lambda(categories.kernels[k], std::ssize(categories.columns[k].levels));
}

// What the search found of every column.
void write_notes(std::ostream& out, const NwReport& report, const TerminalStyle& style) {
  const nw::BandwidthSelection& selection = *report.selection;
  const std::vector<std::string> names = number_names(report);
  for (std::size_t j = 0; j < names.size(); ++j) {
    if (selection.irrelevant.at(j))
      write_entry(out, "note",
                  irrelevance_text(names[j], std::isinf(report.bandwidth[static_cast<Index>(j)])), style);
    else if (selection.at_edge.at(j))
      write_entry(out, "note",
                  fmt::format("the bandwidth of {} lies on an edge of the search", printable(names[j])),
                  style);
  }
  const NwCategories& categories = report.categories;
  for (std::size_t k = 0; k < categories.columns.size(); ++k)
    if (selection.irrelevant_category.at(k))
      write_entry(out, "note",
                  irrelevance_text(categories.columns[k].name,
                                   categories.lambda[static_cast<Index>(k)] == largest_lambda(categories, k)),
                  style);
}

std::string levels_text(const table::CategoryColumn& column) {
  std::string text;
  for (std::size_t l = 0; l < std::min(column.levels.size(), kLevelsShown); ++l)
    append(text, column.is_ordered ? " < " : ", ", printable(column.levels[l]));
  const auto n_more = std::ssize(column.levels) - static_cast<std::int64_t>(kLevelsShown);
  return n_more > 0 ? fmt::format("{} and {} more", text, n_more) : text;
}

// How every column of categories was understood, and its lambda.
void write_categories(std::ostream& out, const NwCategories& categories, const TerminalStyle& style) {
  for (std::size_t k = 0; k < categories.columns.size(); ++k) {
    const table::CategoryColumn& column = categories.columns[k];
    write_entry(out, "category",
                fmt::format("{}, {}: {}", printable(column.name), column.is_ordered ? "ordered" : "unordered",
                            levels_text(column)),
                style);
    write_entry(
        out, "lambda",
        fmt::format("{:.5g} ({}), {}, from 0 to {:.5g}", categories.lambda[static_cast<Index>(k)],
                    printable(column.name), to_string(categories.kernels[k]), largest_lambda(categories, k)),
        style);
  }
}

void write_selection(std::ostream& out, const NwReport& report, const TerminalStyle& style) {
  if (!report.selection) return;
  const nw::BandwidthSelection& selection = *report.selection;
  write_entry(out, "chosen by",
              fmt::format("{} {}, {} evaluations", to_string(report.selection_options->criterion),
                          value_text(selection.value), selection.n_evaluations),
              style);
  write_notes(out, report, style);
  for (std::size_t i = 1; i < std::min(selection.minima.size(), kMinimaShown); ++i) {
    const nw::BandwidthMinimum& minimum = selection.minima[i];
    std::string place = bandwidth_text(report, minimum.bandwidth);
    for (Index k = 0; k < minimum.lambda.size(); ++k)
      append(place, ", ",
             fmt::format("{:.5g} ({})", minimum.lambda[k],
                         printable(report.categories.columns[static_cast<std::size_t>(k)].name)));
    write_entry(out, "next best", fmt::format("{}: {}", place, value_text(minimum.value)), style);
  }
}

void write_scores(std::ostream& out, const NwReport& report, const TerminalStyle& style) {
  if (!report.scores) {
    write_entry(out, "scores", "not computed (--no-scores)", style);
    return;
  }
  const nw::SmootherScores& scores = *report.scores;
  const auto text = [](const std::optional<double>& score) { return score ? value_text(*score) : "-"; };
  write_entry(out, "scores",
              fmt::format("loo {}, gcv {}, aicc {}", text(scores.loo), text(scores.gcv), text(scores.aicc)),
              style);
  write_entry(out, "freedom",
              fmt::format("tr W {}, tr WW' {}, mean squared residual {}", value_text(scores.trace),
                          value_text(scores.trace_wwt), value_text(scores.sigma2)),
              style);
  if (scores.n_isolated > 0)
    write_entry(out, "isolated",
                fmt::format("{} of {} points have no other row in reach and are left out of loo",
                            scores.n_isolated, report.n),
                style);
}

void write_points(std::ostream& out, const NwReport& report, const TerminalStyle& style) {
  std::vector<TextColumn> columns = {{"line", true, 0}};
  const std::vector<InputPlace> inputs = input_places(report);
  for (std::size_t j = 0; j < inputs.size(); ++j)
    columns.push_back({printable(report.x[j]), !inputs[j].is_category, 2});
  columns.push_back({fmt::format("fit of {}", printable(report.y)), true, 2});
  if (report.leave_one_out) columns.push_back({"left out", true, 2});
  columns.push_back({"n_eff", true, 2});
  columns.push_back({"status", false, 2});
  TextTable table(std::move(columns));
  for (Index i = 0; i < std::min(report.points.rows(), kPointsShown); ++i) {
    const auto at = static_cast<std::size_t>(i);
    std::vector<Cell> row = {{std::to_string(report.lines[at])}};
    for (const InputPlace& input : inputs)
      row.push_back({input.is_category ? printable(level_at(report.categories, i, input.at))
                                       : value_text(report.points(i, static_cast<Index>(input.at)))});
    row.push_back({value_text(report.estimate.output(i, 0))});
    if (report.leave_one_out) row.push_back({value_text(report.leave_one_out->output(i, 0))});
    row.push_back({short_text(report.estimate.n_eff[i])});
    const nw::PointStatus status = report.estimate.status[at];
    row.push_back({to_string(status), status == nw::PointStatus::ok ? Tone::plain : Tone::warning});
    table.add_row(std::move(row));
  }
  out << '\n';
  table.write(out, style.colour, style.width);
  if (report.points.rows() > kPointsShown)
    out << fmt::format("... {}; --json writes them all\n",
                       counted(report.points.rows() - kPointsShown, "more point"));
}

}  // namespace

void write_nw_terminal(std::ostream& out, const NwReport& report, const TerminalStyle& style) {
  write_input(out, "data", report.input, style);
  if (report.at) write_input(out, "points", *report.at, style);
  std::string inputs;
  for (const std::string& name : report.x) append(inputs, ", ", printable(name));
  write_entry(out, "model",
              fmt::format("{} from {}, {}", printable(report.y), inputs, counted(report.n, "row")), style);
  const bool has_shape = number_names(report).size() > 1 &&
                         report.kernel.function != nw::KernelFunction::gaussian &&
                         report.kernel.function != nw::KernelFunction::softmax;
  write_entry(out, "kernel",
              fmt::format("{}{}", to_string(report.kernel.function),
                          has_shape ? fmt::format(", {}", to_string(report.kernel.shape)) : ""),
              style);
  if (report.bandwidth.size() > 0)
    write_entry(out, "bandwidth", bandwidth_text(report, report.bandwidth), style);
  write_categories(out, report.categories, style);
  write_selection(out, report, style);
  write_scores(out, report, style);
  write_points(out, report, style);
}

}  // namespace headspan::report
