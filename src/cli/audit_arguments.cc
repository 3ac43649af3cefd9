#include "cli/audit_arguments.h"

#include <fmt/format.h>

#include <cmath>

#include "cli/exit_code.h"
#include "cli/run_options.h"
#include "headspan/numeric/error.h"

namespace headspan::cli {
namespace {

constexpr const char* kFooter = R"(Examples:
  headspan audit model.safetensors
  headspan audit ./checkpoint/ --json audit.json --pairs-csv pairs.csv
  headspan audit model.safetensors --explain 3.5
  headspan audit model.safetensors --min-hdi 0.8 --max-redundant 10 --quiet
  headspan audit weights.safetensors --layout nanogpt --heads 12
  headspan audit --list-layouts --json my-layouts.json

Exit codes:
  0 done                       3 an input file cannot be used
  1 a threshold is crossed     4 done in part: some layer or head is not ok
  2 wrong usage                5 an output cannot be written)";

void require(bool holds, const char* option, const std::string& rule, const std::string& value) {
  if (!holds) throw UsageError(fmt::format("{} {}: {}", option, value, rule));
}

void require_positive(const char* option, const std::optional<std::int64_t>& value) {
  if (value) require(*value > 0, option, "must be at least 1", std::to_string(*value));
}

void declare_model(CLI::App& command, AuditArguments& a) {
  const char* group = "Model";
  command
      .add_option("MODEL", a.model,
                  "A .safetensors file, a .safetensors.index.json, or a folder holding either")
      ->type_name("");
  command
      .add_option("--config", a.model_options.config_path,
                  "Configuration [config.json beside the weights, or STEM.config.json]")
      ->type_name("FILE")
      ->group(group);
  command.add_option("--heads", a.model_options.n_heads, "Query heads, whatever the configuration says")
      ->type_name("N")
      ->group(group);
  command.add_option("--kv-heads", a.model_options.n_kv_heads, "Key/value heads")
      ->type_name("N")
      ->group(group);
  command.add_option("--head-dim", a.model_options.head_dim, "Dimension of a head")
      ->type_name("N")
      ->group(group);
  command
      .add_option("--layout", a.model_options.layout_name,
                  "Layout to use [by model_type, then by tensor names]")
      ->type_name("NAME")
      ->group(group);
  command.add_option("--layout-file", a.layout_file, "Layouts of your own, tried before the built-in ones")
      ->type_name("FILE")
      ->group(group);
  command
      .add_flag("--list-layouts", a.list_layouts,
                "Print the layouts (with --json: as --layout-file reads them)")
      ->group(group);
  command
      .add_option("--fold-norm", a.options.fold_norm,
                  "Fold the gain of the input norm into Q, K and V: auto, yes, no [auto]")
      ->type_name("WHEN")
      ->group(group);
}

void declare_computation(CLI::App& command, AuditArguments& a) {
  const char* group = "Computation";
  command
      .add_option("--source", a.source, "Source of the pairs listed and of the thresholds [query_subspace]")
      ->type_name("SOURCE")
      ->group(group);
  command.add_option("--bandwidth", a.options.bandwidth, "Of the kernel source [head_dim^(1/4)]")
      ->type_name("B")
      ->group(group);
  command
      .add_option("--covariance", a.options.covariance_path,
                  "Covariance of the inputs, a d x d .npy [identity]")
      ->type_name("FILE")
      ->group(group);
  command.add_option("--alpha", a.options.alpha, "False discovery rate of significant pairs [0.05]")
      ->type_name("A")
      ->group(group);
  command.add_option("--pairs", a.options.n_pairs, "Most redundant pairs listed, with their angles [10]")
      ->type_name("N")
      ->group(group);
  command.add_flag("--all-angles", a.options.all_angles, "Principal angles of every pair")->group(group);
  declare_seed(command, a.options.seed, "Of the sampled baselines", group);
  declare_threads(command, a.options.n_threads, group);
}

void declare_output(CLI::App& command, AuditArguments& a) {
  const char* group = "Output (FILE - is standard output, the table is then left out)";
  command.add_option("--json", a.json, "Everything, as docs/audit.schema.json describes")
      ->type_name("FILE")
      ->group(group);
  command.add_flag("--matrices", a.matrices, "With the correlation matrices in the JSON; needs --json")
      ->group(group);
  command.add_option("--csv", a.csv, "A row per layer and source")->type_name("FILE")->group(group);
  command.add_option("--pairs-csv", a.pairs_csv, "A row per layer, source and pair")
      ->type_name("FILE")
      ->group(group);
  command
      .add_option("--explain", a.explain,
                  "All about one head instead of the table, e.g. 3.5 or encoder.self.3.5")
      ->type_name("LAYER.HEAD")
      ->group(group);
  command.add_flag("--quiet", a.quiet, "No table and no progress")->group(group);
  const char* thresholds = "Thresholds (exit code 1 when crossed)";
  command.add_option("--min-hdi", a.options.min_hdi, "Smallest HDI of SOURCE allowed in a layer")
      ->type_name("X")
      ->group(thresholds);
  command
      .add_option("--max-redundant", a.options.max_redundant,
                  "Most aligned pairs of SOURCE allowed in the model")
      ->type_name("N")
      ->group(thresholds);
}

checkpoint::FoldNorm parse_fold_norm(const std::string& word) {
  if (word == "auto") return checkpoint::FoldNorm::automatic;
  if (word == "yes") return checkpoint::FoldNorm::yes;
  if (word == "no") return checkpoint::FoldNorm::no;
  throw UsageError(fmt::format("--fold-norm {}: must be auto, yes or no", word));
}

void check_ranges(const audit::AuditOptions& o) {
  require(o.alpha > 0.0 && o.alpha < 1.0, "--alpha", "must lie between 0 and 1", fmt::format("{}", o.alpha));
  if (o.bandwidth)
    require(*o.bandwidth > 0.0 && std::isfinite(*o.bandwidth), "--bandwidth", "must be positive and finite",
            fmt::format("{}", *o.bandwidth));
  require(o.n_pairs >= 0, "--pairs", "must not be negative", std::to_string(o.n_pairs));
  check_threads(o.n_threads);
  if (o.min_hdi)
    require(std::isfinite(*o.min_hdi), "--min-hdi", "must be finite", fmt::format("{}", *o.min_hdi));
  if (o.max_redundant)
    require(*o.max_redundant >= 0, "--max-redundant", "must not be negative",
            std::to_string(*o.max_redundant));
}

}  // namespace

