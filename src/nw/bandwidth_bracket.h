#pragma once
// Where the search for bandwidths looks, read off the data.

#include <vector>

#include "headspan/nw/kernel.h"

namespace headspan::nw {

/// The search range of one column's bandwidth, in the units of the column.
struct Bracket {
  double unit = 1.0;  ///< standard deviation of the column
  double lower = 0.0, upper = 0.0;
};

/// h of `function` that smooths as much as a gaussian of bandwidth 1: 1 over the standard deviation of the
/// kernel as a density.
double canonical_scale(KernelFunction function);

/// Brackets of every column of `x` [n, d]. `upper` is 100 times the range, where every weight is within 5e-5
/// of 1. `lower` is a tenth of the median gap between adjacent distinct values; where a quarter of the rows
/// or more repeat another row it is 0.6 of that gap, so that a point always hears the next distinct value:
/// with less, its duplicates alone predict it, and cross-validation of rounded data runs to 0. Both are times
/// canonical_scale. Throws ArgumentError for a constant column.
std::vector<Bracket> brackets(MatrixView x, KernelFunction function);

}  // namespace headspan::nw
