#pragma once
// A fitted regression as plain matrices and numbers: everything predict() needs, and nothing else.

#include <limits>
#include <vector>

#include "headspan/estimator/options.h"
#include "headspan/numeric/matrix.h"

namespace headspan::estimator {

/// One Nadaraya-Watson head: f(x) = sum_i w_i(x) values_i, w_i proportional to
/// frequency_i exp(-|projection (x - x_i)|^2 / 2). The bandwidth is inside the projection.
struct FittedHead {
  Matrix projection;       ///< [k, q] of standardised inputs
  double weight = 1.0;     ///< a_h of the combiner
  double loneliest = 0.0;  ///< least log normaliser of a training row left out: beyond it no row is near
  /// What f(x) is cut to. Sharpened values lie far outside the targets and cancel where rows are near; where
  /// none is, one of them would be the prediction.
  double lowest = -std::numeric_limits<double>::infinity();
  double highest = std::numeric_limits<double>::infinity();
  /// t of a sharpened head [Recipe::sharpen]; 0 for others, NaN where an old model file did not keep it.
  double sharpness = 0.0;
};

/// Several heads on a linear trend: F(x) = intercept + trend . x + sum_h a_h f_h(x), in standard units.
struct MultiHead {
  Recipe recipe;
  double weight = 1.0;  ///< of this estimate among those of the model
  double intercept = 0.0;
  Vector trend;        ///< [q], zero without one
  double ridge = 0.0;  ///< penalty of the trend; +inf without one
  std::vector<FittedHead> heads;
  Matrix values;  ///< [n, H] what each head smooths, rows as in `rows`
};

/// Weighted multi-head estimates that saw the same rows. F = sum_c weight_c F_c.
struct Member {
  std::vector<Index> rows;  ///< of Model::keys, ascending
  std::vector<MultiHead> estimates;
};

/// Rows are in canonical order: sorted, equal rows (inputs and target) one row with their number as
/// frequency. So a fit depends neither on the order of rows nor on whether a repeated row is written out.
struct Model {
  Vector input_center,
      input_scale;            ///< [p] weighted mean and standard deviation; scale 0: constant, left out
  std::vector<Index> inputs;  ///< the columns that vary, in order: column j of `keys` is input inputs[j]
  double target_center = 0.0, target_scale = 1.0;
  Matrix keys;                     ///< [n, q] standardised inputs, q = inputs.size()
  Vector target;                   ///< [n] in standard units
  Vector frequency;                ///< [n]
  Member ensemble;                 ///< fitted to all rows
  std::vector<Member> folds;       ///< fitted without the rows of one fold each; may be empty
  std::vector<Index> fold_of_row;  ///< [n] which of `folds` did not see the row; empty without folds
  Vector fold_residual;            ///< [n] target - prediction of that fold's member, in standard units
  Vector loo_residual;             ///< [n] leave-one-out residuals of `ensemble`, in standard units
};

}  // namespace headspan::estimator
