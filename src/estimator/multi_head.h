#pragma once
// One recipe fitted to standardised rows.

#include <cstdint>

#include "estimator/smooth.h"
#include "headspan/estimator/model.h"

namespace headspan::estimator {

/// Of the range of its targets: how far beyond them a sharpened head may predict.
inline constexpr double kBeyondTargets = 0.1;

struct Learning {
  std::uint64_t seed = 0;
  Index most_rows = 2000;  ///< heads are learned on a random sample of so many rows
  double relative_error = 0.0;
};

struct FittedMultiHead {
  MultiHead estimate;
  Vector loo_residual;  ///< [n] every head leaves the row out; of `sum`, given the values of its stage
  Index n_evaluations = 0;
};

/// `y` [n] in standard units. Rows that do not differ, or a target that is constant, get no head.
FittedMultiHead fit_multi_head(const SmoothedRows& rows, VectorView y, const Recipe& recipe,
                               const Learning& learning);

/// [m] what a head makes of smoothed values.
Vector within_bounds(const FittedHead& head, const Smoothed& smoothed);

/// [m, 1 + H] what the trend and every head add to the prediction at `queries`.
Matrix contributions(const MultiHead& estimate, const SmoothedRows& rows, MatrixView queries);

/// The estimate of its first heads alone; of a `sum`, what an earlier end of the stages would have given.
MultiHead first_heads(MultiHead estimate, Index n_heads);

}  // namespace headspan::estimator
