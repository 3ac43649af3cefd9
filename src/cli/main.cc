// The command line: words in, words out. Every command is a file of its own.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>
#include <functional>
#include <new>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

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

std::string names_of(const std::vector<const CLI::App*>& commands) {
  std::vector<std::string> names;
  for (const CLI::App* command : commands) names.push_back(command->get_name());
  return fmt::format("{}", fmt::join(names, ", "));
}

/// What is wrong with the names of commands in `words`, if anything: otherwise the parser only says that one
/// is missing.
std::optional<std::string> trouble_with_command(const CLI::App& app, const std::vector<std::string>& words) {
  const CLI::App* at = &app;
  std::string path;
  for (const std::string& word : words) {
    const auto commands = at->get_subcommands([](const CLI::App*) { return true; });
    if (commands.empty() || word.empty() || word[0] == '-') return {};
    const auto found = std::find_if(commands.begin(), commands.end(),
                                    [&](const CLI::App* command) { return command->check_name(word); });
    if (found == commands.end() && path.empty()) return fmt::format("there is no command '{}'", word);
    if (found == commands.end()) return fmt::format("{}: '{}' is none of {}", path, word, names_of(commands));
    at = *found;
    path = at->get_name();
  }
  const auto commands = at->get_subcommands([](const CLI::App*) { return true; });
  if (path.empty() || commands.empty()) return {};
  return fmt::format("{}: is followed by one of {}", path, names_of(commands));
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
  if (const auto trouble = trouble_with_command(app, {argv + 1, argv + argc})) return usage(*trouble);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    return print(app.help());
  } catch (const CLI::CallForVersion& version) {
    return print(std::string(version.what()) + "\n");
  } catch (const CLI::ConversionError& error) {
    return usage(
        fmt::format("{}; a number is expected, a whole one in digits alone and below 2^63", error.what()));
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
