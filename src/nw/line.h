#pragma once
// Sums of a gaussian kernel in one dimension without visiting every pair: sorted keys, short series.

#include "headspan/numeric/matrix.h"
#include "nw/sums.h"

namespace headspan::nw {

/// Sums over the keys of w, w^2 and w v with w = exp(-(x - x_i)^2 / 2 b^2), each within `relative_error` of a
/// share of the sum of weights. Sorted keys are cut into runs half a bandwidth wide, each a power series
/// about its middle [greengard1991]; runs are added from the query outwards until the rest cannot matter. A
/// query so far from every key that this would take more than the series allow has sums of 0. O(n log n + m
/// b^-1) time.
Sums sum_on_line(VectorView queries, VectorView keys, MatrixView values, double bandwidth,
                 double relative_error);

}  // namespace headspan::nw
