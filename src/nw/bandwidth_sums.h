#pragma once
// What a smoother's leave-one-out scores are made of: for every point, the sums over the other points.

#include "headspan/numeric/pair_kernels.h"
#include "headspan/nw/kernel.h"
#include "nw/category_factor.h"

namespace headspan::nw {

/// The data of one smoother: inputs as they are (differences are taken before they are scaled), values
/// centred.
struct SmootherData {
  Kernel kernel;
  PairPoints points;  ///< points.kernel is the twin of `kernel`, unused for softmax
  std::vector<CategoryFactor> categories = {};
};

SmootherData smoother_data(const Kernel& kernel, MatrixView x, VectorView bandwidth, VectorView values);

/// Sums over j != i of the weights relative to exp(shift_i). The point itself is never part of them, so that
/// nothing has to be subtracted where its own weight is nearly all.
struct OtherSums {
  Vector shift;   ///< [n] logarithm of the unit of the sums; -inf where no other point is in reach
  Vector weight;  ///< [n] sum_j w_ij / exp(shift)
  Vector value;   ///< [n] sum_j w_ij values_j / exp(shift)
  Vector square;  ///< [n] sum_j (w_ij / exp(shift))^2; empty unless asked for
};

/// One row of the smoother matrix, from its sums.
struct RowScore {
  double others_mean;  ///< weighted mean of the others' values; NaN where there are none in reach
  double self_weight;  ///< w_ii
  double others;       ///< 1 - w_ii, without cancellation
  double n_eff;        ///< 1 / sum_j w_ij^2; NaN without squares
  bool isolated;       ///< no other point in reach
};

/// log k(x_i, x_i): 0, except for softmax (category factors are relative to equal categories).
double self_log_weight(const SmootherData& data, Index i);

/// Sums of every row. Gaussian, laplace and softmax weights are relative to the largest among the others
/// wherever these would underflow; with categories, all weights.
OtherSums other_sums(const SmootherData& data, bool with_squares);

/// True where other_slopes() and other_gradient() know the derivative: gaussian and laplace.
bool has_slopes(const SmootherData& data);

/// [d + c] Derivatives, with respect to log bandwidths and then log lambdas, of a function of the sums whose
/// derivatives with respect to weight and value are p and q [n], shifts held fixed. Throws ArgumentError
/// unless has_slopes().
Vector other_slopes(const SmootherData& data, const OtherSums& sums, Vector p, Vector q);

/// [d, n] The same with respect to the inputs (data.points.columns).
Matrix other_gradient(const SmootherData& data, const OtherSums& sums, Vector p, Vector q);

RowScore row_score(const OtherSums& sums, Index i, double self_log);

}  // namespace headspan::nw
