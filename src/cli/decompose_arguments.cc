#include "cli/decompose_arguments.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/exit_code.h"
#include "cli/run_options.h"

namespace headspan::cli {
namespace {

constexpr int kMostResamples = 1'000'000;

constexpr const char* kFooter = R"(Examples:
  headspan decompose predictions.csv --truth y
  headspan decompose predictions.csv --truth y --members ridge,forest,boost --json -
  headspan decompose runs.csv --truth m --replicate training_set --point id

One row per point; with --replicate one row per point and training set, the same points in each. Every
other numeric column is a member unless --members names them. The structured weights take the members in
their order, most trusted first. Rows with a missing value in a column that is used are left out and listed.

Exit codes:
  0 done                       3 the input file cannot be used
  2 wrong usage                5 an output cannot be written)";

void declare_ensemble(CLI::App& command, DecomposeArguments& a) {
  const char* group = "Ensemble";
  command
      .add_option(
          "PREDICTIONS", a.data,
          "A table in a text file (CSV and its kin) of the members' predictions, or - for standard input")
      ->type_name("")
      ->required();
  command.add_option("--truth", a.truth, "Column of what the members predict")
      ->type_name("NAME")
      ->required()
      ->group(group);
  command
      .add_option("--members", a.members,
                  "Columns of the members, between commas [all other numeric columns]")
      ->type_name("NAMES")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->group(group);
  command
      .add_option(
          "--replicate", a.replicate,
          "Column that says which training set a row's members were trained on; tells bias from variance")
      ->type_name("NAME")
      ->group(group);
  command
      .add_option("--point", a.point, "Column that says which point a row predicts; goes with --replicate")
      ->type_name("NAME")
      ->group(group);
}

void declare_computation(CLI::App& command, DecomposeArguments& a) {
  const char* group = "Computation";
  command
      .add_option("--bootstrap", a.n_bootstrap,
                  "Resamples of the points for standard errors, 0 for none [400]")
      ->type_name("N")
      ->group(group);
  command
      .add_option("--folds", a.n_folds, "Folds of points that the weights' risk is cross-validated over [10]")
      ->type_name("N")
      ->group(group);
  command
      .add_option("--greatest-norm2", a.greatest_norm2,
                  "Bound on the sum of squares of the simplex and monotone weights: 1/G asks for at least G "
                  "effective members [none]")
      ->type_name("C")
      ->group(group);
  declare_seed(command, a.seed, "Of the resamples and folds", group);
  declare_threads(command, a.n_threads, group);
}

}  // namespace

void declare(CLI::App& command, DecomposeArguments& a) {
  declare_ensemble(command, a);
  declare_computation(command, a);
  declare_table_options(command, a.table);
  const char* group = "Output (FILE - is standard output, the table is then left out)";
  command.add_option("--json", a.json, "Everything, as docs/decompose.schema.json describes")
      ->type_name("FILE")
      ->group(group);
  command.add_flag("--quiet", a.quiet, "No table")->group(group);
  command.footer(kFooter);
}

ensemble::PredictionOptions resolve(const DecomposeArguments& a) {
  if (a.n_bootstrap < 0 || a.n_bootstrap == 1 || a.n_bootstrap > kMostResamples)
    throw UsageError(
        fmt::format("--bootstrap {}: must be 0, or from 2 to {}", a.n_bootstrap, kMostResamples));
  if (a.n_folds < 2) throw UsageError(fmt::format("--folds {}: must be at least 2", a.n_folds));
  check_threads(a.n_threads);
  if (a.greatest_norm2 && !(*a.greatest_norm2 > 0.0))
    throw UsageError(
        fmt::format("--greatest-norm2 {}: must be positive, at least 1/H for H members", *a.greatest_norm2));
  if (a.replicate.has_value() != a.point.has_value())
    throw UsageError(fmt::format(
        "{}: repeated training sets need both --replicate, which training set, and --point, which point",
        a.replicate ? "--replicate" : "--point"));
  return {a.n_bootstrap, a.n_folds, a.seed, a.greatest_norm2};
}

}  // namespace headspan::cli
