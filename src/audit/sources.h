#pragma once
// The registry of sources: each names and wraps a matrix that a science room computed, and says what random
// heads would have given and what the best possible value is.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "audit/baselines.h"
#include "headspan/audit/facts.h"
#include "headspan/subspace/overlap.h"

namespace headspan::audit {

/// Everything the sources of one layer are made from. Matrices are products of pairs, diagonal included.
struct LayerProducts {
  Matrix query_overlap, key_overlap, value_overlap, output_overlap;
  Matrix query_energy, key_energy, value_energy, output_energy;
  Matrix score, output_value;  ///< [n_heads, n_heads]
  Matrix kernel_log;           ///< log of prod_j V(c_j), [n_kv_heads, n_kv_heads]
  std::vector<int> query_rank, key_rank, value_rank, output_rank;  ///< 0: head without a value
  Index head_dim = 0, value_dim = 0, group = 1;
  Index query_width = 0, key_width = 0, output_width = 0;
  Index query_freedom = 0,
        key_freedom = 0;  ///< participation dimension of the input covariance; the widths without one
  double bandwidth = 1.0;
  std::string input_reason;  ///< why the sources that see the input have no value; empty: they have
};

/// A source of one layer before its pairs are compared.
struct SourceMatrix {
  Source source{};
  Matrix values;  ///< [n, n], unit diagonal; NaN rows and columns for heads without a value
  std::vector<int> left_out;
  std::vector<int> rank;  ///< of the subspaces; empty for other sources
  Index width = 0;        ///< dimension of the space of the subspaces; 0 for other sources
  std::string reason;
  std::string p_method;
  std::optional<ensemble::Baseline> baseline;  ///< of the heads that have a value
  std::optional<double> bound;
  std::function<subspace::Comparison(int a, int b, double value)> compare;
};

/// Heads that have a value in this source, in order.
std::vector<int> heads_with_value(const SourceMatrix& source);

/// The sources of a layer in registry order.
std::vector<SourceMatrix> source_matrices(const LayerProducts& layer, Baselines& baselines);

}  // namespace headspan::audit
