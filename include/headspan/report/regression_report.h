#pragma once
// Multi-head regression of a table, rendered: the fit, predictions, an evaluation, and a model taken apart.

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "headspan/estimator/facts.h"
#include "headspan/report/nw_report.h"

namespace headspan::report {

/// What a regression was asked to do.
struct RegressionQuestion {
  InputFacts input;  ///< the table, and rows without target or weight
  std::string target;
  std::optional<std::string> weight;
  std::uint64_t seed = 0;
};

struct FitReport {
  RegressionQuestion question;
  estimator::FitFacts facts;
  std::string model_path;
};

struct EvaluateReport {
  RegressionQuestion question;
  estimator::EvaluationFacts facts;
};

struct PredictReport {
  InputFacts input;
  std::string model_path, target;
  std::vector<estimator::ColumnRepair> repairs;
  std::vector<std::string> ignored;     ///< columns the model does not know
  std::vector<std::int64_t> lines;      ///< [m] source line of each row
  Vector value, n_eff;                  ///< [m]
  std::vector<bool> extrapolated;       ///< [m]
  std::optional<double> interval;       ///< coverage asked for
  Vector lower, upper;                  ///< [m] where an interval was asked for
  std::optional<std::string> noise;     ///< "constant" or "local", where variances were asked for
  Vector fit_variance, noise_variance;  ///< [m] squared units of the target, where asked for
};

struct InspectReport {
  std::string model_path;
  estimator::InspectionFacts facts;
};

/// Documents of docs/regression.schema.json, whose kinds are fit, predict, evaluate and inspect; a number
/// that is unknown or not finite is null.
void write_fit_json(std::ostream& out, const FitReport& report, const std::string& version);
void write_predict_json(std::ostream& out, const PredictReport& report, const std::string& version);
void write_evaluate_json(std::ostream& out, const EvaluateReport& report, const std::string& version);
void write_inspect_json(std::ostream& out, const InspectReport& report, const std::string& version);

/// A row per prediction, with a header: line, the target's name, lower and upper where asked for,
/// fit_variance and noise_variance where asked for, n_eff, extrapolated (0 or 1). RFC 4180; numbers read back
/// as the same double; one that is not finite is empty.
void write_predict_csv(std::ostream& out, const PredictReport& report);

void write_fit_terminal(std::ostream& out, const FitReport& report, const TerminalStyle& style);
void write_predict_terminal(std::ostream& out, const PredictReport& report, const TerminalStyle& style);
void write_evaluate_terminal(std::ostream& out, const EvaluateReport& report, const TerminalStyle& style);
void write_inspect_terminal(std::ostream& out, const InspectReport& report, const TerminalStyle& style);

}  // namespace headspan::report
