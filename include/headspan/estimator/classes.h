#pragma once
// Classes of rows, as regressions of their indicators.

#include <vector>

#include "headspan/estimator/auto.h"
#include "headspan/estimator/fit.h"
#include "headspan/estimator/model.h"

namespace headspan::estimator {

/// K classes, numbered from 0.
struct ClassModel {
  /// One regression per class, of the number that is 1 in its rows and 0 in all others; of two classes the
  /// second's alone, since the first's is its mirror image.
  std::vector<Model> indicators;
  Vector share;         ///< [K] of the rows, by their weight
  double n_rows = 0.0;  ///< their weights' sum
  Index n_evaluations = 0;
};

/// Fits one regression per class to `x` [rows, p] and `label` [rows] in [0, n_classes). The same folds,
/// sample and starting heads for every class; a class without rows of positive weight is never predicted.
/// Cost: that of fit() times the classes. Throws ArgumentError as fit(), for n_classes below 1, a number of
/// labels that is not the number of rows, or a label outside its range.
ClassModel fit_classes(MatrixView x, const std::vector<Index>& label, Index n_classes, VectorView row_weight,
                       const FitOptions& options);

/// The same by fit_auto(), whose effort is for each class; members of folds are not kept.
ClassModel fit_classes(MatrixView x, const std::vector<Index>& label, Index n_classes, VectorView row_weight,
                       const AutoOptions& options);

/// [m, K] at `x` [m, p]: the point p of the probability simplex nearest to the indicators' predictions, which
/// is never farther from the truth than they are, then (N p + share) / (N + 1): one row's worth of doubt, so
/// that a class seen in training is never impossible. Rows add up to one. Cost: predict() per regression.
/// Throws ArgumentError as predict().
Matrix predict_probabilities(const ClassModel& model, MatrixView x);

}  // namespace headspan::estimator
