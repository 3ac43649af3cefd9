#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <ostream>

#include "headspan/report/regression_report.h"
#include "report/input_facts.h"
#include "report/number_text.h"
#include "report/terminal.h"
#include "report/text_table.h"

namespace headspan::report {
namespace {

using estimator::ColumnDecision;
using estimator::ColumnUse;
using estimator::EncodingFacts;
using estimator::Exclusion;
using estimator::ScoreFacts;

constexpr Index kRowsShown = 10;
constexpr std::size_t kNamesShown = 12;
constexpr std::size_t kColumnsShown = 3;  // of the most influential

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kNamesShown); ++i)
    append(text, ", ", printable(names[i]));
  if (names.size() > kNamesShown) text += fmt::format(" and {} more", names.size() - kNamesShown);
  return text;
}

void write_column_note(std::ostream& out, const ColumnDecision& column, const TerminalStyle& style) {
  const bool is_left_out = column.use == ColumnUse::left_out;
  if (column.exclusion == Exclusion::none) {
    if (!column.note.empty())
      write_entry(out, "note", fmt::format("{}: {}", printable(column.name), printable(column.note)), style);
    return;
  }
  const std::string note = column.note.empty() ? "" : fmt::format(": {}", printable(column.note));
  const char* what = column.exclusion == Exclusion::leak ? "WARNING" : is_left_out ? "left out" : "kept";
  write_entry(out, what,
              fmt::format("{} ({}{}){}", printable(column.name), to_string(column.exclusion),
                          is_left_out ? ", left out" : ", kept as asked", note),
              style);
}

void write_encoding(std::ostream& out, const EncodingFacts& facts, const TerminalStyle& style) {
  write_entry(out, "inputs", fmt::format("{}: {}", facts.inputs.size(), listed(facts.inputs)), style);
  for (const ColumnDecision& column : facts.columns) write_column_note(out, column, style);
}

void write_repairs(std::ostream& out, const std::vector<estimator::ColumnRepair>& repairs,
                   const TerminalStyle& style) {
  for (const estimator::ColumnRepair& repair : repairs) {
    const std::string name = printable(repair.name);
    if (repair.n_filled > 0)
      write_entry(out, "filled",
                  fmt::format("{}: {} got the median", name, counted(repair.n_filled, "missing value")),
                  style);
    if (repair.n_unseen == 0) continue;
    const std::string what =
        repair.unseen.empty() ? "a missing value" : fmt::format("'{}'", printable(repair.unseen));
    write_entry(out, "unseen",
                fmt::format("{}: {} of a level without an input, the first on line {}: {}", name,
                            counted(repair.n_unseen, "row"), repair.first_unseen, what),
                style);
  }
}

std::string recipe_text(const estimator::EstimateFacts& estimate) {
  const estimator::Recipe& recipe = estimate.recipe;
  std::string text = estimate.n_heads == 0
                         ? std::string("no head")
                         : fmt::format("{} {} of dimension {}, {}", estimate.n_heads, to_string(recipe.heads),
                                       recipe.head_dim, to_string(recipe.combiner));
  if (recipe.sharpen) text += ", sharpened";
  if (recipe.trend) text += ", on a linear trend";
  return fmt::format("{}, weight {:.3g}", text, estimate.weight);
}

void write_errors(std::ostream& out, const estimator::ErrorFacts& left_out,
                  const std::optional<estimator::ErrorFacts>& held_out, const TerminalStyle& style) {
  const auto text = [](const estimator::ErrorFacts& error) {
    return fmt::format("rmse {}, {} of the target's standard deviation", short_text(error.rmse),
                       fixed_text(error.relative));
  };
  if (held_out) write_entry(out, "held out", text(*held_out) + " (rows the fit did not see)", style);
  write_entry(out, "left out", text(left_out) + " (heads as learned on all rows: too small)", style);
  if (!held_out)
    write_entry(
        out, "WARNING",
        "no model of folds: intervals rest on these left-out residuals and are too narrow where heads "
        "were learned; fit with --inner-folds 5, where the rows allow it, for ones that hold what they say",
        style);
}

void write_question(std::ostream& out, const RegressionQuestion& question, const TerminalStyle& style) {
  write_input(out, "data", question.input, style);
  write_entry(out, "target", printable(question.target), style);
  if (question.weight) write_entry(out, "weights", printable(*question.weight), style);
}

