#include "cli/evaluate.h"

#include <fmt/format.h>

#include <memory>
#include <ostream>

#include "cli/exit_code.h"
#include "cli/outputs.h"
#include "cli/progress.h"
#include "cli/regression_arguments.h"
#include "cli/run_options.h"
#include "cli/terminal_style.h"
#include "headspan/numeric/parallel.h"

namespace headspan::cli {
namespace {

constexpr const char* kFooter = R"(Examples:
  headspan evaluate boston.csv --target medv
  headspan evaluate wages.csv --target wage --folds 10 --interval 0.8 --json -

Every fold is predicted by a fit to the other folds, encoding included. relative: rmse over the standard
deviation of the target. R2 is against the mean of the same rows.

Exit codes:
  0 done                       3 an input file cannot be used
  2 wrong usage                5 an output cannot be written)";

struct EvaluateArguments {
  RegressionArguments regression;
  estimator::EvaluationOptions options;
};

void check(const EvaluateArguments& arguments) {
  check_interval(arguments.options.interval);
  if (arguments.options.n_folds < 2)
    throw UsageError(fmt::format("--folds {}: must be at least 2", arguments.options.n_folds));
}

int run_evaluate(const EvaluateArguments& arguments) {
  const RegressionArguments& a = arguments.regression;
  check(arguments);
  std::vector<Output> outputs;
  if (a.json) outputs.push_back({"--json", *a.json});
  check_outputs(outputs, {a.data});
  check_threads(a.n_threads);
  const ThreadLimit limit(a.n_threads);
  RegressionInput input = read_regression(a);
  estimator::EvaluationOptions options = arguments.options;
  options.seed = a.seed;
  report::EvaluateReport report;
  {
    ProgressLine progress("fold", !a.quiet);
    report.facts = evaluate(input.table, input.rows, input.options, options, [&](Index done) {
      progress.show(static_cast<std::size_t>(done), static_cast<std::size_t>(options.n_folds));
    });
  }
  report.question = question_of(a, input);
  for (const Output& output : outputs)
    write_output(output, [&](std::ostream& out) { write_evaluate_json(out, report, HEADSPAN_VERSION); });
  write_table(outputs, a.quiet,
              [&](std::ostream& out) { write_evaluate_terminal(out, report, terminal_style()); });
  return kDone;
}

}  // namespace

void add_evaluate_command(CLI::App& app, std::function<int()>& run) {
  CLI::App* command = app.add_subcommand("evaluate", "How well a regression predicts rows it did not see");
  const auto arguments = std::make_shared<EvaluateArguments>();
  command->add_option("--folds", arguments->options.n_folds, "Parts, each predicted from the others [5]")
      ->type_name("N")
      ->group("Evaluation");
  command->add_option("--interval", arguments->options.interval, "Coverage asked of the intervals [0.9]")
      ->type_name("P")
      ->group("Evaluation");
  declare(*command, arguments->regression);
  command->footer(kFooter);
  command->callback([arguments, &run] { run = [arguments] { return run_evaluate(*arguments); }; });
}

}  // namespace headspan::cli
