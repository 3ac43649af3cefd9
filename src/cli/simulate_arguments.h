#pragma once
// What the command line of headspan simulate says.

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "headspan/experiments/options.h"

namespace headspan::cli {

/// What every experiment takes.
struct RunArguments {
  std::optional<std::string> json;
  int n_threads = 0;
  bool quiet = false;
};

/// The designs of `simulate heads` share options with different defaults, so what was not said stays empty.
struct HeadsArguments {
  std::string design = "angles";
  std::optional<std::string> kernel;
  std::optional<std::vector<double>> degrees;
  std::optional<std::vector<Index>> head_dims;
  std::optional<Index> n_heads, head_dim, budget, n, n_points, n_replicates;
  std::optional<double> bandwidth, noise_variance, scale, rate, private_noise, frequency;
  std::uint64_t seed = 0;
};

struct ColonyArguments {
  experiments::ColonyOptions options;
  std::string rule = "pheromone";
};

void declare(CLI::App& command, RunArguments& arguments);
void declare(CLI::App& command, HeadsArguments& arguments);
void declare(CLI::App& command, experiments::ForestOptions& options);
void declare(CLI::App& command, ColonyArguments& arguments);

/// UsageError for a number of threads out of range.
void check(const RunArguments& arguments);

/// The options of one design. UsageError for an option that this design does not have.
experiments::AngleOptions angle_options(const HeadsArguments& arguments);
experiments::LatentOptions latent_options(const HeadsArguments& arguments);
experiments::AdditiveOptions additive_options(const HeadsArguments& arguments);
/// UsageError for an unknown rule.
experiments::ColonyOptions colony_options(const ColonyArguments& arguments);

}  // namespace headspan::cli
