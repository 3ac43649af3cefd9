#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ostream>

#include "headspan/report/decompose_report.h"
#include "report/input_facts.h"
#include "report/number_text.h"
#include "report/terminal.h"
#include "report/text_table.h"

namespace headspan::report {
namespace {

using ensemble::FittedWeights;
using ensemble::Origin;
using ensemble::Part;
using ensemble::PredictionFacts;

constexpr Index kMembersShown = 8;
constexpr std::size_t kNamesShown = 12;

/// Shares of the whole below this are the rounding of sums of squares, and shown as the 0 they stand for.
constexpr double kRoundingShare = 1e-13;

std::optional<double> without_rounding(const std::optional<double>& value, double whole) {
  return value && std::abs(*value) <= kRoundingShare * whole ? 0.0 : value;
}

std::string value_text(const std::optional<double>& value) {
  return value && std::isfinite(*value) ? fmt::format("{:.5g}", *value) : "-";
}

std::string error_text(const std::optional<double>& value) {
  return value && std::isfinite(*value) ? fmt::format("{:.2g}", *value) : "-";
}

std::string names_text(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t j = 0; j < std::min(names.size(), kNamesShown); ++j)
    append(text, ", ", printable(names[j]));
  if (names.size() > kNamesShown) text += fmt::format(" and {} more", names.size() - kNamesShown);
  return text;
}

std::string members_text(const DecomposeReport& report, const std::vector<Index>& members) {
  std::vector<std::string> names;
  for (const Index h : members) names.push_back(report.members[static_cast<std::size_t>(h)]);
  return names_text(names);
}

std::string doubt_text(const ensemble::Doubt& doubt) {
  if (doubt.reason == "error") return "Its squared error is over a hundred times that of the middle member";
  if (doubt.reason == "labels") return "Its values are whole numbers that never repeat, as row numbers are";
  return "Its values are whole numbers, each as often as the others, as numbers of training sets "
         "(--replicate) or points (--point) are";
}

void write_subject(std::ostream& out, const DecomposeReport& report, const TerminalStyle& style) {
  const PredictionFacts& facts = report.facts;
  write_entry(out, "members", fmt::format("{}: {}", facts.n_members, names_text(report.members)), style);
  if (!report.unused.empty()) write_entry(out, "not used", names_text(report.unused), style);
  write_entry(out, "truth", fmt::format("{}, {}", printable(report.truth), counted(facts.n_points, "point")),
              style);
  if (report.replicate)
    write_entry(out, "replicates",
                fmt::format("{} training sets ({}) of the same {} ({})", facts.n_replicates,
                            printable(*report.replicate), counted(facts.n_points, "point"),
                            printable(report.point.value_or(""))),
                style);
  for (const ensemble::Doubt& doubt : facts.doubtful)
    write_entry(out, "note",
                fmt::format("is {} a prediction? {}; if not, name the others with --members",
                            members_text(report, {doubt.member}), doubt_text(doubt)),
                style);
  if (report.truth_is_constant)
    write_entry(out, "note", "the truth is the same value in all rows: errors are about that one value",
                style);
  if (facts.n_members == 1)
    write_entry(out, "note", "one member has no correlation, no ambiguity, and no choice of weights", style);
}

void add_term(TextTable& table, const char* name, const std::optional<Part>& part, double whole,
              const std::string& meaning) {
  const bool is_estimate = part && part->origin == Origin::estimated;
  const char* kind = !part ? "not identified" : is_estimate ? "estimate" : "identity";
  table.add_row({{name},
                 {part ? value_text(without_rounding(part->value, whole)) : "-"},
                 {part ? error_text(without_rounding(part->standard_error, whole)) : "-"},
                 {kind, part ? Tone::plain : Tone::quiet},
                 {meaning, Tone::quiet}});
}

void write_terms(std::ostream& out, const PredictionFacts& facts, const TerminalStyle& style) {
  TextTable table(
      {{"term", false, 0}, {"value", true, 2}, {"s.e.", true, 2}, {"", false, 2}, {"", false, 2}});
  const double whole = facts.mean_member_mse.value;
  add_term(table, "mse", facts.mse, whole, "(F - y)^2, F the mean of the members");
  add_term(table, "mean member mse", facts.mean_member_mse, whole, "mean_h (f_h - y)^2 = mse + ambiguity");
  add_term(table, "ambiguity", facts.ambiguity, whole, "mean_h (f_h - F)^2");
  // E, Var and Cov are those over the training sets of the file: they close to the bit, and lean by 1/R.
  add_term(table, "bias^2", facts.bias2, whole, "(E F - y)^2, with the noise of y if it has any");
  add_term(table, "variance", facts.variance, whole, "mean_h Var f_h");
  add_term(table, "covariance", facts.covariance, whole, "mean_h!=l Cov(f_h, f_l)");
  add_term(table, "disparity", facts.disparity, whole, "mean_h (E f_h - E F)^2");
  add_term(table, "diversity", facts.diversity, whole, "E mean_h (f_h - F)^2");
  out << '\n';
  table.write(out, style.colour, style.width);
}

void write_closure(std::ostream& out, const PredictionFacts& facts, const TerminalStyle& style) {
  out << '\n';
  const bool has_replicates = facts.n_replicates > 1;
  write_entry(out, "closure",
              fmt::format("{} differs from mse by {:.1e}",
                          has_replicates ? "bias^2 + variance/H + (1 - 1/H) covariance"
                                         : "mean member mse - ambiguity",
                          std::abs(facts.closure)),
              style);
  if (facts.linking_closure)
    write_entry(out, "linking",
                fmt::format("identities of disparity and diversity: {:.1e}", *facts.linking_closure), style);
  if (!has_replicates)
    write_entry(
        out, "note",
        "one training set does not tell bias from variance: bias^2, variance, covariance, disparity and "
        "diversity are not identified. Predictions after repeated training sets identify them: --replicate, "
        "--point",
        style);
  if (facts.unbiased) {
    const Part& bias2 = *facts.unbiased->squared_bias;
    write_entry(
        out, "unbiased",
        fmt::format(
            "without what {} replicates leave in them: bias^2 {} ({}), variance {}, covariance {}; in "
            "brackets the jackknife standard error over the replicates",
            facts.n_replicates, value_text(bias2.value), error_text(bias2.standard_error),
            value_text(facts.unbiased->vbar), value_text(facts.unbiased->cbar)),
        style);
  }
  if (facts.n_bootstrap > 0)
    write_entry(out, "s.e.",
                fmt::format("over the points, {} bootstrap samples of {}{}", facts.n_bootstrap,
                            facts.n_groups == facts.n_points
                                ? counted(facts.n_points, "point")
                                : fmt::format("{} random groups of points", facts.n_groups),
                            has_replicates ? fmt::format("; the {} training sets stay as they are, so what "
                                                         "other sets would change is not in it",
                                                         facts.n_replicates)
                                           : std::string()),
                style);
}

void write_matrix(std::ostream& out, const DecomposeReport& report, const TerminalStyle& style) {
  const Matrix& r = *report.facts.correlation;
  if (r.rows() < 2) return;
  std::vector<TextColumn> columns = {{"", false, 0}};
  const Index shown = std::min(r.rows(), kMembersShown);
  for (Index h = 0; h < shown; ++h)
    columns.push_back({printable(report.members[static_cast<std::size_t>(h)]), true, 2});
  TextTable table(std::move(columns));
  for (Index h = 0; h < shown; ++h) {
    std::vector<Cell> row = {{printable(report.members[static_cast<std::size_t>(h)])}};
    for (Index l = 0; l < shown; ++l) row.push_back({fixed_text(r(h, l))});
    table.add_row(std::move(row));
  }
  table.write(out, style.colour, style.width);
  if (shown < r.rows())
    out << fmt::format("... {}; --json writes them all\n", counted(r.rows() - shown, "more member"));
}

void write_correlation(std::ostream& out, const DecomposeReport& report, const TerminalStyle& style) {
  const PredictionFacts& facts = report.facts;
  out << '\n';
  const std::string of = facts.correlation_of == "errors"
                             ? "second moments of the members' errors"
                             : "covariance of the members over the training sets";
  if (!facts.correlation) {
    const char* why = facts.correlation_of == "errors" ? "makes no error" : "never varies";
    write_entry(out, "correlation",
                fmt::format("of the {}: undefined where a member {}: {}", of, why,
                            members_text(report, facts.uncorrelated)),
                style);
    return;
  }
  write_entry(out, "correlation", fmt::format("of the {}", of), style);
  const auto with_error = [](const std::optional<Part>& part) {
    return part ? fmt::format("{} ({})", value_text(without_rounding(part->value, 1.0)),
                              error_text(without_rounding(part->standard_error, 1.0)))
                : std::string("-");
  };
  write_entry(out, "hdi",
              fmt::format("{}, effective members n_eff_2 {} of {}; in brackets the s.e.",
                          with_error(facts.hdi), with_error(facts.n_eff_2), facts.n_members),
              style);
  write_matrix(out, report, style);
}

std::string parameters_text(const FittedWeights& fitted) {
  std::string text;
  for (const auto& [name, value] : fitted.parameters)
    append(text, ", ", fmt::format("{} {:.4g}", name, value));
  return fitted.at_edge ? text + ", at the edge of the search: less risk may lie beyond" : text;
}

std::string weights_text(const Vector& weights) {
  std::string text;
  for (Index h = 0; h < std::min(weights.size(), kMembersShown); ++h)
    append(text, " ", fmt::format("{:.3f}", weights[h]));
  return weights.size() > kMembersShown ? text + " ..." : text;
}

void write_weights(std::ostream& out, const PredictionFacts& facts, const TerminalStyle& style) {
  TextTable table({{"weights", false, 0},
                   {"risk", true, 2},
                   {"left out", true, 2},
                   {"gain", true, 2},
                   {"s.e.", true, 2},
                   {"1/|a|^2", true, 2},
                   {"a", false, 2}});
  bool is_singular = false;
  const double whole = facts.mean_member_mse.value;
  for (const FittedWeights& fitted : facts.weights) {
    const ensemble::Weighting& found = fitted.weighting;
    const bool is_unique = found.status == ensemble::WeightsStatus::ok;
    is_singular = is_singular || !is_unique;
    const bool has_gain = fitted.gain_cv && fitted.name != "uniform";
    table.add_row({{fitted.name + (is_unique ? "" : "*"), is_unique ? Tone::plain : Tone::warning},
                   {value_text(without_rounding(found.risk, whole))},
                   {value_text(without_rounding(fitted.risk_cv, whole))},
                   {has_gain ? value_text(without_rounding(fitted.gain_cv->value, whole)) : "-"},
                   {has_gain ? error_text(without_rounding(fitted.gain_cv->standard_error, whole)) : "-"},
                   {fmt::format("{:.3g}", 1.0 / found.weights.squaredNorm())},
                   {weights_text(found.weights)}});
    if (!fitted.parameters.empty()) table.add_remark(parameters_text(fitted), Tone::quiet);
  }
  out << '\n';
  table.write(out, style.colour, style.width);
  if (is_singular)
    out << wrapped(
        "* Not the only weights of this risk to rounding, but of them the closest to equal ones: members "
        "make "
        "the same errors, differ by less than a millionth of them, or are more than the points.",
        0, style.width);
}

/// What was drawn: what a fit leaves out, and what chance is counted over.
const char* samples_of(const PredictionFacts& facts) {
  return facts.n_replicates > 1 ? "training sets" : "points";
}

std::string bound_text(const ensemble::PredictionOptions& options) {
  return options.greatest_norm2
             ? fmt::format("; simplex and monotone keep |a|^2 to {:.4g}", *options.greatest_norm2)
             : std::string();
}

std::string alike_text(const PredictionFacts& facts, const std::string& loss) {
  if (!facts.alike.p)
    return fmt::format(
        "the members' errors have equal second moments and equal products: for such members no structure can "
        "win, and weights lose {} (|a|^2 - 1/H)",
        loss);
  const std::string p = probability_text(facts.alike.p);
  if (!facts.alike.holds)
    return fmt::format(
        "no: members differ in the second moments or products of their errors beyond what {} do by chance (p "
        "{}), so weights can win",
        samples_of(facts), p);
  return fmt::format(
      "not ruled out (p {}): the second moments and products of the members' errors differ no more than by "
      "chance, which few {} hide much behind. For members that are alike no structure can win, and weights "
      "lose {} (|a|^2 - 1/H)",
      p, samples_of(facts), loss);
}

void write_reading(std::ostream& out, const DecomposeReport& report, const TerminalStyle& style) {
  const PredictionFacts& facts = report.facts;
  out << '\n';
  if (facts.n_folds > 0)
    write_entry(
        out, "risk",
        fmt::format("on the {0} that chose the weights; left out: {1} folds of {0}, each weighted by "
                    "what the others chose; gain: how much less than uniform, with its s.e. over the {0}{2}",
                    samples_of(facts), facts.n_folds, bound_text(report.options)),
        style);
  if (facts.n_members < 2) return;
  if (!facts.alike.p && !facts.alike.holds) {
    write_entry(out, "alike",
                fmt::format("not tested: three {} or more tell chance from a difference of the members",
                            samples_of(facts)),
                style);
    return;
  }
  const std::string loss =
      value_text(without_rounding(facts.alike.diagonal - facts.alike.off_diagonal, facts.alike.diagonal));
  write_entry(out, "alike", alike_text(facts, loss), style);
}

}  // namespace

void write_decompose_terminal(std::ostream& out, const DecomposeReport& report, const TerminalStyle& style) {
  write_input(out, "data", report.input, style);
  write_subject(out, report, style);
  write_terms(out, report.facts, style);
  write_closure(out, report.facts, style);
  write_correlation(out, report, style);
  write_weights(out, report.facts, style);
  write_reading(out, report, style);
}

}  // namespace headspan::report
