#pragma once
// Closed forms for Nadaraya-Watson heads under a Gaussian design, the one place that has them.

#include "headspan/numeric/matrix.h"

namespace headspan {

/// Correlation of two Gaussian-kernel heads of bandwidth b over keys x ~ N(0, I), orthonormal projections, n
/// -> infinity [fokoue2026]. With theta_j the principal angles of the two subspaces,
///   n C_12 / s2 -> prod_j V(cos theta_j),   V(c) = 1 / sqrt((1 - c^2/r1)(1 - c^2/r2)),
/// r1, r2 the roots of x^2 - (2t + b^4) x + t^2, t = (1+b^2)^2. All products are kept as logarithms: V(1)^k
/// overflows for small b.
class GaussianKernelLaw {
 public:
  /// Throws ArgumentError unless the bandwidth is positive and finite.
  explicit GaussianKernelLaw(double bandwidth);

  double bandwidth() const { return bandwidth_; }
  /// log V(c) from c^2 in [0, 1].
  double log_v(double cos2) const;
  /// sum_j log V(c_j) from the cross product C = U_1 U_2^T [k, l] of two orthonormal frames, by determinants
  /// instead of singular values: prod_j V(c_j) = 1 / sqrt(det(I - C C^T/r1) det(I - C C^T/r2)). Cost O(k^2
  /// l). Accuracy: relative error some 2^-53 k of the logarithm. Throws ArgumentError where a singular value
  /// exceeds 1 beyond rounding.
  double log_v_product(MatrixView cross) const;
  /// Centred correlation (prod_j V(c_j) - 1) / sqrt((V(1)^k - 1)(V(1)^l - 1)) of heads of dimensions k and l,
  /// from the logarithm of the product.
  double correlation(double log_product, Index k, Index l) const;

 private:
  double bandwidth_, root_small_, root_large_, log_v_one_;
};

}  // namespace headspan
