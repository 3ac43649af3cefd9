#include "cli/simulate.h"

#include <fmt/format.h>

#include <memory>
#include <new>
#include <ostream>

#include "cli/exit_code.h"
#include "cli/outputs.h"
#include "cli/progress.h"
#include "cli/simulate_arguments.h"
#include "cli/terminal_style.h"
#include "headspan/experiments/colony.h"
#include "headspan/experiments/forest.h"
#include "headspan/experiments/heads.h"
#include "headspan/numeric/parallel.h"
#include "headspan/report/simulate_report.h"

namespace headspan::cli {
namespace {

using experiments::Progress;
using report::SimulateReport;

constexpr const char* kFooter = R"(Examples:
  headspan simulate heads
  headspan simulate heads --design latents --budget 128 --head-dims 2,4,6,8,10 --n 4000
  headspan simulate forest --mtry 1,7,50 --json forest.json
  headspan simulate colony --n-sites 5 --n-steps 100 --json -

Every line is replicated over fresh data; the same seed gives the same numbers on any number of threads.

Exit codes:
  0 done        2 wrong usage        5 an output cannot be written)";

/// Only the options decide how much memory a simulation needs, so that too much is wrong usage.
template <class Simulate>
SimulateReport without_exhaustion(const Simulate& simulate) {
  try {
    return simulate();
  } catch (const std::bad_alloc&) {
    throw UsageError(
        "simulate: what is asked for needs more memory than there is; make the largest of the sizes smaller");
  }
}

int run_simulation(const RunArguments& arguments,
                   const std::function<SimulateReport(const Progress&)>& simulate) {
  check(arguments);
  std::vector<Output> outputs;
  if (arguments.json) outputs.push_back({"--json", *arguments.json});
  check_outputs(outputs, {});
  const ThreadLimit limit(arguments.n_threads);
  SimulateReport facts;
  {
    ProgressLine line("step", !arguments.quiet);
    facts = without_exhaustion(
        [&] { return simulate([&](std::size_t done, std::size_t total) { line.show(done, total); }); });
  }
  for (const Output& output : outputs)
    write_output(output,
                 [&](std::ostream& out) { report::write_simulate_json(out, facts, HEADSPAN_VERSION); });
  write_table(outputs, arguments.quiet,
              [&](std::ostream& out) { report::write_simulate_terminal(out, facts, terminal_style()); });
  return kDone;
}

SimulateReport simulate_heads(const HeadsArguments& a, const Progress& progress) {
  if (a.design == "angles") return simulate_angles(angle_options(a), progress);
  if (a.design == "latents") return simulate_latents(latent_options(a), progress);
  if (a.design == "additive") return simulate_additive(additive_options(a), progress);
  throw UsageError(fmt::format("--design {}: must be angles, latents or additive", a.design));
}

/// One experiment as a command of its own: `simulate(arguments, progress)` gives the facts.
template <class Arguments, class Simulate>
void add_experiment(CLI::App& parent, const char* name, const char* text, std::function<int()>& run,
                    Simulate simulate) {
  CLI::App* command = parent.add_subcommand(name, text);
  const auto arguments = std::make_shared<Arguments>();
  const auto how = std::make_shared<RunArguments>();
  declare(*command, *arguments);
  declare(*command, *how);
  command->callback([=, &run] {
    run = [=] {
      return run_simulation(
          *how, [&](const Progress& progress) -> SimulateReport { return simulate(*arguments, progress); });
    };
  });
}

}  // namespace

void add_simulate_command(CLI::App& app, std::function<int()>& run) {
  CLI::App* command = app.add_subcommand(
      "simulate", "One law, three ensembles: heads, a forest, a colony, measured beside what the law says");
  command->require_subcommand(1);
  command->footer(kFooter);
  add_experiment<HeadsArguments>(
      *command, "heads", "Nadaraya-Watson heads, the dial their angles or dimension", run, simulate_heads);
  add_experiment<experiments::ForestOptions>(*command, "forest",
                                             "Regression trees, the dial the inputs a split may choose from",
                                             run, experiments::simulate_forest);
  add_experiment<ColonyArguments>(*command, "colony",
                                  "Scouts looking for the best site, the dial how often they explore", run,
                                  [](const ColonyArguments& a, const Progress& progress) {
                                    return simulate_colony(colony_options(a), progress);
                                  });
}

}  // namespace headspan::cli
