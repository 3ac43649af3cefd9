#include "cli/predict.h"

#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <ostream>

#include "cli/exit_code.h"
#include "cli/outputs.h"
#include "cli/regression_arguments.h"
#include "cli/run_options.h"
#include "cli/terminal_style.h"
#include "headspan/estimator/intervals.h"
#include "headspan/estimator/predict.h"
#include "headspan/estimator/variance.h"
#include "headspan/numeric/parallel.h"

namespace headspan::cli {
namespace {

constexpr const char* kFooter = R"(Examples:
  headspan predict boston.headspan new.csv
  headspan predict boston.headspan new.csv --interval 0.9 --csv predictions.csv
  headspan predict boston.headspan new.csv --variance local --json predictions.json
  cat new.csv | headspan predict boston.headspan - --csv -

Columns are found by name; others than those of the fit are ignored and named. n_eff says how many training
rows a prediction rests on. --variance adds fit_variance, that of the prediction for other noise in the training
targets, and noise_variance, that of a new target about its mean; neither knows the bias of the fit, as intervals do.

Exit codes:
  0 done                       3 an input file cannot be used
  2 wrong usage                5 an output cannot be written)";

struct PredictArguments {
  std::string model, data;
  std::optional<double> interval;
  std::optional<std::string> noise, csv, json;
  int n_threads = 0;
  bool quiet = false;
  TableArguments table;
};

void declare(CLI::App& command, PredictArguments& a) {
  command.add_option("MODEL", a.model, "A file that headspan fit wrote")->type_name("")->required();
  command.add_option("DATA", a.data, "A table with the columns of the fit, or - for standard input")
      ->type_name("")
      ->required();
  command
      .add_option("--interval", a.interval,
                  "Intervals that hold a new target with this probability, e.g. 0.9 [none]")
      ->type_name("P")
      ->group("Predictions");
  command
      .add_option(
          "--variance", a.noise,
          "Variance of every prediction, exact given the noise: constant, or local to the inputs [none]")
      ->type_name("NOISE")
      ->group("Predictions");
  declare_threads(command, a.n_threads, "Computation");
  declare_table_options(command, a.table);
  declare_output(command, a.json, a.quiet);
  command.add_option("--csv", a.csv, "Every prediction")
      ->type_name("FILE")
      ->group("Output (FILE - is standard output, the table is then left out)");
  command.footer(kFooter);
}

report::PredictReport predictions(const PredictArguments& a) {
  const estimator::TableModel model = estimator::load_model(a.model);
  table::Table table = read_table(a.data, csv_options(a.table));
  estimator::EncodedRows rows = encode(model.encoding, table, estimator::all_rows(table));
  estimator::Predictions have = predict(model.model, rows.x);
  report::PredictReport report;
  report.model_path = a.model;
  report.target = model.target;
  report.repairs = std::move(rows.repairs);
  report.ignored = std::move(rows.ignored);
  report.lines = table.lines;
  report.value = std::move(have.value);
  report.n_eff = std::move(have.n_eff);
  report.extrapolated = std::move(have.extrapolated);
  report.interval = a.interval;
  if (a.interval) {
    estimator::Intervals intervals = predict_intervals(model.model, rows.x, *a.interval);
    report.lower = std::move(intervals.lower);
    report.upper = std::move(intervals.upper);
  }
  if (a.noise) {
    report.noise = *a.noise;
    estimator::PredictionVariance variance =
        prediction_variance(model.model, rows.x, *estimator::noise_named(*a.noise));
    report.fit_variance = std::move(variance.fit);
    report.noise_variance = std::move(variance.noise);
  }
  report.input = {std::move(table.understood), {}};
  return report;
}

int run_predict(const PredictArguments& a) {
  check_threads(a.n_threads);
  if (a.interval) check_interval(*a.interval);
  if (a.noise && !estimator::noise_named(*a.noise))
    throw UsageError(fmt::format("--variance {}: must be constant or local", *a.noise));
  std::vector<Output> outputs;
  if (a.csv) outputs.push_back({"--csv", *a.csv});
  if (a.json) outputs.push_back({"--json", *a.json});
  check_outputs(outputs, {a.model, a.data});
  const ThreadLimit limit(a.n_threads);
  const report::PredictReport report = predictions(a);
  for (const Output& output : outputs)
    write_output(output, [&](std::ostream& out) {
      if (output.option == "--csv")
        write_predict_csv(out, report);
      else
        write_predict_json(out, report, HEADSPAN_VERSION);
    });
  write_table(outputs, a.quiet,
              [&](std::ostream& out) { write_predict_terminal(out, report, terminal_style()); });
  return kDone;
}

}  // namespace

void add_predict_command(CLI::App& app, std::function<int()>& run) {
  CLI::App* command = app.add_subcommand("predict", "Predictions of a model file for a table");
  const auto arguments = std::make_shared<PredictArguments>();
  declare(*command, *arguments);
  command->callback([arguments, &run] { run = [arguments] { return run_predict(*arguments); }; });
}

}  // namespace headspan::cli
