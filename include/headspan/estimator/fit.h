#pragma once
// Multi-head Nadaraya-Watson regression of one table.

#include <vector>

#include "headspan/estimator/model.h"
#include "headspan/estimator/options.h"

namespace headspan::estimator {

struct FitResult {
  Model model;
  std::vector<Index> place;  ///< [rows given] row of the model's keys; -1 for rows of weight 0
  Index n_evaluations = 0;   ///< of a leave-one-out error and its gradient, folds included
};

/// Fits `options.recipe` to `x` [rows, p] (numbers; categories encoded) and `y` [rows]. Inputs and target are
/// standardised inside; columns that do not vary are left out. `row_weight` [rows] counts rows: a row of
/// weight 2 is two rows, in leave-one-out and folds too; empty for one each. The result depends neither on
/// the order of the rows nor on the number of threads. A constant target, or one row, gives a model without
/// heads that predicts the mean. O(rows^2 k) per head and evaluation up to learn_rows; O(rows^2 k) once per
/// head beyond. Throws ArgumentError on sizes that disagree, NaN or infinity, negative weights, no row of
/// positive weight, no column, or options outside their ranges.
FitResult fit(MatrixView x, VectorView y, VectorView row_weight, const FitOptions& options);

}  // namespace headspan::estimator
