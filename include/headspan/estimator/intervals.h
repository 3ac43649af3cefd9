#pragma once
// Prediction intervals with finite-sample coverage, from residuals of rows that a fit did not see.

#include "headspan/estimator/model.h"

namespace headspan::estimator {

struct Intervals {
  Vector lower, upper;  ///< [m] in units of the target; infinite where there are too few rows for the level
};

/// CV+ [barber2021]: with F_-k(i) fitted without the fold of row i and R_i = |y_i - F_-k(i)(x_i)|, from the
/// floor(a (N + 1)) smallest of F_-k(i)(x) - R_i to the ceil((1 - a)(N + 1)) smallest of F_-k(i)(x) + R_i,
/// a = 1 - coverage. If rows are exchangeable the interval holds a new target with probability at least
/// 1 - 2 a - sqrt(2 / N), and about 1 - a for stable fits. Rows count by their frequency. Cost: one
/// prediction of every fold's member, and O(m n log n). Throws ArgumentError for a coverage outside (0, 1),
/// a model fitted without folds, or as predict().
Intervals predict_intervals(const Model& model, MatrixView x, double coverage);

}  // namespace headspan::estimator
