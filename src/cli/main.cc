// The command line: words in, words out. Every command is a file of its own.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <functional>
#include <new>
#include <ostream>
#include <utility>

#include "cli/audit.h"
#include "cli/decompose.h"
#include "cli/evaluate.h"
#include "cli/exit_code.h"
#include "cli/fit.h"
#include "cli/inspect.h"
#include "cli/nw.h"
#include "cli/outputs.h"
#include "cli/plan.h"
#include "cli/predict.h"
#include "cli/signals.h"
#include "cli/simulate.h"
#include "cli/verify.h"
#include "headspan/numeric/error.h"

namespace {

using namespace headspan::cli;

constexpr const char* kFooter = R"(Examples:
  headspan audit model.safetensors
  headspan audit ./checkpoint/ --json audit.json
  headspan nw faithful.csv --x eruptions --y waiting
  headspan fit boston.csv --target medv -o boston.headspan
  headspan plan --budget 512 --n 1e5 --noise 1 --bias exponential:1,0.5
  headspan simulate colony
  headspan verify
  headspan decompose predictions.csv --truth y
  headspan nw --help

Exit codes:
  0 done                       3 an input file cannot be used
  1 a threshold is crossed,    4 done in part: some row's status is not ok
    or a claim failed          5 an output cannot be written
  2 wrong usage)";

int complain(const std::string& message, int code) {
  fmt::print(stderr, "headspan: error: {}\n", message);
  return code;
}

int usage(const std::string& message) {
  complain(message, kUsage);
  fmt::print(stderr, "Run 'headspan --help' or 'headspan COMMAND --help'.\n");
  return kUsage;
}

int print(const std::string& text) {
  write_standard_output([&](std::ostream& out) { out << text; });
  return kDone;
}

int parse_and_run(int argc, char** argv) {
  CLI::App app("headspan: multi-head attention as an ensemble of Nadaraya-Watson estimators", "headspan");
  app.set_version_flag("--version", "headspan " HEADSPAN_VERSION, "Print the version and exit");
  app.require_subcommand(1);
  app.footer(kFooter);
  constexpr std::size_t kOptionColumn = 28;
  app.get_formatter()->column_width(kOptionColumn);
  std::function<int()> run;
  add_audit_command(app, run);
  add_nw_command(app, run);
  add_fit_command(app, run);
  add_predict_command(app, run);
  add_evaluate_command(app, run);
  add_inspect_command(app, run);
  add_plan_command(app, run);
  add_simulate_command(app, run);
  add_verify_command(app, run);
  add_decompose_command(app, run);
  // Otherwise the parser only says that a command is missing.
  const auto is_named = [&](const CLI::App* command) { return command->check_name(argv[1]); };
  if (argc > 1 && argv[1][0] != '-' && std::as_const(app).get_subcommands(is_named).empty())
    return usage(fmt::format("there is no command '{}'", argv[1]));
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    return print(app.help());
  } catch (const CLI::CallForVersion& version) {
    return print(std::string(version.what()) + "\n");
  } catch (const CLI::ParseError& error) {
    return usage(error.what());
  }
  return run();
}

}  // namespace

int main(int argc, char** argv) {
  try {
    handle_signals();
    return parse_and_run(argc, argv);
  } catch (const UsageError& error) {
    return usage(error.what());
  } catch (const headspan::ArgumentError& error) {
    return usage(error.what());
  } catch (const headspan::FileError& error) {
    return complain(error.what(), kInput);
  } catch (const headspan::OutputError& error) {
    return complain(error.what(), kOutput);
  } catch (const std::bad_alloc&) {
    return complain("this needs more memory than there is", kInput);
  } catch (const std::exception& error) {
    return complain(error.what(), kInput);
  }
}
