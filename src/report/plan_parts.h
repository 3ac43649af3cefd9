#pragma once
// What the documents of every kind of plan have in common.

#include <iosfwd>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "headspan/plan/allocate.h"
#include "headspan/plan/scaling.h"
#include "headspan/report/nw_report.h"

namespace headspan::report {

nlohmann::ordered_json rules_object(const plan::PairRules& rules);
nlohmann::ordered_json point_object(const plan::PlanPoint& point);

/// regime, law, closed_form, optimum and slopes.
nlohmann::ordered_json scaling_object(const plan::Scaling& scaling);

/// "28 heads x 18".
std::string pair_text(const plan::Pair& pair);
/// What may be spent, and what to do where exact rules leave no choice.
void write_budget(std::ostream& out, const plan::PairRules& rules, const TerminalStyle& style);
std::string continuous_text(const plan::ContinuousPair& pair);
std::string slope_text(const plan::Slope& slope, const char* over);

/// What speaks against believing the best pair.
void write_plan_notes(std::ostream& out, const plan::Allocation& found, const TerminalStyle& style);
/// The correlation of two heads, "-" where there is one.
std::string rho_text(const plan::PlanPoint& point);

/// The pairs within the margin of the best, which `margin` names.
std::string near_ties_text(const plan::Allocation& found, const std::string& margin);

}  // namespace headspan::report
