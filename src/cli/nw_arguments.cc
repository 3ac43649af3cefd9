#include "cli/nw_arguments.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "cli/exit_code.h"
#include "cli/run_options.h"

namespace headspan::cli {
namespace {

constexpr int kMostStarts = 1000;

constexpr const char* kFooter = R"(Examples:
  headspan nw faithful.csv --x eruptions --y waiting
  headspan nw data.csv --x a,b --y c --bandwidth 0.5,2 --kernel epanechnikov --json fit.json
  headspan nw data.csv --x a --y c --at grid.csv --json -
  headspan nw data.csv --x a,region,size --y c --ordered size
  cat data.csv | headspan nw - --x a --y c --loo

Rows with a missing value in a column that is used are left out and listed. Compact kernels
(epanechnikov, biweight, triweight, tricube, uniform) reach one bandwidth. Input columns of words are
categories, and lambda says how much a level borrows from the others: 0 nothing, the largest all.

Exit codes:
  0 done                       4 done in part: some point has no estimate
  2 wrong usage                5 an output cannot be written
  3 an input file cannot be used)";

void declare_model(CLI::App& command, NwArguments& a) {
  const char* group = "Model";
  command.add_option("DATA", a.data, "A table in a text file (CSV and its kin), or - for standard input")
      ->type_name("")
      ->required();
  command.add_option("--x", a.x, "Input columns, between commas or one per --x")
      ->type_name("NAMES")
      ->required()
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->group(group);
  command.add_option("--y,--target", a.y, "Column to predict")->type_name("NAME")->required()->group(group);
  command
      .add_option(
          "--kernel", a.kernel,
          "gaussian, laplace, epanechnikov, biweight, triweight, tricube, uniform, softmax [gaussian]")
      ->type_name("KERNEL")
      ->group(group);
  command
      .add_option("--shape", a.shape,
                  "How several inputs combine: radial (of the length of the scaled difference) or product "
                  "[radial]")
      ->type_name("SHAPE")
      ->group(group);
  command
      .add_option("--bandwidth", a.bandwidth,
                  "auto, one number for all inputs that are numbers, or one for each between commas, inf for "
                  "one that is not to matter [auto: one for each]")
      ->type_name("H")
      ->group(group);
}

void declare_categories(CLI::App& command, NwArguments& a) {
  const char* group = "Categories (columns of words among --x, and those of --ordered)";
  command
      .add_option(
          "--ordered", a.ordered,
          "Input columns, of words or numbers, whose levels have an order: that of the numbers, or of "
          "the alphabet")
      ->type_name("NAMES")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->group(group);
  command
      .add_option("--category-kernel", a.category_kernel,
                  "aitchison_aitken or li_racine for unordered columns, wang_van_ryzin or li_racine_ordered "
                  "for ordered ones; one of each between commas [aitchison_aitken,li_racine_ordered]")
      ->type_name("NAMES")
      ->group(group);
  command
      .add_option("--lambda", a.lambda,
                  "auto, one number for all columns of categories, or one for each between commas; given "
                  "together with --bandwidth [auto]")
      ->type_name("L")
      ->group(group);
}

void declare_computation(CLI::App& command, NwArguments& a) {
  const char* group = "Computation";
  command.add_option("--criterion", a.criterion, "What --bandwidth auto minimises: loo, gcv, aicc [loo]")
      ->type_name("C")
      ->group(group);
  command.add_option("--starts", a.n_starts, "Starts of the search, for several inputs [5]")
      ->type_name("N")
      ->group(group);
  declare_seed(command, a.seed, "Of the starts", group);
  command
      .add_option(
          "--relative-error", a.relative_error,
          "Estimates may lie this share of the spread of the values from the exact ones, which saves "
          "time on many rows of few inputs; scores and the choice of a bandwidth stay exact and take the "
          "square of the rows [0]")
      ->type_name("E")
      ->group(group);
  command.add_flag("--no-scores", a.no_scores, "Leave out loo, gcv, aicc and degrees of freedom")
      ->group(group);
  declare_threads(command, a.n_threads, group);
}

void declare_points(CLI::App& command, NwArguments& a) {
  const char* group = "Points";
  command
      .add_option("--at", a.at,
                  "A table with the same input columns, - for standard input [the rows of DATA]")
      ->type_name("FILE")
      ->group(group);
  command.add_flag("--loo", a.loo, "With the estimate of each row from all the others")->group(group);
  command
      .add_flag("--nearest", a.nearest, "Where a compact kernel reaches no row: the value of the nearest one")
      ->group(group);
}

void declare_output(CLI::App& command, NwArguments& a) {
  const char* group = "Output (FILE - is standard output, the table is then left out)";
  command.add_option("--json", a.json, "Everything, as docs/nw.schema.json describes")
      ->type_name("FILE")
      ->group(group);
  command.add_flag("--quiet", a.quiet, "No table")->group(group);
}

/// Numbers between commas after `option`; empty for "auto".
Vector given_numbers(const std::string& option, const std::string& words, bool may_be_zero) {
  if (words == "auto") return {};
  std::vector<double> values;
  for (const std::string& word : between_commas(words)) {
    double value = 0.0;
    const char* end = word.data() + word.size();
    const auto read = std::from_chars(word.data(), end, value);
    // An infinite bandwidth leaves a column out, as the choice of bandwidths may.
    const bool in_range = may_be_zero ? value >= 0.0 && std::isfinite(value) : value > 0.0;
    if (read.ec != std::errc() || read.ptr != end || !in_range)
      throw UsageError(fmt::format("{} {}: must be auto or {} numbers between commas, e.g. {}", option, words,
                                   may_be_zero ? "non-negative" : "positive",
                                   may_be_zero ? "0.1,0.5" : "0.5,2"));
    values.push_back(value);
  }
  return Eigen::Map<const Vector>(values.data(), static_cast<Index>(values.size()));
}

void set_category_kernels(const std::string& words, NwOptions& options) {
  if (words.empty()) return;
  for (const std::string& word : between_commas(words)) {
    const auto kernel = nw::category_kernel_named(word);
    if (!kernel)
      throw UsageError(
          fmt::format("--category-kernel {}: there is no such kernel; there are aitchison_aitken and "
                      "li_racine, wang_van_ryzin and li_racine_ordered",
                      word));
    (is_ordered(*kernel) ? options.ordered : options.unordered) = *kernel;
  }
}

nw::Kernel kernel_named(const NwArguments& a) {
  const auto function = nw::kernel_function_named(a.kernel);
  if (!function) {
    std::string names;
    for (const nw::KernelFunction known : nw::kKernelFunctions)
      names += fmt::format("{}{}", names.empty() ? "" : ", ", to_string(known));
    throw UsageError(fmt::format("--kernel {}: there is no such kernel; there are {}", a.kernel, names));
  }
  for (const nw::KernelShape shape : {nw::KernelShape::radial, nw::KernelShape::product})
    if (a.shape == to_string(shape)) return {*function, shape};
  throw UsageError(fmt::format("--shape {}: must be radial or product", a.shape));
}

void check_ranges(const NwArguments& a) {
  if (a.n_starts < 1 || a.n_starts > kMostStarts)
    throw UsageError(fmt::format("--starts {}: must lie between 1 and {}", a.n_starts, kMostStarts));
  check_threads(a.n_threads);
  if (!(a.relative_error >= 0.0) || a.relative_error >= 1.0)
    throw UsageError(fmt::format("--relative-error {}: must be from 0 to below 1", a.relative_error));
  if (a.at && a.loo) throw UsageError("--loo: leaves out the rows of DATA, so it does not go with --at");
  if (a.at && *a.at == "-" && a.data == "-")
    throw UsageError("DATA and --at both read standard input; give one of them a file");
}

}  // namespace

void declare(CLI::App& command, NwArguments& arguments) {
  declare_model(command, arguments);
  declare_categories(command, arguments);
  declare_computation(command, arguments);
  declare_points(command, arguments);
  declare_table_options(command, arguments.table);
  declare_output(command, arguments);
  command.footer(kFooter);
}

NwOptions resolve(const NwArguments& a) {
  check_ranges(a);
  NwOptions options;
  options.csv = csv_options(a.table);
  options.kernel = kernel_named(a);
  options.bandwidth = given_numbers("--bandwidth", a.bandwidth, false);
  options.lambda = given_numbers("--lambda", a.lambda, true);
  set_category_kernels(a.category_kernel, options);
  const auto criterion = nw::criterion_named(a.criterion);
  if (!criterion) throw UsageError(fmt::format("--criterion {}: must be loo, gcv or aicc", a.criterion));
  options.selection.kernel = options.kernel;
  options.selection.criterion = *criterion;
  options.selection.n_starts = a.n_starts;
  options.selection.seed = a.seed;
  return options;
}

}  // namespace headspan::cli
