#include "cli/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "cli/exit_code.h"
#include "cli/outputs.h"
#include "cli/progress.h"
#include "cli/run_options.h"
#include "cli/terminal_style.h"
#include "headspan/experiments/claims.h"
#include "headspan/numeric/parallel.h"
#include "headspan/report/verify_report.h"

namespace headspan::cli {
namespace {

using experiments::ClaimFacts;
using experiments::Verdict;

constexpr const char* kFooter = R"(Examples:
  headspan verify
  headspan verify kernel-angles softmax-angles --seed 1
  headspan verify --list
  headspan verify --mutate              every claim must fail
  headspan verify --json claims.json

A claim is confirmed (a counterexample: reproduced) where what is measured agrees with its formula and
excludes a wrong formula that stands beside it; undecided where the errors are too wide to exclude it.

Exit codes:
  0 every claim is as it should be     4 some claim is undecided, and none failed
  1 a claim failed                     5 an output cannot be written
  2 wrong usage)";

struct VerifyArguments {
  std::vector<std::string> claims;
  experiments::VerifyOptions options;
  bool list = false, quiet = false;
  int n_threads = 0;
  std::optional<std::string> json;
};

void declare(CLI::App& command, VerifyArguments& a) {
  command.add_option("CLAIM", a.claims, "Claims by name; none: all")->type_name("");
  declare_seed(command, a.options.seed, "Of all random draws", "Options");
  command.add_flag("--thorough", a.options.thorough,
                   "A hundred times the draws: standard errors a tenth, and a hundred times as long");
  command.add_flag("--mutate", a.options.mutate,
                   "The wrong formula of each claim in place of the right one: every claim must fail");
  declare_threads(command, a.n_threads, "Options");
  const char* group = "Output (FILE - is standard output, the table is then left out)";
  command.add_flag("--list", a.list, "The claims and their statements, without a measurement")->group(group);
  command.add_option("--json", a.json, "Everything, as docs/verify.schema.json describes")
      ->type_name("FILE")
      ->group(group);
  command.add_flag("--quiet", a.quiet, "No table and no progress")->group(group);
  command.footer(kFooter);
}

int list_claims(const VerifyArguments& arguments) {
  if (arguments.json || !arguments.claims.empty())
    throw UsageError("--list: names every claim and nothing else; leave out --json and names");
  std::vector<ClaimFacts> described;
  for (const experiments::Claim& claim : experiments::claims()) described.push_back(describe(claim));
  write_standard_output(
      [&](std::ostream& out) { report::write_claim_list(out, described, terminal_style()); });
  return kDone;
}

int exit_code(const std::vector<ClaimFacts>& claims) {
  const auto any = [&](Verdict verdict) {
    return std::any_of(claims.begin(), claims.end(),
                       [&](const ClaimFacts& claim) { return claim.verdict == verdict; });
  };
  if (any(Verdict::failed)) return kClaimFailed;
  return any(Verdict::undecided) ? kPartial : kDone;
}

int run_verify(const VerifyArguments& arguments) {
  check_threads(arguments.n_threads);
  if (arguments.list) return list_claims(arguments);
  std::vector<Output> outputs;
  if (arguments.json) outputs.push_back({"--json", *arguments.json});
  check_outputs(outputs, {});
  const ThreadLimit limit(arguments.n_threads);
  experiments::Verification found;
  {
    ProgressLine line("claim", !arguments.quiet);
    found = experiments::verify(arguments.claims, arguments.options,
                                [&](std::size_t done, std::size_t total) { line.show(done, total); });
  }
  for (const Output& output : outputs)
    write_output(output, [&](std::ostream& out) { report::write_verify_json(out, found, HEADSPAN_VERSION); });
  write_table(outputs, arguments.quiet,
              [&](std::ostream& out) { report::write_verify_terminal(out, found, terminal_style()); });
  return exit_code(found.claims);
}

}  // namespace

void add_verify_command(CLI::App& app, std::function<int()>& run) {
  CLI::App* command =
      app.add_subcommand("verify", "Measure the claims of the theory, each against its formula");
  const auto arguments = std::make_shared<VerifyArguments>();
  declare(*command, *arguments);
  command->callback([arguments, &run] { run = [arguments] { return run_verify(*arguments); }; });
}

}  // namespace headspan::cli
