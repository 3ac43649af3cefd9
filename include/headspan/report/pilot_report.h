#pragma once
// A plan that follows from a table, rendered: terminal, JSON. Computes nothing.

#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "headspan/estimator/pilot_facts.h"
#include "headspan/report/nw_report.h"

namespace headspan::report {

struct PilotReport {
  InputFacts input;
  std::vector<std::string> x;  ///< names of the inputs
  std::string y;
  plan::PairRules rules;
  estimator::PilotOptions options;
  estimator::Pilot pilot;
  estimator::PilotPlan plan;                  ///< for the rows of the table
  std::optional<estimator::PilotPlan> at_n;   ///< for another number of rows
  std::optional<estimator::GridCheck> check;  ///< of `plan`
};

/// The document described by docs/plan_data.schema.json; numbers that are unknown or not finite are null.
void write_pilot_json(std::ostream& out, const PilotReport& report, const std::string& version);

/// What was measured, the best pair with its near-ties, and the grid beside it where it was measured.
void write_pilot_terminal(std::ostream& out, const PilotReport& report, const TerminalStyle& style);

}  // namespace headspan::report
