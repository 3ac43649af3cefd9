#include "cli/audit.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <ostream>

#include "cli/audit_arguments.h"
#include "cli/exit_code.h"
#include "cli/layouts.h"
#include "cli/outputs.h"
#include "cli/progress.h"
#include "cli/terminal_style.h"
#include "headspan/audit/audit.h"
#include "headspan/numeric/error.h"
#include "headspan/numeric/io.h"
#include "headspan/report/report.h"
#include "headspan/table/npy.h"

namespace headspan::cli {
namespace {

namespace fs = std::filesystem;
using audit::AuditReport;

constexpr std::uint64_t kLayoutFileLimit = 16u << 20;
constexpr std::size_t kProblemsShown = 20;

std::vector<checkpoint::Layout> user_layouts(const AuditArguments& arguments) {
  if (arguments.layout_file.empty()) return {};
  return checkpoint::parse_layouts(read_text(arguments.layout_file, kLayoutFileLimit), arguments.layout_file);
}

int list_layouts(const AuditArguments& arguments) {
  std::vector<checkpoint::Layout> layouts = user_layouts(arguments);
  const auto& builtin = checkpoint::builtin_layouts();
  layouts.insert(layouts.end(), builtin.begin(), builtin.end());
  if (arguments.csv || arguments.pairs_csv)
    throw UsageError("--list-layouts: writes JSON (--json) or a table, no CSV");
  const std::vector<Output> outputs = outputs_of(arguments);
  check_outputs(outputs, {arguments.layout_file});
  if (outputs.empty())
    write_standard_output([&](std::ostream& out) { write_layout_table(out, layouts); });
  else
    write_output(outputs.front(),
                 [&](std::ostream& out) { out << checkpoint::layouts_json(layouts) << '\n'; });
  return kDone;
}

void check_layout_name(const checkpoint::ModelOptions& options) {
  if (options.layout_name.empty()) return;
  std::string names;
  for (const auto* rows : {&options.layouts, &checkpoint::builtin_layouts()})
    for (const checkpoint::Layout& layout : *rows) {
      if (layout.name == options.layout_name) return;
      names += (names.empty() ? "" : ", ") + layout.name;
    }
  throw UsageError(
      fmt::format("--layout {}: no such layout; the layouts are {}", options.layout_name, names));
}

// Every file the audit reads or could have read, none of which an output may replace.
std::vector<std::string> input_files(const checkpoint::Model& model, const AuditArguments& arguments) {
  std::vector<std::string> files = model.container().files();
  const fs::path path(arguments.model);
  std::error_code ignored;
  const bool is_folder = fs::is_directory(path, ignored);
  const fs::path folder = is_folder ? path : path.parent_path();
  files.push_back((folder / "config.json").string());
  if (is_folder)
    files.push_back((folder / "model.safetensors.index.json").string());
  else
    files.push_back((folder / (path.stem().string() + ".config.json")).string());
  for (const std::string& file : {arguments.model, arguments.model_options.config_path, arguments.layout_file,
                                  arguments.options.covariance_path})
    if (!file.empty()) files.push_back(file);
  return files;
}

Matrix read_covariance(const std::string& path) {
  if (path.empty()) return {};
  Matrix covariance = table::read_npy(path);
  if (!covariance.allFinite())
    throw DataError(FileFault::refused, {path, "", std::nullopt},
                    "a covariance must be finite; remove NaN and infinity");
  return covariance;
}

std::optional<int> whole_number(const std::string& text) {
  int value = 0;
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, value);
  if (parsed.ec != std::errc() || parsed.ptr != end || value < 0) return std::nullopt;
  return value;
}

// A slip of the finger is told at once, not after an hour of work; the report checks the rest.
void check_explain(const checkpoint::Model& model, const std::string& name) {
  const std::size_t head_dot = name.rfind('.');
  if (head_dot == std::string::npos)
    throw UsageError(fmt::format("--explain {}: wants LAYER.HEAD, e.g. 3.5", name));
  const std::string label = name.substr(0, head_dot);
  const std::size_t layer_dot = label.rfind('.');
  const auto layer = whole_number(layer_dot == std::string::npos ? label : label.substr(layer_dot + 1));
  const auto head = whole_number(name.substr(head_dot + 1));
  if (!layer || !head) throw UsageError(fmt::format("--explain {}: wants LAYER.HEAD, e.g. 3.5", name));
  const auto& layers = model.layers();
  const bool found = std::any_of(layers.begin(), layers.end(), [&](const checkpoint::LayerPlace& place) {
    return place.layer == *layer && (place.n_heads == 0 || *head < place.n_heads);
  });
  if (!found) throw UsageError(fmt::format("--explain {}: the model has no such head", name));
}

void write_documents(const AuditReport& report, const AuditArguments& arguments) {
  for (const Output& output : outputs_of(arguments))
    write_output(output, [&](std::ostream& out) {
      if (output.option == "--json")
        report::write_json(out, report, arguments.matrices, HEADSPAN_VERSION);
      else if (output.option == "--csv")
        report::write_csv(out, report);
      else
        report::write_pairs_csv(out, report);
    });
}

void write_for_people(const AuditReport& report, const AuditArguments& arguments) {
  const bool explains = !arguments.explain.empty();
  write_table(outputs_of(arguments), arguments.quiet && !explains, [&](std::ostream& out) {
    if (explains)
      report::write_explanation(out, report, arguments.explain, terminal_style());
    else
      report::write_terminal(out, report, terminal_style());
  });
}

void print_problems(const AuditReport& report) {
  std::size_t n_problems = 0;
  for (const audit::LayerFacts& layer : report.layers) {
    if (layer.status == audit::Status::ok) continue;
    if (++n_problems > kProblemsShown) continue;
    fmt::print(stderr, "headspan: layer {}: {}{}{}\n", layer_label(report, layer), to_string(layer.status),
               layer.reason.empty() ? "" : ": ", layer.reason);
  }
  if (n_problems > kProblemsShown)
    fmt::print(stderr, "headspan: not ok in all: {} of {} layers\n", n_problems, report.layers.size());
}

int verdict(const AuditReport& report) {
  bool crossed = false;
  for (const audit::ThresholdFacts& threshold : report.thresholds) {
    if (!threshold.crossed) continue;
    crossed = true;
    fmt::print(stderr, "headspan: {}\n", report::threshold_text(threshold));
  }
  if (!report.summary.complete) return kPartial;
  return crossed ? kThresholdCrossed : kDone;
}

AuditReport audited(const checkpoint::Model& model, const AuditArguments& arguments) {
  ProgressLine line("layer", !arguments.quiet);
  try {
    return audit::audit(model, arguments.options, [&](std::size_t done, std::size_t total) {
      line.show(done, total);
      return true;
    });
  } catch (const audit::CovarianceError& error) {  // on the command line it is a file
    throw DataError(FileFault::refused, {arguments.options.covariance_path, "", std::nullopt}, error.what());
  }
}

int run_audit(AuditArguments& arguments) {
  resolve(arguments);
  if (arguments.list_layouts) return list_layouts(arguments);
  const std::vector<Output> outputs = outputs_of(arguments);
  if (!arguments.explain.empty() && std::any_of(outputs.begin(), outputs.end(), is_standard_output))
    throw UsageError("--explain writes to standard output too; give the document a file");
  arguments.model_options.layouts = user_layouts(arguments);
  check_layout_name(arguments.model_options);
  const checkpoint::Model model(checkpoint::open_container(arguments.model), arguments.model_options);
  check_outputs(outputs, input_files(model, arguments));
  if (!arguments.explain.empty()) check_explain(model, arguments.explain);
  arguments.options.covariance = read_covariance(arguments.options.covariance_path);
  const AuditReport report = audited(model, arguments);
  write_documents(report, arguments);
  write_for_people(report, arguments);
  print_problems(report);
  return verdict(report);
}

}  // namespace

void add_audit_command(CLI::App& app, std::function<int()>& run) {
  CLI::App* command = app.add_subcommand("audit", "How different the heads of a Transformer checkpoint are");
  const auto arguments = std::make_shared<AuditArguments>();
  declare(*command, *arguments);
  command->callback([arguments, &run] { run = [arguments] { return run_audit(*arguments); }; });
}

}  // namespace headspan::cli