std::string combined_text(const estimator::Recipe& recipe) {
  return fmt::format("{}{}", to_string(recipe.combiner), recipe.sharpen ? ", sharpened" : "");
}

/// What every candidate gave, or would have.
void write_search(std::ostream& out, const estimator::SearchFacts& search, const TerminalStyle& style) {
  write_entry(out, "search",
              fmt::format("effort {} of {}{}", short_text(search.effort_spent), short_text(search.effort),
                          search.partial ? "; PARTIAL: the clock ended it" : ""),
              style);
  TextTable table({{"candidate", false, 0},
                   {"combined by", false},
                   {"trend", false},
                   {"heads"},
                   {"dim"},
                   {"held out"},
                   {"weight"},
                   {"", false}});
  for (const estimator::CandidateFacts& candidate : search.candidates) {
    const estimator::Recipe& recipe = candidate.recipe;
    const Index n_heads = candidate.tried ? candidate.n_heads : recipe.n_heads;
    table.add_row({{recipe.n_heads == 0 ? "no head" : to_string(recipe.heads)},
                   {recipe.n_heads == 0 ? "-" : combined_text(recipe)},
                   {recipe.trend ? "linear" : "-"},
                   {candidate.n_chains > 1 ? fmt::format("{} x {}", candidate.n_chains, n_heads)
                                           : std::to_string(n_heads)},
                   {recipe.n_heads == 0 ? "-" : std::to_string(recipe.head_dim)},
                   {candidate.tried ? fixed_text(candidate.error) : "not tried"},
                   {candidate.weight > 0.0 ? fixed_text(candidate.weight) : "-"},
                   {candidate.planned ? "planned" : ""}});
  }
  out << '\n';
  table.write(out, style.colour, style.width);
  out << '\n';
}

std::vector<Cell> score_cells(const std::string& name, const ScoreFacts& score) {
  return {{name},
          {short_text(score.rmse)},
          {fixed_text(score.relative_rmse)},
          {short_text(score.mae)},
          {fixed_text(score.r2)},
          {fixed_text(score.coverage)},
          {std::isinf(score.width) ? "unlimited" : short_text(score.width)}};
}

/// The most influential columns of a head: "age 41 %, income 30 %".
std::string influence_text(const std::vector<std::string>& columns, const std::vector<double>& influence) {
  std::vector<std::size_t> order(columns.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return influence[a] > influence[b]; });
  std::string text;
  for (std::size_t i = 0; i < std::min(order.size(), kColumnsShown); ++i)
    append(text, ", ", fmt::format("{} {:.0f} %", printable(columns[order[i]]), 100.0 * influence[order[i]]));
  return text;
}

void write_heads(std::ostream& out, const estimator::InspectionFacts& facts, const TerminalStyle& style) {
  TextTable table(
      {{"head", true, 0}, {"estimate"}, {"dim"}, {"weight"}, {"share"}, {"most influential columns", false}});
  for (std::size_t h = 0; h < facts.heads.size(); ++h) {
    const estimator::HeadFacts& head = facts.heads[h];
    table.add_row({{std::to_string(h)},
                   {std::to_string(head.estimate)},
                   {std::to_string(head.rank)},
                   {short_text(head.weight)},
                   {fixed_text(head.share)},
                   {influence_text(facts.columns, head.influence)}});
  }
  out << '\n';
  table.write(out, style.colour, style.width);
}

}  // namespace

void write_fit_terminal(std::ostream& out, const FitReport& report, const TerminalStyle& style) {
  write_question(out, report.question, style);
  write_entry(out, "used",
              report.facts.total_weight
                  ? fmt::format("{} of total weight {}", counted(report.facts.n_rows, "row"),
                                short_text(*report.facts.total_weight))
                  : counted(report.facts.n_rows, "row"),
              style);
  write_encoding(out, report.facts.encoding, style);
  write_repairs(out, report.facts.repairs, style);
  if (report.facts.search) write_search(out, *report.facts.search, style);
  for (const estimator::EstimateFacts& estimate : report.facts.estimates)
    write_entry(out, "estimate", recipe_text(estimate), style);
  write_errors(out, report.facts.leave_one_out, report.facts.held_out, style);
  if (!report.facts.no_folds.empty())
    write_entry(out, "intervals", "rest on the left-out residuals: " + report.facts.no_folds, style);
  write_entry(out, "model", printable(report.model_path), style);
}

