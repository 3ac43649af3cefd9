#include "cli/regression_arguments.h"

#include <fmt/format.h>

#include <utility>

#include "cli/exit_code.h"
#include "cli/run_options.h"

namespace headspan::cli {
namespace {

void declare_names(CLI::App& command, const char* name, std::vector<std::string>& target,
                   const std::string& text, const char* group) {
  command.add_option(name, target, text)
      ->type_name("NAMES")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->group(group);
}

void declare_columns(CLI::App& command, RegressionArguments& a) {
  const char* group = "Columns (all others are inputs)";
  command.add_option("DATA", a.data, "A table in a text file (CSV and its kin), or - for standard input")
      ->type_name("")
      ->required();
  command.add_option("--target,--y", a.target, "Column to predict")
      ->type_name("NAME")
      ->required()
      ->group(group);
  command.add_option("--weights", a.weights, "Column that counts rows: a row of weight 2 is two rows")
      ->type_name("NAME")
      ->group(group);
  declare_names(command, "--drop", a.drop, "Columns to leave out", group);
  declare_names(command, "--keep", a.keep,
                "Columns to use though they are constant, duplicate, leaking, dates or free-form text",
                group);
}

void declare_model(CLI::App& command, RegressionArguments& a) {
  const char* group = "Model (found by cross-validation, unless one of these is given)";
  command
      .add_option(
          "--heads", a.heads,
          "random or principal directions, learned ones, or diagonal: one bandwidth per input [learned]")
      ->type_name("KIND")
      ->group(group);
  command.add_option("--combiner", a.combiner, "mean, sum (stages), simplex, least_squares [sum]")
      ->type_name("HOW")
      ->group(group);
  command.add_option("--n-heads", a.n_heads, "Heads, of sum: stages [8]")->type_name("H")->group(group);
  command.add_option("--head-dim", a.head_dim, "Dimension of a head [4]")->type_name("K")->group(group);
  command.add_flag("--trend", a.trend, "A linear trend first; the heads smooth what it leaves")->group(group);
  command
      .add_flag("--sharpen", a.sharpen,
                "Heads smooth values that hold a learned share of what they leave over: less bias, as kernel "
                "ridge has; the cube of the rows in time")
      ->group(group);
}

void declare_computation(CLI::App& command, RegressionArguments& a) {
  const char* group = "Computation";
  command
      .add_option("--effort", a.effort,
                  "low, medium, high: work on the search, or on the heads of a given model [medium]")
      ->type_name("WORD")
      ->group(group);
  command
      .add_option("--seconds", a.seconds,
                  "No candidate of the search begins later; a search cut short says so [none]")
      ->type_name("S")
      ->group(group);
  command
      .add_option(
          "--inner-folds", a.inner_folds,
          "Fits without a fold each, for intervals and the held-out error; 0: none, of a given model [5]")
      ->type_name("N")
      ->group(group);
  declare_seed(command, a.seed, "Of everything random", group);
  declare_threads(command, a.n_threads, group);
}

template <class Value>
Value named(const std::optional<Value>& value, const char* option, const std::string& word,
            const char* words) {
  if (!value) throw UsageError(fmt::format("{} {}: must be one of {}", option, word, words));
  return *value;
}

struct Effort {
  double search;  ///< as estimator::AutoOptions::effort
  int iterations;
  Index learn_rows;
};

Effort effort_named(const std::string& word) {
  if (word == "low") return {500.0, 8, 500};
  if (word == "medium") return {20000.0, 30, 2000};
  if (word == "high") return {200000.0, 100, 5000};
  throw UsageError(fmt::format("--effort {}: must be low, medium or high", word));
}

void check_between(const char* option, int value, int least, int most) {
  if (value < least || value > most)
    throw UsageError(fmt::format("{} {}: must lie between {} and {}", option, value, least, most));
}

bool is_given(const RegressionArguments& a) {
  return a.heads || a.combiner || a.n_heads || a.head_dim || a.trend || a.sharpen;
}

estimator::FitOptions fit_options(const RegressionArguments& a) {
  const Effort effort = effort_named(a.effort);
  estimator::FitOptions options;
  estimator::Recipe& recipe = options.recipe;
  if (a.heads)
    recipe.heads = named(estimator::head_kind_named(*a.heads), "--heads", *a.heads,
                         "random, principal, learned, diagonal");
  if (a.combiner)
    recipe.combiner = named(estimator::combiner_named(*a.combiner), "--combiner", *a.combiner,
                            "mean, sum, simplex, least_squares");
  if (a.n_heads) recipe.n_heads = *a.n_heads;
  if (a.head_dim) recipe.head_dim = *a.head_dim;
  recipe.trend = a.trend;
  recipe.sharpen = a.sharpen;
  recipe.iterations = effort.iterations;
  options.learn_rows = effort.learn_rows;
  options.n_folds = a.inner_folds;
  options.seed = a.seed;
  return options;
}

/// Empty where the model is given.
std::optional<estimator::AutoOptions> search_options(const RegressionArguments& a) {
  if (is_given(a)) {
    if (a.seconds) throw UsageError("--seconds: there is no search where the model is given; leave one out");
    return std::nullopt;
  }
  if (a.inner_folds == 0)
    throw UsageError("--inner-folds 0: the search needs folds; give 2 or more, or a model, e.g. --n-heads 8");
  if (a.seconds && !(*a.seconds > 0.0))
    throw UsageError(fmt::format("--seconds {}: must be positive", *a.seconds));
  estimator::AutoOptions options;
  options.effort = effort_named(a.effort).search;
  options.n_folds = a.inner_folds;
  options.seed = a.seed;
  options.seconds = a.seconds;
  return options;
}

void check_ranges(const RegressionArguments& a) {
  if (a.n_heads) check_between("--n-heads", *a.n_heads, 0, 10000);
  if (a.head_dim) check_between("--head-dim", *a.head_dim, 1, 10000);
  if (a.inner_folds != 0) check_between("--inner-folds", a.inner_folds, 2, 1000);
}

}  // namespace

void declare_output(CLI::App& command, std::optional<std::string>& json, bool& quiet) {
  const char* group = "Output (FILE - is standard output, the table is then left out)";
  command.add_option("--json", json, "Everything, as docs/regression.schema.json describes")
      ->type_name("FILE")
      ->group(group);
  command.add_flag("--quiet", quiet, "No table and no progress")->group(group);
}

void check_interval(double level) {
  if (!(level > 0.0 && level < 1.0))
    throw UsageError(fmt::format("--interval {}: must lie between 0 and 1, e.g. 0.9", level));
}

void declare(CLI::App& command, RegressionArguments& arguments) {
  declare_columns(command, arguments);
  declare_model(command, arguments);
  declare_computation(command, arguments);
  declare_table_options(command, arguments.table);
  declare_output(command, arguments.json, arguments.quiet);
}

RegressionInput read_regression(const RegressionArguments& a) {
  check_ranges(a);
  RegressionInput input;
  input.options.target = a.target;
  input.options.weight = a.weights;
  input.options.fit = fit_options(a);
  input.options.search = search_options(a);
  input.table = read_table(a.data, csv_options(a.table));
  input.options.encoding.drop = column_names(input.table, a.drop, "--drop");
  input.options.encoding.keep = column_names(input.table, a.keep, "--keep");
  input.rows = estimator::target_rows(input.table, a.target, a.weights);
  return input;
}

report::RegressionQuestion question_of(const RegressionArguments& arguments, RegressionInput& input) {
  return {{std::move(input.table.understood), std::move(input.rows.dropped)},
          arguments.target,
          arguments.weights,
          arguments.seed};
}

}  // namespace headspan::cli
