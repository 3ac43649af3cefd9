#pragma once
// Sums of kernel weights over all pairs of points, in double; vectorised, instruction set chosen at run time.

#include "headspan/numeric/matrix.h"

namespace headspan {

/// The weight of a pair, a function of the scaled differences u_k = |x_ik - x_jk| / h_k. With u the Euclidean
/// length of them: gaussian exp(-u^2/2); laplace exp(-u); epanechnikov (1-u^2)+; biweight, triweight its
/// square and cube; tricube (1-u^3)+^3; uniform 1 for u <= 1. `_product`: the product over k of the same
/// function of u_k (of gaussian the same function again).
enum class PairKernel {
  gaussian,
  laplace,
  epanechnikov,
  biweight,
  triweight,
  tricube,
  uniform,
  laplace_product,
  epanechnikov_product,
  biweight_product,
  triweight_product,
  tricube_product,
  uniform_product
};

/// True where pair_slopes() and pair_gradient() know the derivative: gaussian, laplace, laplace_product.
bool has_slopes(PairKernel kernel);

/// Points of one set, compared with each other.
struct PairPoints {
  PairKernel kernel = PairKernel::gaussian;
  Matrix columns;    ///< [d, n] one coordinate of all points after the other
  Vector bandwidth;  ///< [d] positive; +inf: the coordinate does not count
  Vector values;     ///< [n]
};

/// Sums over j != i.
struct PairSums {
  Vector weight;  ///< [n] sum_j w_ij
  Vector value;   ///< [n] sum_j w_ij values_j
  Vector square;  ///< [n] sum_j w_ij^2; empty unless asked for
};

/// Every pair is visited once: O(n^2 d / 2) time, O(n) memory beyond the input. Differences are taken before
/// they are scaled, so large coordinates cost no digits. Relative error of a weight: 4 units of rounding
/// times (1 + its logarithm); gaussian and laplace weights below 2^-1020 are some number no larger than
/// 2^-1020. Same bits for any number of threads: blocks and the order of their sums depend on n alone.
PairSums pair_sums(const PairPoints& points, bool with_squares);

/// [d] sum over pairs i < j of (p_i + p_j + q_i values_j + q_j values_i) dw_ij / d log h_k: the derivative,
/// with respect to log bandwidths, of any function of the sums whose derivatives are p = d/dweight and q =
/// d/dvalue. p, q [n]. Cost, memory and determinism of pair_sums(). Throws ArgumentError unless
/// has_slopes(kernel).
Vector pair_slopes(const PairPoints& points, VectorView p, VectorView q);

/// [d, n] the derivative of the same function with respect to the coordinates: column i is
/// sum_j (p_i + p_j + q_i values_j + q_j values_i) dw_ij / dcolumns_i; where a laplace weight has a corner,
/// 0. Every pair is visited twice: O(n^2 d) time, O(n d) memory. Throws as pair_slopes().
Matrix pair_gradient(const PairPoints& points, VectorView p, VectorView q);

}  // namespace headspan
