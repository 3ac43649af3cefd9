#pragma once
// What the command line of headspan plan says.

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/table_input.h"
#include "headspan/estimator/pilot_facts.h"
#include "headspan/plan/allocate.h"
#include "headspan/plan/profile.h"

namespace headspan::cli {

struct PlanArguments {
  std::optional<std::string> data, y;
  std::vector<std::string> x;
  std::optional<double> at_n;
  bool check = false;
  Index n_draws = estimator::GridOptions().n_draws;
  std::uint64_t seed = 0;
  int n_threads = 0;
  std::optional<std::string> like;
  Index context = 4096, bytes = 2;
  std::optional<Index> budget, d_model;
  Index multiple_of = 1;
  std::optional<Index> n_kv_heads;
  bool exact = false;
  std::optional<double> n, noise, signal;
  std::optional<std::string> bias, bandwidth, rho;
  std::optional<std::string> json;
  bool quiet = false;
  TableArguments table;
};

/// Declares every option on `command`, bound to `arguments`.
void declare(CLI::App& command, PlanArguments& arguments);

/// The pairs that are asked for. Throws UsageError without --budget.
plan::PairRules pair_rules(const PlanArguments& arguments);

/// A law in numbers, and the bandwidth behind it where one holds for all pairs.
struct LawWords {
  plan::LawOptions law;
  double bandwidth = 1.0;
  std::vector<std::string> files;  ///< tables that were read
};

/// Turns words into a law, tables read from their files. Throws UsageError, and what read_table throws.
LawWords law_words(const PlanArguments& arguments);

}  // namespace headspan::cli