void declare(CLI::App& command, AuditArguments& arguments) {
  declare_model(command, arguments);
  declare_computation(command, arguments);
  declare_output(command, arguments);
  command.footer(kFooter);
}

void resolve(AuditArguments& a) {
  a.model_options.fold_norm = parse_fold_norm(a.options.fold_norm);
  require_positive("--heads", a.model_options.n_heads);
  require_positive("--kv-heads", a.model_options.n_kv_heads);
  require_positive("--head-dim", a.model_options.head_dim);
  check_ranges(a.options);
  try {
    a.options.source = audit::parse_source(a.source);
  } catch (const ArgumentError& error) {
    throw UsageError(fmt::format("--source {}: {}", a.source, error.what()));
  }
  if (a.matrices && !a.json) throw UsageError("--matrices: they stand in the JSON; name a file with --json");
  if (!a.list_layouts && a.model.empty()) throw UsageError("MODEL is missing");
}

std::vector<Output> outputs_of(const AuditArguments& a) {
  std::vector<Output> outputs;
  if (a.json) outputs.push_back({"--json", *a.json});
  if (a.csv) outputs.push_back({"--csv", *a.csv});
  if (a.pairs_csv) outputs.push_back({"--pairs-csv", *a.pairs_csv});
  return outputs;
}

}  // namespace headspan::cli
