#pragma once
// How many heads of which dimension, rendered: terminal, JSON. Computes nothing.

#include <iosfwd>
#include <string>

#include "headspan/plan/allocate.h"
#include "headspan/plan/scaling.h"
#include "headspan/report/report.h"

namespace headspan::report {

/// A law, the pairs it was asked for, and the answers.
struct PlanReport {
  plan::LawOptions law;
  double bandwidth = 1.0;  ///< behind the law's growth, where one holds for all pairs
  plan::PairRules rules;
  plan::Allocation allocation;
  plan::Scaling scaling;
};

/// The document described by docs/plan.schema.json; numbers that are unknown or not finite are null.
void write_plan_json(std::ostream& out, const PlanReport& report, const std::string& version);

/// The best pair, its near-ties, the law with its range, and the curve around the best pair.
void write_plan_terminal(std::ostream& out, const PlanReport& report, const TerminalStyle& style);

}  // namespace headspan::report
