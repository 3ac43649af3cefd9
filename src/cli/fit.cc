#include "cli/fit.h"

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
  headspan fit boston.csv --target medv -o boston.headspan
  headspan fit wages.csv --target wage --weights count --drop id -o wages.headspan --json fit.json
  headspan predict boston.headspan new.csv --interval 0.9

Words become inputs by level; a missing number becomes the median, with an input that says so; rows without a
target are left out. Dates, free-form text, constant, duplicate and leaking columns are left out and named;
--keep uses them all the same. An existing model stays as it is until the new one is complete.

Exit codes:
  0 done                       3 an input file cannot be used
  2 wrong usage                5 an output cannot be written)";

struct FitArguments {
  RegressionArguments regression;
  std::string model;
};

estimator::TableFit fit_with_progress(RegressionInput& input, bool quiet) {
  ProgressLine line("effort", !quiet);
  if (input.options.search)
    input.options.search->progress = [&](std::size_t done, std::size_t total) { line.show(done, total); };
  return fit_table(input.table, input.rows, input.options);
}

int run_fit(const FitArguments& arguments) {
  const RegressionArguments& a = arguments.regression;
  if (arguments.model == "-")
    throw UsageError("-o -: a model is a file of its own; name one, e.g. -o model.headspan");
  const Output model_file{"-o", arguments.model};
  std::vector<Output> outputs = {model_file};
  if (a.json) outputs.push_back({"--json", *a.json});
  check_outputs(outputs, {a.data});
  check_threads(a.n_threads);
  const ThreadLimit limit(a.n_threads);
  RegressionInput input = read_regression(a);
  estimator::TableFit fitted = fit_with_progress(input, a.quiet);
  fitted.model.written_by = "headspan " HEADSPAN_VERSION;
  write_output(model_file, [&](std::ostream& out) { write_model(out, fitted.model); });
  const report::FitReport report{question_of(a, input), std::move(fitted.facts), arguments.model};
  if (a.json)
    write_output({"--json", *a.json},
                 [&](std::ostream& out) { write_fit_json(out, report, HEADSPAN_VERSION); });
  write_table(outputs, a.quiet,
              [&](std::ostream& out) { write_fit_terminal(out, report, terminal_style()); });
  return kDone;
}

}  // namespace

void add_fit_command(CLI::App& app, std::function<int()>& run) {
  CLI::App* command = app.add_subcommand("fit", "Multi-head regression of a table, into a model file");
  const auto arguments = std::make_shared<FitArguments>();
  command->add_option("-o,--output", arguments->model, "Model file to write, e.g. model.headspan")
      ->type_name("MODEL")
      ->required();
  declare(*command, arguments->regression);
  command->footer(kFooter);
  command->callback([arguments, &run] { run = [arguments] { return run_fit(*arguments); }; });
}

}  // namespace headspan::cli
