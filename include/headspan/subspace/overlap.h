#pragma once
// How much two random subspaces overlap: the null distribution behind every comparison of heads.

#include <optional>

#include "headspan/numeric/matrix.h"

namespace headspan::subspace {

/// A statistic of two heads against its null law.
struct Comparison {
  std::optional<double> z;  ///< standard deviations above the mean; empty where the null does not vary
  std::optional<double> p;  ///< two-sided
};

/// Law of a statistic by its first two moments and its range.
struct MomentLaw {
  double mean = 0.0, variance = 0.0, lower = 0.0, upper = 1.0;
};

/// O = |U_1 U_2^T|_F^2 of independent uniformly random subspaces of dimensions k, l in R^d: mean kl/d,
/// variance 2kl(d-k)(d-l) / (d^2 (d-1)(d+2)), range [max(0, k+l-d), min(k, l)]. Throws ArgumentError unless 1
/// <= k, l <= d.
MomentLaw overlap_law(Index k, Index l, Index d);

/// Two-sided p by the beta law on the range matched to both moments: exact for O at k = l = 1, and right in
/// the tail where a normal law is off by an order of magnitude.
Comparison compare_beta(double value, const MomentLaw& law);

/// Two-sided p by the normal law.
Comparison compare_normal(double value, double sd);

/// Two-sided p of a product of two independent centred normals with standard deviations sd_1 and sd_2:
/// P(|XY| > v) = (2/pi) int_{v/(sd_1 sd_2)}^inf K_0(u) du.
Comparison compare_normal_product(double value, double sd_1, double sd_2);

}  // namespace headspan::subspace
