#pragma once
// Smoothing scores of a Nadaraya-Watson fit on its own data, and the bandwidths that minimise them.

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "headspan/numeric/matrix.h"
#include "headspan/nw/kernel.h"

namespace headspan::nw {

/// What a bandwidth is judged by; smaller is better.
enum class Criterion {
  loo,   ///< mean squared leave-one-out residual
  gcv,   ///< generalised cross-validation: mean squared residual / (1 - tr W / n)^2
  aicc,  ///< corrected AIC: log(sigma^2) + (1 + tr/n) / (1 - (tr + 2)/n), sigma^2 the mean squared residual
};

const char* to_string(Criterion criterion);
std::optional<Criterion> criterion_named(std::string_view name);

/// The fit at the training points and its scores. W is the n x n smoother matrix, W_ij the weight of key j at
/// point i. Empty members are undefined there.
struct SmootherScores {
  Vector fit;           ///< [n] W y
  Vector loo_residual;  ///< [n] y_i - f^(-i)(x_i); NaN where w_ii = 1 (no other key in reach)
  Vector n_eff;         ///< [n] 1 / sum_j W_ij^2
  Vector self_weight;   ///< [n] w_ii
  std::optional<double> loo, gcv, aicc;
  double trace = 0.0;      ///< tr W, the effective degrees of freedom
  double trace_wwt = 0.0;  ///< tr W W^T
  double sigma2 = 0.0;     ///< mean squared in-sample residual
  Index n_isolated = 0;    ///< points with w_ii = 1, left out of loo and counted here
};

/// One pass over the pairs, O(n^2 d) time, O(n d) memory, in double. `x` [n, d], `y` [n]; `bandwidth` [1] or
/// [d]. Throws ArgumentError as estimate() does.
SmootherScores smoother_scores(MatrixView x, VectorView y, const Kernel& kernel, VectorView bandwidth);

struct SelectionOptions {
  Kernel kernel;
  Criterion criterion = Criterion::loo;
  bool per_dimension =
      true;          ///< one bandwidth per dimension; false: one for all, in units of each column's spread
  int n_starts = 5;  ///< for several dimensions
  std::uint64_t seed = 0;
};

/// One local minimum that the search met.
struct BandwidthMinimum {
  Vector bandwidth;  ///< [d], units of the inputs; +inf: the column is irrelevant
  double value = 0.0;
};

struct BandwidthSelection {
  Vector bandwidth;    ///< [d], units of the inputs
  double value = 0.0;  ///< the criterion there
  std::vector<bool>
      irrelevant;             ///< [d] the criterion is flat beyond this bandwidth: the column does not matter
  std::vector<bool> at_edge;  ///< [d] the search ended on an edge of its bracket
  std::vector<BandwidthMinimum> minima;  ///< every distinct minimum met, best first
  Index n_evaluations = 0;
};

/// Minimises the criterion over the bandwidths. The bracket is set by the data: from the smallest at which
/// points (duplicates counted once) still have neighbours to where the column no longer matters. Results do
/// not depend on the units of the columns. Throws ArgumentError as smoother_scores() does, and for a constant
/// column.
BandwidthSelection select_bandwidth(MatrixView x, VectorView y, const SelectionOptions& options);

}  // namespace headspan::nw
