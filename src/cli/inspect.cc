#include "cli/inspect.h"

#include <memory>
#include <ostream>

#include "cli/exit_code.h"
#include "cli/outputs.h"
#include "cli/regression_arguments.h"
#include "cli/run_options.h"
#include "cli/terminal_style.h"
#include "headspan/numeric/parallel.h"

namespace headspan::cli {
namespace {

constexpr const char* kFooter = R"(Examples:
  headspan inspect boston.headspan
  headspan inspect boston.headspan --json -

share: how much of the prediction's variance over the training rows a head accounts for; trend and heads add
up to one. influence: how much of a head's squared distance a column accounts for.

Exit codes:
  0 done                       3 an input file cannot be used
  2 wrong usage                5 an output cannot be written)";

struct InspectArguments {
  std::string model;
  std::optional<std::string> json;
  int n_threads = 0;
  bool quiet = false;
};

int run_inspect(const InspectArguments& a) {
  check_threads(a.n_threads);
  std::vector<Output> outputs;
  if (a.json) outputs.push_back({"--json", *a.json});
  check_outputs(outputs, {a.model});
  const ThreadLimit limit(a.n_threads);
  const report::InspectReport report{a.model, inspect(estimator::load_model(a.model))};
  for (const Output& output : outputs)
    write_output(output, [&](std::ostream& out) { write_inspect_json(out, report, HEADSPAN_VERSION); });
  write_table(outputs, a.quiet,
              [&](std::ostream& out) { write_inspect_terminal(out, report, terminal_style()); });
  return kDone;
}

}  // namespace

void add_inspect_command(CLI::App& app, std::function<int()>& run) {
  CLI::App* command = app.add_subcommand("inspect", "What a model file is made of");
  const auto arguments = std::make_shared<InspectArguments>();
  command->add_option("MODEL", arguments->model, "A file that headspan fit wrote")->type_name("")->required();
  declare_threads(*command, arguments->n_threads, "Computation");
  declare_output(*command, arguments->json, arguments->quiet);
  command->footer(kFooter);
  command->callback([arguments, &run] { run = [arguments] { return run_inspect(*arguments); }; });
}

}  // namespace headspan::cli
