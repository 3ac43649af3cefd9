#pragma once
// Prediction intervals with finite-sample coverage, from residuals of rows that a fit did not see.

#include "headspan/estimator/model.h"

namespace headspan::estimator {

struct Intervals {
  Vector lower, upper;  ///< [m] in units of the target; infinite where there are too few rows for the level
};

/// CV+ [barber2021]: with F_-k(i) fitted without the fold of row i and R_i = |y_i - F_-k(i)(x_i)|, from minus
/// the ceil(a (N + 1)) smallest of R_i - F_-k(i)(x) to the ceil(a (N + 1)) smallest of F_-k(i)(x) + R_i, a =
/// coverage. If rows are exchangeable the interval holds a new target with probability at least 2 a - 1 -
/// sqrt(2 / N), and about a for stable fits; units and the weights of candidates are those of all rows. Rows
/// count by their frequency. A model without members of folds (a large table) has one reach around its
/// prediction, the ceil(a (N + 1)) smallest leave-one-out |residual|: the jackknife, whose coverage is a in
/// the limit of many rows. Cost: one prediction of every fold's member, and O(m n log n). Throws
/// ArgumentError for a coverage outside (0, 1), or as predict().
Intervals predict_intervals(const Model& model, MatrixView x, double coverage);

}  // namespace headspan::estimator
