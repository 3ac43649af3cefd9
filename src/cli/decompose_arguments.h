#pragma once
// What the command line of headspan decompose says.

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/table_input.h"
#include "headspan/ensemble/predictions.h"

namespace headspan::cli {

struct DecomposeArguments {
  std::string data, truth;
  std::vector<std::string> members;
  std::optional<std::string> replicate, point, json;
  int n_bootstrap = 400, n_folds = 10, n_threads = 0;
  std::uint64_t seed = 0;
  std::optional<double> greatest_norm2;
  bool quiet = false;
  TableArguments table;
};

/// Declares every option on `command`, bound to `arguments`.
void declare(CLI::App& command, DecomposeArguments& arguments);

/// Checks every range and what goes together. Throws UsageError.
ensemble::PredictionOptions resolve(const DecomposeArguments& arguments);

}  // namespace headspan::cli
