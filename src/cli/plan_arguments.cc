#include "cli/plan_arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>

#include "cli/exit_code.h"
#include "cli/run_options.h"
#include "headspan/numeric/error.h"

namespace headspan::cli {
namespace {

constexpr const char* kFooter = R"(Examples:
  headspan plan --budget 512 --n 1e5 --noise 1 --bias exponential:1,0.5
  headspan plan --budget 768 --n 1e4 --noise 0.5 --bias polynomial:1,2 --bandwidth optimal --multiple-of 8
  headspan plan --budget 1024 --d-model 512 --n 1e6 --noise 1 --bias table:bias.csv --json plan.json
  headspan plan data.csv --y target --budget 32 --at-n 1e5 --check
  headspan plan --like config.json --context 8192

A table has a head dimension in its first column, the value in its second, and a standard error in its third, if any.
Near-ties are the pairs that are as good as the best, as far as is known: their error is within one standard error of the
difference where errors were measured, else within 1 %.

Exit codes:
  0 done                       3 an input file cannot be used
  2 wrong usage                5 an output cannot be written)";

void declare_pairs(CLI::App& command, PlanArguments& a) {
  const char* group = "Pairs";
  command.add_option("--budget", a.budget, "Total dimension of all heads, n_heads x head_dim")
      ->type_name("D")
      ->group(group);
  command.add_flag("--exact", a.exact, "Pairs that spend the whole budget only")->group(group);
  command.add_option("--multiple-of", a.multiple_of, "head_dim in multiples of it [1]")
      ->type_name("M")
      ->group(group);
  command.add_option("--n-kv-heads", a.n_kv_heads, "n_heads in multiples of it [1]")
      ->type_name("G")
      ->group(group);
  command.add_option("--d-model", a.d_model, "Dimension of the inputs: no head is wider [not bounded]")
      ->type_name("d")
      ->group(group);
}

void declare_law(CLI::App& command, PlanArguments& a) {
  const char* group = "Law";
  command.add_option("--n", a.n, "Training points")->type_name("N")->group(group);
  command.add_option("--noise", a.noise, "Variance of the noise")->type_name("S2")->group(group);
  command
      .add_option(
          "--bias", a.bias,
          "Squared bias of heads of dimension k: exponential:A0,g for A0 exp(-g k), polynomial:A0,s for "
          "A0 k^-s, finite:DIM[,A0] for A0 (1 - k/DIM) and 0 beyond, table:FILE")
      ->type_name("PROFILE")
      ->group(group);
  command
      .add_option("--bandwidth", a.bandwidth,
                  "Of the heads, in standard deviations of the inputs; optimal: the best for every pair [1]")
      ->type_name("B")
      ->group(group);
  command
      .add_option("--signal", a.signal,
                  "With --bandwidth optimal: variance of the regression function [scale of the bias]")
      ->type_name("V")
      ->group(group);
  command
      .add_option(
          "--rho", a.rho,
          "Correlation of two heads: orthogonal, frame (the least possible in d dimensions), a number, or "
          "the file of a table [frame with --d-model, else orthogonal]")
      ->type_name("RHO")
      ->group(group);
}

void declare_data(CLI::App& command, PlanArguments& a) {
  const char* group = "From data, in place of a law";
  command.add_option("DATA", a.data, "A table in a text file (CSV and its kin), or - for standard input")
      ->type_name("");
  command.add_option("--y,--target", a.y, "Column to predict")->type_name("NAME")->group(group);
  command
      .add_option("--x", a.x, "Input columns, between commas or one per --x [every other column of numbers]")
      ->type_name("NAMES")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->group(group);
  command.add_option("--at-n", a.at_n, "A plan for this many rows too")->type_name("N")->group(group);
  command.add_flag("--check", a.check, "Fit every pair, and say what the plan loses against the best")
      ->group(group);
  command.add_option("--draws", a.n_draws, "Of the projections of a pair, at most, with --check [24]")
      ->type_name("N")
      ->group(group);
  declare_seed(command, a.seed, "Of projections and resamples", group);
  declare_threads(command, a.n_threads, group);
}

void declare_model(CLI::App& command, PlanArguments& a) {
  const char* group = "For a model, in place of a law";
  command
      .add_option(
          "--like", a.like,
          "A model's config.json: parameters, cache and operations of every pair of its attention's budget")
      ->type_name("CONFIG")
      ->group(group);
  command.add_option("--context", a.context, "Tokens attended to [4096]")->type_name("T")->group(group);
  command.add_option("--bytes", a.bytes, "Of a cached number [2]")->type_name("B")->group(group);
}

void declare_output(CLI::App& command, PlanArguments& a) {
  const char* group = "Output (FILE - is standard output, the table is then left out)";
  command
      .add_option("--json", a.json,
                  "Everything, as docs/plan.schema.json (plan_data.schema.json with DATA, "
                  "plan_model.schema.json with --like) describes")
      ->type_name("FILE")
      ->group(group);
  command.add_flag("--quiet", a.quiet, "No table")->group(group);
}

std::optional<double> number_in(const std::string& word) {
  double value = 0.0;
  const char* end = word.data() + word.size();
  const auto read = std::from_chars(word.data(), end, value);
  if (word.empty() || read.ec != std::errc() || read.ptr != end || !std::isfinite(value)) return std::nullopt;
  return value;
}

/// The numbers between commas, or nothing where one is no number.
std::optional<std::vector<double>> numbers_in(const std::string& words) {
  std::vector<double> values;
  std::size_t start = 0;
  while (start != std::string::npos) {
    const std::size_t comma = words.find(',', start);
    const auto value = number_in(words.substr(start, comma - start));
    if (!value) return std::nullopt;
    values.push_back(*value);
    start = comma == std::string::npos ? comma : comma + 1;
  }
  return values;
}

/// Column `j` of the rows in the order of `order`.
Vector in_order(const Matrix& rows, Index j, const std::vector<Index>& order) {
  Vector out(rows.rows());
  for (Index i = 0; i < out.size(); ++i) out[i] = rows(order[static_cast<std::size_t>(i)], j);
  return out;
}

plan::MeasuredCurve curve_in(const std::string& path, const PlanArguments& a) {
  const table::Table data = read_table(path, csv_options(a.table));
  std::vector<std::string> names;
  for (const table::ColumnFacts& column : data.understood.columns) names.push_back(column.name);
  if (names.size() < 2 || names.size() > 3)
    throw DataError(
        FileFault::refused, {path, {}, {}},
        fmt::format("{} columns where head_dim, a value and perhaps a standard error are expected",
                    names.size()));
  const table::NumericRows rows = table::select_numeric(data, names, std::nullopt);
  if (!rows.dropped.empty())
    throw DataError(FileFault::refused, {path, rows.dropped.front().column, {}, rows.dropped.front().line},
                    "a value is missing; fill it in or leave the row out");
  std::vector<Index> order(static_cast<std::size_t>(rows.x.rows()));
  std::iota(order.begin(), order.end(), Index{0});
  std::sort(order.begin(), order.end(), [&](Index i, Index j) { return rows.x(i, 0) < rows.x(j, 0); });
  plan::MeasuredCurve curve{in_order(rows.x, 0, order), in_order(rows.x, 1, order), {}};
  if (names.size() == 3) curve.standard_error = in_order(rows.x, 2, order);
  return curve;
}

/// A curve for one member of a law; one that no law can have is the file's fault and no wrong usage.
template <class Member>
plan::MeasuredCurve curve_for(Member plan::LawOptions::*member, const std::string& path,
                              const PlanArguments& a) {
  plan::MeasuredCurve curve = curve_in(path, a);
  try {
    plan::LawOptions law;
    law.*member = curve;
    const plan::ErrorLaw checked(law);
  } catch (const ArgumentError& error) {
    throw DataError(FileFault::refused, {path, {}, {}}, error.what());
  }
  return curve;
}

plan::BiasProfile bias_in(const PlanArguments& a, LawWords& out) {
  const std::string words = *a.bias;
  const std::size_t colon = words.find(':');
  const std::string kind = words.substr(0, colon),
                    rest = colon == std::string::npos ? "" : words.substr(colon + 1);
  if (kind == "table" && !rest.empty()) {
    out.files.push_back(rest);
    return curve_for(&plan::LawOptions::bias, rest, a);
  }
  const auto values = numbers_in(rest);
  if (values && values->size() == 2 && kind == "exponential")
    return plan::ExponentialBias{values->at(0), values->at(1)};
  if (values && values->size() == 2 && kind == "polynomial")
    return plan::PolynomialBias{values->at(0), values->at(1)};
  if (values && kind == "finite" && values->size() <= 2)
    return plan::FiniteBias{values->size() == 2 ? values->at(1) : 1.0, values->at(0)};
  throw UsageError(
      fmt::format("--bias {}: must be exponential:A0,g, polynomial:A0,s, finite:DIM[,A0] or table:FILE, the "
                  "letters numbers",
                  words));
}

plan::Growth growth_in(const PlanArguments& a, LawWords& out) {
  const std::string words = a.bandwidth.value_or("1");
  if (words == "optimal") return plan::BestBandwidth{a.signal.value_or(plan::greatest_bias(out.law.bias))};
  if (a.signal) throw UsageError("--signal: it has a meaning with --bandwidth optimal only; leave it out");
  const auto value = number_in(words);
  if (!value || !(*value > 0.0))
    throw UsageError(fmt::format("--bandwidth {}: must be optimal or a positive number", words));
  out.bandwidth = *value;
  return plan::FixedGrowth{plan::log_growth(*value)};
}

plan::Correlation correlation_in(const PlanArguments& a, LawWords& out) {
  const std::string words = a.rho.value_or(a.d_model ? "frame" : "orthogonal");
  if (words == "orthogonal") return plan::OrthogonalHeads{};
  if (words == "frame") {
    if (!a.d_model) throw UsageError("--rho frame: needs the dimension of the inputs; give --d-model");
    return plan::FrameBound{static_cast<double>(*a.d_model)};
  }
  if (const auto value = number_in(words)) return plan::CommonCorrelation{*value};
  out.files.push_back(words);
  return curve_for(&plan::LawOptions::correlation, words, a);
}

}  // namespace

void declare(CLI::App& command, PlanArguments& arguments) {
  declare_pairs(command, arguments);
  declare_law(command, arguments);
  declare_data(command, arguments);
  declare_model(command, arguments);
  declare_table_options(command, arguments.table);
  declare_output(command, arguments);
  command.footer(kFooter);
}

plan::PairRules pair_rules(const PlanArguments& a) {
  if (!a.budget) throw UsageError("--budget: is needed, the total dimension of all heads");
  return {*a.budget, a.exact, a.multiple_of, a.n_kv_heads.value_or(1), a.d_model};
}

LawWords law_words(const PlanArguments& a) {
  if (!a.n || !a.noise || !a.bias)
    throw UsageError(fmt::format("{}: is needed for a law; --n, --noise and --bias say what the heads meet",
                                 !a.n       ? "--n"
                                 : !a.noise ? "--noise"
                                            : "--bias"));
  LawWords out;
  out.law.n = *a.n;
  out.law.noise = *a.noise;
  out.law.bias = bias_in(a, out);
  out.law.growth = growth_in(a, out);
  out.law.correlation = correlation_in(a, out);
  return out;
}

}  // namespace headspan::cli
