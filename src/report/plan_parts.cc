#include "report/plan_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "report/json_values.h"
#include "report/number_text.h"
#include "report/terminal.h"

namespace headspan::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kTiesShown = 8;

Json pair_object(const plan::ContinuousPair& pair) {
  return {{"head_dim", number(pair.head_dim)}, {"n_heads", number(pair.n_heads)}};
}

Json closed_object(const std::optional<plan::ClosedForm>& closed) {
  if (!closed) return {};
  Json object = pair_object(closed->pair);
  object["exact"] = closed->exact;
  object["assumption"] = closed->assumption;
  return object;
}

std::string edges_text(const plan::Slope& slope) {
  std::string text;
  for (const plan::Edge edge : slope.edges) append(text, " or ", to_string(edge));
  return text;
}

Json slope_object(const plan::Slope& slope) {
  return {{"value", number(slope.value)}, {"limit", number(slope.limit)},
          {"from", number(slope.from)},   {"to", number(slope.to)},
          {"n_points", slope.n_points},   {"n_beyond_range", slope.n_beyond_range},
          {"n_at_edge", slope.n_at_edge}, {"edge", slope.edges.empty() ? Json() : Json(edges_text(slope))}};
}

std::string rules_text(const plan::PairRules& rules) {
  std::string text = fmt::format("{}{}", rules.exact ? "exactly " : "at most ", rules.budget);
  if (rules.multiple_of > 1) text += fmt::format(", head_dim in multiples of {}", rules.multiple_of);
  if (rules.n_kv_heads > 1) text += fmt::format(", n_heads in multiples of {}", rules.n_kv_heads);
  if (rules.d_model) text += fmt::format(", d_model {}", *rules.d_model);
  return text;
}

}  // namespace

Json rules_object(const plan::PairRules& rules) {
  return {{"budget", rules.budget},
          {"exact", rules.exact},
          {"multiple_of", rules.multiple_of},
          {"n_kv_heads", rules.n_kv_heads},
          {"d_model", rules.d_model ? Json(*rules.d_model) : Json()}};
}

Json point_object(const plan::PlanPoint& point) {
  const plan::PairError& error = point.error;
  return {{"head_dim", point.pair.head_dim},
          {"n_heads", point.pair.n_heads},
          {"mse", number(error.mse)},
          {"squared_bias", number(error.squared_bias)},
          {"variance", number(error.variance)},
          {"rho", number(error.rho)},
          {"log_growth", number(error.log_growth)},
          {"bandwidth", number(error.bandwidth)},
          {"standard_error", number(error.standard_error)},
          {"capped", error.capped},
          {"beyond_range", error.beyond_range}};
}

Json scaling_object(const plan::Scaling& scaling) {
  return {{"regime", scaling.regime.name},
          {"law", scaling.regime.law},
          {"closed_form", closed_object(scaling.closed_form)},
          {"optimum", pair_object(scaling.optimum)},
          {"optimum_edge",
           scaling.optimum_edge == plan::Edge::none ? Json() : Json(to_string(scaling.optimum_edge))},
          {"slopes",
           {{"head_dim_on_log_n", slope_object(scaling.head_dim_on_log_n)},
            {"log_n_heads_on_log_budget", slope_object(scaling.log_n_heads_on_log_budget)}}}};
}

std::string pair_text(const plan::Pair& pair) {
  return fmt::format("{} x {}", counted(pair.n_heads, "head"), pair.head_dim);
}

void write_budget(std::ostream& out, const plan::PairRules& rules, const TerminalStyle& style) {
  write_entry(out, "budget", rules_text(rules), style);
  if (const auto instead = plan::budget_instead_of_prime(rules))
    write_entry(out, "note",
                fmt::format("{0} is prime: only 1 head of {0} and {0} heads of 1 spend it whole; do without "
                            "--exact, or take {1}",
                            rules.budget, *instead),
                style);
}

void write_plan_notes(std::ostream& out, const plan::Allocation& found, const TerminalStyle& style) {
  for (const std::string& note : found.notes) write_entry(out, "note", note, style);
}

std::string rho_text(const plan::PlanPoint& point) {
  return point.pair.n_heads > 1 ? short_text(point.error.rho) : "-";
}

std::string continuous_text(const plan::ContinuousPair& pair) {
  return fmt::format("head_dim {:.4f}, n_heads {:.5g}", pair.head_dim, pair.n_heads);
}

std::string slope_text(const plan::Slope& slope, const char* over) {
  const std::string range = fmt::format("over {} {:.3g} to {:.3g}", over, slope.from, slope.to);
  const std::string held =
      fmt::format("{} of {} points at the edge of {}", slope.n_at_edge, slope.n_points, edges_text(slope));
  if (!slope.value) return fmt::format("{}: {}, no slope", range, held);
  std::string text = fmt::format("{:.4g} {}", *slope.value, range);
  if (slope.limit) text += fmt::format(", tends to {:.4g}", *slope.limit);
  if (slope.n_beyond_range > 0)
    text +=
        fmt::format(" ({} of {} points beyond the range of the law)", slope.n_beyond_range, slope.n_points);
  if (slope.n_at_edge > 0) text += fmt::format(" ({}, left out)", held);
  return text;
}

std::string near_ties_text(const plan::Allocation& found, const std::string& margin) {
  if (found.near_ties.size() == 1) return fmt::format("none within {}", margin);
  std::string ties;
  for (std::size_t i = 0; i < std::min(found.near_ties.size(), kTiesShown); ++i)
    append(ties, ", ", pair_text(found.curve[found.near_ties[i]].pair));
  if (found.near_ties.size() > kTiesShown) ties += fmt::format(", ... {} in all", found.near_ties.size());
  return fmt::format("within {}: {}", margin, ties);
}

}  // namespace headspan::report