void write_evaluate_terminal(std::ostream& out, const EvaluateReport& report, const TerminalStyle& style) {
  write_question(out, report.question, style);
  write_entry(out, "used", counted(report.facts.n_rows, "row"), style);
  write_encoding(out, report.facts.encoding, style);
  TextTable table({{"fold", false, 0},
                   {"rmse"},
                   {"relative"},
                   {"mae"},
                   {"R2"},
                   {fmt::format("in {:g} %", 100.0 * report.facts.interval)},
                   {"width"}});
  for (std::size_t k = 0; k < report.facts.folds.size(); ++k)
    table.add_row(score_cells(std::to_string(k + 1), report.facts.folds[k]));
  table.add_row(score_cells("mean", report.facts.mean));
  table.add_row(score_cells("sd", report.facts.sd));
  out << '\n';
  table.write(out, style.colour, style.width);
}

void write_predict_terminal(std::ostream& out, const PredictReport& report, const TerminalStyle& style) {
  write_input(out, "data", report.input, style);
  write_entry(out, "model", printable(report.model_path), style);
  if (!report.ignored.empty())
    write_entry(out, "ignored", fmt::format("columns the model does not know: {}", listed(report.ignored)),
                style);
  write_repairs(out, report.repairs, style);
  const auto n_far = std::count(report.extrapolated.begin(), report.extrapolated.end(), true);
  if (n_far > 0)
    write_entry(out, "far away", fmt::format("{} with no training row near", counted(n_far, "row")), style);
  std::vector<TextColumn> columns = {{"line", true, 0}, {printable(report.target)}};
  if (report.interval) columns.insert(columns.end(), {{"lower"}, {"upper"}});
  if (report.noise) columns.insert(columns.end(), {{"fit_variance"}, {"noise_variance"}});
  columns.insert(columns.end(), {{"n_eff"}, {"", false}});
  TextTable table(std::move(columns));
  for (Index i = 0; i < std::min(report.value.size(), kRowsShown); ++i) {
    const auto at = static_cast<std::size_t>(i);
    std::vector<Cell> row = {{std::to_string(report.lines[at])}, {fmt::format("{:.6g}", report.value[i])}};
    if (report.interval)
      row.insert(row.end(),
                 {{fmt::format("{:.6g}", report.lower[i])}, {fmt::format("{:.6g}", report.upper[i])}});
    if (report.noise)
      row.insert(row.end(), {{short_text(report.fit_variance[i])}, {short_text(report.noise_variance[i])}});
    row.push_back({short_text(report.n_eff[i])});
    if (report.extrapolated[at]) row.push_back({"far away", Tone::warning});
    table.add_row(std::move(row));
  }
  out << '\n';
  table.write(out, style.colour, style.width);
  if (report.value.size() > kRowsShown)
    out << fmt::format("... {}; --csv and --json write them all\n",
                       counted(report.value.size() - kRowsShown, "more row"));
}

void write_inspect_terminal(std::ostream& out, const InspectReport& report, const TerminalStyle& style) {
  const estimator::InspectionFacts& facts = report.facts;
  write_entry(out, "model", printable(report.model_path), style);
  write_entry(out, "written by", printable(facts.written_by), style);
  write_entry(out, "target", printable(facts.target), style);
  write_entry(out, "rows",
              fmt::format("{} distinct, {} with repetition", facts.n_rows, short_text(facts.total_weight)),
              style);
  write_encoding(out, facts.encoding, style);
  for (const estimator::EstimateFacts& estimate : facts.estimates)
    write_entry(out, "estimate", recipe_text(estimate), style);
  write_errors(out, facts.leave_one_out, facts.held_out, style);
  if (facts.diversity.hdi)
    write_entry(
        out, "diversity",
        fmt::format("HDI {} of the heads' subspaces; random ones have {} (z {}); {} effective heads of {}",
                    fixed_text(facts.diversity.hdi), fixed_text(facts.diversity.baseline),
                    z_text(facts.diversity.z), fixed_text(facts.diversity.n_eff_2), facts.heads.size()),
        style);
  write_entry(out, "shares",
              fmt::format("of the prediction's variance: trend {}, heads below; they add up to one",
                          fixed_text(facts.trend_share)),
              style);
  if (!facts.heads.empty())
    write_entry(out, "influence", influence_text(facts.columns, facts.influence), style);
  write_heads(out, facts, style);
}

}  // namespace headspan::report
