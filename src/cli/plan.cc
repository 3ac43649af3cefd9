#include "cli/plan.h"

#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "cli/exit_code.h"
#include "cli/outputs.h"
#include "cli/plan_arguments.h"
#include "cli/plan_data.h"
#include "cli/plan_model.h"
#include "cli/terminal_style.h"
#include "headspan/report/plan_report.h"

namespace headspan::cli {
namespace {

using report::PlanReport;

int run_law(const PlanArguments& arguments) {
  std::vector<Output> outputs;
  if (arguments.json) outputs.push_back({"--json", *arguments.json});
  PlanReport report;
  report.rules = pair_rules(arguments);
  LawWords words = law_words(arguments);
  check_outputs(outputs, words.files);
  report.law = std::move(words.law);
  report.bandwidth = words.bandwidth;
  const plan::ErrorLaw law(report.law);
  report.allocation = plan::allocate(law, report.rules);
  report.scaling = plan::scaling(law, report.rules);
  for (const Output& output : outputs)
    write_output(output, [&](std::ostream& out) { write_plan_json(out, report, HEADSPAN_VERSION); });
  write_table(outputs, arguments.quiet,
              [&](std::ostream& out) { write_plan_terminal(out, report, terminal_style()); });
  return kDone;
}

void refuse_data_options(const PlanArguments& a) {
  const auto refuse = [](bool given, const char* option) {
    if (given) throw UsageError(std::string(option) + ": has a meaning with DATA only; name a table");
  };
  refuse(a.y.has_value(), "--y");
  refuse(!a.x.empty(), "--x");
  refuse(a.at_n.has_value(), "--at-n");
  refuse(a.check, "--check");
}

int run_plan(const PlanArguments& arguments) {
  if (arguments.like) return run_plan_model(arguments);
  if (arguments.data) return run_plan_data(arguments);
  refuse_data_options(arguments);
  return run_law(arguments);
}

}  // namespace

void add_plan_command(CLI::App& app, std::function<int()>& run) {
  CLI::App* command =
      app.add_subcommand("plan", "How many heads of which dimension a budget is best spent on");
  const auto arguments = std::make_shared<PlanArguments>();
  declare(*command, *arguments);
  command->callback([arguments, &run] { run = [arguments] { return run_plan(*arguments); }; });
}

}  // namespace headspan::cli
