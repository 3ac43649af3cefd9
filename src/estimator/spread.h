#pragma once
// Mean and spread of rows that count `frequency` times each.

#include "headspan/numeric/matrix.h"

namespace headspan::estimator {

double weighted_mean(VectorView values, VectorView frequency);

/// sqrt(sum_i c_i v_i^2 / sum_i c_i), whatever the size of v: no square leaves double. 0 of no values; +inf
/// of values that are not finite.
double root_mean_square(VectorView values, VectorView frequency);

/// The root mean square about the weighted mean.
double weighted_deviation(VectorView values, VectorView frequency);

}  // namespace headspan::estimator
