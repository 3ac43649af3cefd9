#pragma once
// Predictions of a fitted regression, with what they rest on.

#include <vector>

#include "headspan/estimator/model.h"

namespace headspan::estimator {

struct Predictions {
  Vector value;  ///< [m] in units of the target
  /// [m] training rows that a head's mean is worth at this point: 1 / sum_i w_i^2, the harmonic mean over
  /// the heads by the size of their weights. 0 for a model without heads.
  Vector n_eff;
  /// [m] In most heads, by weight, the point is lonelier than every training row was when left out: no
  /// training row is near, and the prediction is that of the nearest ones and the trend.
  std::vector<bool> extrapolated;
};

/// At `x` [m, p], columns as the model was fitted to. O(m n k) per head. Same bits for any number of threads.
/// Throws ArgumentError on another number of columns, NaN or infinity.
Predictions predict(const Model& model, MatrixView x);

/// [m, 1 + heads] what adds up to the prediction, less the target's mean: trends, then every head of the
/// estimates in turn, in units of the target. Throws as predict().
Matrix predict_parts(const Model& model, MatrixView x);

/// [rows of `keys`] the left-out prediction of every training row, in units of the target.
Vector left_out_predictions(const Model& model);

}  // namespace headspan::estimator
