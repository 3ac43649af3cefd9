#pragma once
// What the command line of headspan audit says.

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/outputs.h"
#include "headspan/audit/options.h"
#include "headspan/checkpoint/model.h"

namespace headspan::cli {

struct AuditArguments {
  std::string model;
  checkpoint::ModelOptions model_options;
  audit::AuditOptions options;
  std::string layout_file, source = "query_subspace", explain;
  std::optional<std::string> json, csv, pairs_csv;
  bool list_layouts = false, matrices = false, quiet = false;
};

/// Declares every option on `command`, bound to `arguments`.
void declare(CLI::App& command, AuditArguments& arguments);

/// Turns words into options and checks every range. Throws UsageError.
void resolve(AuditArguments& arguments);

/// The documents asked for, in the order in which they are written.
std::vector<Output> outputs_of(const AuditArguments& arguments);

}  // namespace headspan::cli
