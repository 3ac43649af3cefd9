#pragma once
// Sums of gaussian and compact kernels in one dimension without visiting every pair: sorted keys, short
// series.

#include <vector>

#include "headspan/numeric/matrix.h"
#include "headspan/nw/kernel.h"
#include "nw/sums.h"

namespace headspan::nw {

/// Sums over the keys of w, w^2 and w v with w = exp(-(x - x_i)^2 / 2 b^2), each within `relative_error` of a
/// share of the sum of weights. Sorted keys are cut into runs half a bandwidth wide, each a power series
/// about its middle [greengard1991]; runs are added from the query outwards until the rest cannot matter. A
/// query so far from every key that this would take more than the series allow has sums of 0. O(n log n + m
/// b^-1) time.
Sums sum_on_line(VectorView queries, VectorView keys, MatrixView values, double bandwidth,
                 double relative_error);

/// The same of a compact kernel, whose weights are polynomials of the distance: sums of powers over sorted
/// blocks of keys half a bandwidth wide, and over parts of those that a query's reach cuts. Where rounding
/// could exceed a tenth of `relative_error` of a sum, its keys are visited one by one. O(n log n + m (log n +
/// b^-1)) time.
Sums sum_on_line_compact(KernelFunction function, VectorView queries, VectorView keys, MatrixView values,
                         double bandwidth, double relative_error);

/// Points in rising order, and their positions before; equal ones by position.
struct RisingPoints {
  Vector points;
  std::vector<Index> order;
};
RisingPoints rising(VectorView points);

}  // namespace headspan::nw
