#pragma once
// Bias, variance and covariance of an ensemble of linear smoothers at given inputs: exact where the noise
// variance and the regression function are known, estimated where they are not.

#include <optional>

#include "headspan/numeric/matrix.h"

namespace headspan::ensemble {

/// How a number is known.
enum class Origin {
  exact,      ///< an identity of the inputs
  estimated,  ///< from noisy data; carries a standard error where one is known
};

/// Lower-case word, as printed.
const char* to_string(Origin origin);

/// One number of a decomposition.
struct Part {
  double value = 0.0;
  Origin origin = Origin::exact;
  std::optional<double> standard_error;  ///< of an estimated value
};

/// What is known of H heads. Covariances are rows of H*H numbers, C_hl at column h*H + l, as
/// nw::attention_covariance gives them.
struct HeadMoments {
  Matrix covariance;  ///< [m, H*H] sum_i s2_i w_h,i w_l,i / noise.value at every query
  Part noise{1.0, Origin::exact, std::nullopt};  ///< factor of both covariances: s2 where the matrices are of
                                                 ///< weights alone, 1 where they have s2_i inside
  Matrix bias;      ///< [m, H] B_h = sum_i w_h,i m(x_i) - m(x); empty: the regression function is unknown
  Matrix residual;  ///< [n, H] leave-one-out residuals y_i - f_h^(-i)(x_i); empty: none. Rows with a NaN (a
                    ///< head with no other key in reach) are left out and counted
  Matrix left_out_covariance;  ///< [n, H*H] of the leave-one-out weights, see leave_one_out_covariance
};

/// Mean over the queries of MSE(x) = (sum_h a_h B_h)^2 + sum_hl a_h a_l C_hl. The parts add up:
/// mse = squared_bias + variance + covariance. Empty members are unknown, or undefined for one head.
struct Decomposition {
  std::optional<Part> squared_bias;  ///< (sum_h a_h B_h)^2; an estimate may be negative, and stays so
  Part variance;                     ///< sum_h a_h^2 C_hh; vbar / H for equal weights
  Part covariance;                   ///< sum_{h != l} a_h a_l C_hl; (1 - 1/H) cbar for equal weights
  std::optional<Part> mse;           ///< of the regression function; add s2 for a new observation
  double vbar = 0.0;                 ///< mean_h C_hh
  std::optional<double> cbar;        ///< mean_{h != l} C_hl
  std::optional<double> hdi;         ///< 1 - cbar / vbar
  Index n_points = 0;                ///< queries, m
  Index n_isolated = 0;              ///< points left out of the estimated bias
};

/// The decomposition for head weights a [H]; empty: 1/H each. Bias known: exact. Bias unknown and residuals
/// given: squared_bias = mean_i ((sum_h a_h r_h,i)^2 - s2 - s2 a^T C^(-i)_i a), its standard error that of
/// the mean over points taken as independent, plus the share of an estimated s2: rather too large than too
/// small, since a smooth bias partly cancels in the mean, and s2 may vary together with it. Throws
/// ArgumentError on shapes that disagree, on what is not finite, on a negative noise, and on weights that do
/// not sum to one where a bias is asked for. Cost O(m H^2). Source: theory, section 3.
Decomposition decompose(const HeadMoments& heads, VectorView weights = Vector());

/// Covariances of the leave-one-out weights from those of the weights at the points themselves, noise one:
/// (C_hl - w_h,ii w_l,ii) / ((1 - w_h,ii)(1 - w_l,ii)). `covariance` [n, H*H], `self_weight` [n, H]; NaN
/// where a self-weight is 1. Throws ArgumentError on shapes that disagree.
Matrix leave_one_out_covariance(MatrixView covariance, MatrixView self_weight);

/// s2 = sum (y - f)^2 / (n - 2 tr W + tr W W^T) from in-sample residuals [n] of a fit with smoother matrix W:
/// unbiased where the fit has no bias, too large otherwise. Its standard error is that of normal noise.
/// Throws ArgumentError where the divisor is not positive.
Part residual_noise_variance(VectorView residual, double trace, double trace_wwt);

/// s2 = mean_i (y_i - y_j(i))^2 / 2, j(i) the nearest neighbour of i in units of each column's spread (ties:
/// the lowest index): needs no fit, and is too large by half the mean squared change of the regression
/// function between neighbours. The standard error counts pairs that share a point. `x` [n, d], `y` [n];
/// O(n^2 d). Throws ArgumentError on fewer than two points, sizes that disagree, or what is not finite.
Part neighbour_noise_variance(MatrixView x, VectorView y);

}  // namespace headspan::ensemble
