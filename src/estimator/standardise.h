#pragma once
// Units of a model, and members evaluated in them.

#include "headspan/estimator/model.h"

namespace headspan::estimator {

/// Rows in standard units. Throws ArgumentError on another number of columns, NaN or infinity.
Matrix standardised(const Model& model, MatrixView x);

/// [m] prediction of a member at standardised inputs, in standard units.
Vector member_prediction(const Model& model, const Member& member, MatrixView standard_x);

}  // namespace headspan::estimator
