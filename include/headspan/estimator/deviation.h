#pragma once
// How far new targets lie from a prediction, from residuals of rows that a fit did not see.

#include "headspan/estimator/model.h"

namespace headspan::estimator {

/// [m] The standard deviation of a new target about predict(), in its units: the root of
/// sum_i c_i (R_i^2 + (F_-k(i)(x) - F(x))^2) / N, where F_-k(i) was fitted without the fold of row i and R_i
/// is its residual there. The first part is the noise and the error of the fit, alike everywhere; the second
/// grows where the fit hangs on few rows. A model without members of folds has the first part alone, of
/// leave-one-out residuals. +inf after a fit to one row. The companion of predict_intervals(). Cost: one
/// prediction of the ensemble and of every fold's member. Throws as predict().
Vector predictive_deviation(const Model& model, MatrixView x);

}  // namespace headspan::estimator
