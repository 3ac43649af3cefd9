#pragma once
// What the command lines of headspan fit and headspan evaluate have in common: a table and a regression of
// it.

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/table_input.h"
#include "headspan/estimator/table_fit.h"
#include "headspan/report/regression_report.h"

namespace headspan::cli {

struct RegressionArguments {
  std::string data, target;
  std::optional<std::string> weights, json;
  std::vector<std::string> drop, keep;
  std::optional<std::string> heads, combiner;
  std::optional<int> n_heads, head_dim;
  std::optional<double> seconds;
  std::string effort = "medium";
  int n_threads = 0, inner_folds = 5;
  bool trend = false, sharpen = false, quiet = false;
  std::uint64_t seed = 0;
  TableArguments table;
};

/// Declares DATA and every option of the regression, of its computation and of the output.
void declare(CLI::App& command, RegressionArguments& arguments);

/// A table with what is asked of it.
struct RegressionInput {
  table::Table table;
  estimator::TargetRows rows;
  estimator::TableFitOptions options;
};

/// Checks every range before the table is read. Throws UsageError, and what read_table throws.
RegressionInput read_regression(const RegressionArguments& arguments);

/// For the report; leaves `input.table` without what was understood of it.
report::RegressionQuestion question_of(const RegressionArguments& arguments, RegressionInput& input);

/// Throws UsageError unless 0 < `level` < 1.
void check_interval(double level);

/// Declares --json and --quiet in the group of the output.
void declare_output(CLI::App& command, std::optional<std::string>& json, bool& quiet);

}  // namespace headspan::cli
