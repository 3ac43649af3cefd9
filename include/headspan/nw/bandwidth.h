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

/// Scores of the fit of `y` [n] at the rows of `x` [n, d]; `bandwidth` [1] or [d], positive; +inf leaves a
/// column out. One pass over the pairs, O(n^2 d) time, O(n d) memory, in double; same bits for any number of
/// threads. The leave-one-out sums never contain the point itself, so its residual is accurate where w_ii
/// rounds to 1; gaussian, laplace and softmax weights are relative to the largest, so that a point far from
/// all others is predicted by its nearest ones and only compact kernels isolate. Throws ArgumentError on an
/// empty table, sizes that disagree, NaN or infinity in the data, or a bandwidth that is not positive.
SmootherScores smoother_scores(MatrixView x, VectorView y, const Kernel& kernel, VectorView bandwidth);

struct SelectionOptions {
  Kernel kernel;
  Criterion criterion = Criterion::loo;
  bool per_dimension =
      true;          ///< one bandwidth per dimension; false: one for all, in units of each column's spread
  int n_starts = 5;  ///< for several dimensions; all but the first are random
  std::uint64_t seed = 0;
};

/// One local minimum that the search met.
struct BandwidthMinimum {
  Vector bandwidth;  ///< [d], units of the inputs; +inf: the column is irrelevant
  Vector lambda;     ///< [c] of the columns of categories (category.h)
  double value = 0.0;
};

struct BandwidthSelection {
  Vector bandwidth;    ///< [d], units of the inputs; +inf: the column is irrelevant
  Vector lambda;       ///< [c] of the columns of categories (category.h); empty without
  double value = 0.0;  ///< the criterion there
  /// [d] The column does not matter: without it the criterion is no worse (bandwidth +inf), or the rise of
  /// the mean squared leave-one-out residual is within its standard error (bandwidth still the minimiser).
  std::vector<bool> irrelevant;
  std::vector<bool> irrelevant_category;  ///< [c] the same of the columns of categories
  std::vector<bool> at_edge;              ///< [d] the search ended on an edge of its bracket
  std::vector<BandwidthMinimum> minima;   ///< every distinct minimum met, best first
  Index n_evaluations = 0;
};

/// Minimises the criterion over log bandwidths. One dimension: every local minimum of a grid of ratio sqrt 2,
/// refined. Several: local descent from the best common multiple of the columns' standard deviations, from
/// the best six places of a lattice and from n_starts - 1 random ones, columns left out wherever the
/// criterion is no worse without them, then from each end a search along every coordinate until no better
/// valley is met: more starts never end higher in tables below 2,048 rows. The bracket is set by the data: up
/// to 100 times the range of a column, down to a tenth of the median gap between its adjacent distinct
/// values, or 0.6 of that gap where a quarter of the rows or more repeat another row: below, duplicates
/// predict each other and cross-validation of rounded data runs to zero; or 0.2 of it where every distinct
/// row stands for ten on average, whose means may be the best estimate there is (all times the kernel's width
/// beside a gaussian). A point that no other reaches counts, in loo, as predicted by the mean of the others;
/// smoother_scores() leaves it out. GCV counts as undefined where tr W exceeds 0.9 n: there it is the
/// ratio of two numbers next to 0, and of noisy tables often least. Results do not depend on the units of the
/// columns or of y. Throws ArgumentError as smoother_scores() does, for a constant column (one row and
/// all-duplicate rows included), for n_starts < 1, and where the criterion is undefined at every bandwidth.
BandwidthSelection select_bandwidth(MatrixView x, VectorView y, const SelectionOptions& options);

}  // namespace headspan::nw
