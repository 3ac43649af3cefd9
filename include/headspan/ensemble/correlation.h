#pragma once
// Any correlation matrix of heads -> Head Diversity Index and effective numbers of heads.

#include <optional>
#include <string>

#include "headspan/numeric/matrix.h"

namespace headspan::ensemble {

/// Correlations of H members: symmetric, unit diagonal, finite.
struct CorrelationMatrix {
  std::string source;  ///< what was correlated: "query_subspace", "score" ...
  Matrix values;       ///< [H, H]
};

/// What independent random heads of the same shape give.
struct Baseline {
  double hdi = 0.0;
  double sd = 0.0;     ///< of the HDI of one layer
  std::string method;  ///< "closed form", "1024 sampled pairs, seed 0" ...
};

/// HDI and companions of one correlation matrix, with what they are to be compared with. Empty members are
/// undefined.
struct Diversity {
  std::optional<double> hdi;  ///< 1 - mean_{h != l} R_hl; undefined for one head
  std::optional<double> baseline, baseline_sd;
  std::optional<double> z;  ///< (hdi - baseline) / baseline_sd; negative: more alike than random heads
  std::string z_method;
  std::optional<double> bound, headroom;              ///< greatest possible HDI; bound - hdi
  std::optional<double> n_eff_1, n_eff_2, n_eff_inf;  ///< Hill numbers of the eigenvalues of R / H
};

/// Computes all of it [theory section 6]. `baseline` and `bound` may be absent where undefined.
/// Throws ArgumentError unless R is square, symmetric to 1e-9, unit-diagonal to 1e-9 and finite. Cost O(H^3).
Diversity diversity(const CorrelationMatrix& correlation, const std::optional<Baseline>& baseline,
                    std::optional<double> bound);

/// 1 - mean_{h != l} R_hl = H/(H-1) (1 - 1^T R 1 / H^2); empty for H < 2.
std::optional<double> head_diversity_index(MatrixView correlation);

/// Benjamini-Hochberg adjusted p-values q_(i) = min_{j >= i} p_(j) m / j, in the order given. Throws
/// ArgumentError on p outside [0, 1].
Vector benjamini_hochberg(VectorView p);

}  // namespace headspan::ensemble
