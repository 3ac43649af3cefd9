#pragma once
// What an audit may be asked.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "headspan/numeric/matrix.h"

namespace headspan::audit {

/// The sources of correlation between heads, in the order in which they are reported.
enum class Source {
  query_subspace,
  key_subspace,
  value_subspace,
  output_subspace,
  query_energy,
  key_energy,
  value_energy,
  output_energy,
  score,
  head,
  kernel,
};
const char* to_string(Source source);
/// Throws ArgumentError listing the names.
Source parse_source(const std::string& name);
const std::vector<Source>& all_sources();

struct AuditOptions {
  std::optional<double> bandwidth;  ///< of the kernel source; empty: head_dim^(1/4)
  double alpha = 0.05;              ///< level of Benjamini-Hochberg, per layer and source
  int n_pairs = 10;                 ///< most redundant pairs of the model listed with their angles
  bool all_angles = false;          ///< angles of every pair
  std::string fold_norm = "auto";
  std::string covariance_path;                ///< as given; empty: identity
  Matrix covariance;                          ///< [d, d] input covariance; empty: identity
  std::optional<double> min_hdi;              ///< threshold on the HDI of `source`
  std::optional<std::int64_t> max_redundant;  ///< threshold on the aligned pairs of `source` over the model
  Source source = Source::query_subspace;
  std::uint64_t seed = 0;  ///< of the sampled baselines
  int n_samples = 512;     ///< pairs sampled for a baseline
  int n_threads = 0;       ///< 0: all cores
};

/// Called after each layer with layers done and layers in all; return false to cancel (audit then throws
/// Cancelled).
using Progress = std::function<bool(std::size_t done, std::size_t total)>;

}  // namespace headspan::audit
