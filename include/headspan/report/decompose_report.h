#pragma once
// The decomposition of an ensemble's error from its predictions, rendered. Computes nothing.

#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "headspan/ensemble/predictions.h"
#include "headspan/report/nw_report.h"

namespace headspan::report {

struct DecomposeReport {
  InputFacts input;
  std::string truth;
  std::vector<std::string> members;             ///< in the order of the structured laws
  std::vector<std::string> unused;              ///< columns that are no members, no truth and no label
  std::optional<std::string> replicate, point;  ///< columns of labels
  bool truth_is_constant = false;
  ensemble::PredictionOptions options;
  ensemble::PredictionFacts facts;
};

/// The document described by docs/decompose.schema.json; numbers that are unknown, undefined or not
/// identified are null.
void write_decompose_json(std::ostream& out, const DecomposeReport& report, const std::string& version);

/// What was understood of the file, the terms with their standard errors, correlation and weights.
void write_decompose_terminal(std::ostream& out, const DecomposeReport& report, const TerminalStyle& style);

}  // namespace headspan::report
