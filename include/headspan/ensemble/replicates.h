#pragma once
// Any ensemble seen through its predictions: repeated training sets give bias, variance and covariance by
// counting, one training set gives the ambiguity.

#include <vector>

#include "headspan/ensemble/decomposition.h"
#include "headspan/numeric/matrix.h"

namespace headspan::ensemble {

/// Predictions of the same H members at the same m points after each of R independent training sets.
struct Replicates {
  std::vector<Matrix> predictions;  ///< R of [H, m]
  Vector truth;                     ///< [m] the regression function
};

/// Decomposition of the members' weighted mean by Monte Carlo, every part estimated with a jackknife standard
/// error over the replicates: variances with divisor R - 1 and squared_bias less variance / R, so that all
/// are unbiased and still add up to the mean squared error over the replicates. `weights` [H] sum to one;
/// empty: 1/H each. Throws ArgumentError on shapes that disagree, fewer than three replicates, or what is not
/// finite. Cost O(R H m).
Decomposition decompose_replicates(const Replicates& replicates, VectorView weights = Vector());

/// The moments that are linked by identities, exact for any predictions: expectations are means over the
/// replicates (divisor R), then over the points; F is the plain mean of the members.
///   mean_squared_bias = squared_bias + disparity
///   mean_variance = variance + diversity - disparity
///   diversity = disparity + (1 - 1/H)(vbar - cbar), vbar = mean_variance
struct LinkedMoments {
  double squared_bias = 0.0;       ///< (E F - m)^2
  double variance = 0.0;           ///< Var F
  double mean_squared_bias = 0.0;  ///< mean_h (E f_h - m)^2
  double mean_variance = 0.0;      ///< mean_h Var f_h
  double cbar = 0.0;               ///< mean_{h != l} Cov(f_h, f_l); 0 for one member
  double disparity = 0.0;          ///< mean_h (E f_h - E F)^2
  double diversity = 0.0;          ///< E mean_h (f_h - F)^2
};

/// Each computed from its definition, so that the identities are a check and not an assumption. Throws
/// ArgumentError on shapes that disagree, no replicate, or what is not finite. Cost O(R H^2 m).
LinkedMoments linked_moments(const Replicates& replicates);

/// Krogh-Vedelsby: (F - y)^2 = sum_h a_h (f_h - y)^2 - sum_h a_h (f_h - F)^2, means over the points.
struct Ambiguity {
  double ensemble_error = 0.0;  ///< (F - y)^2
  double member_error = 0.0;    ///< sum_h a_h (f_h - y)^2
  double ambiguity = 0.0;       ///< sum_h a_h (f_h - F)^2
};

/// `predictions` [H, m], `y` [m], `weights` [H] summing to one; empty: 1/H each. Throws ArgumentError on
/// shapes that disagree, weights of another sum, or what is not finite.
Ambiguity ambiguity(MatrixView predictions, VectorView y, VectorView weights = Vector());

}  // namespace headspan::ensemble
