#pragma once
// What smoother_scores and select_bandwidth share: checks and formulas.

#include <optional>

#include "headspan/numeric/matrix.h"
#include "headspan/nw/category.h"
#include "nw/bandwidth_sums.h"

namespace headspan::nw {

/// Throws ArgumentError for no row, sizes that disagree, NaN and infinity.
void check_smoother_data(MatrixView x, VectorView y);

/// Throws ArgumentError where there is neither a column of numbers nor one of categories.
void check_some_column(MatrixView x, const Categories& categories);

/// `bandwidth` [1] or [d], positive, +inf allowed, as [d]. Throws ArgumentError otherwise.
Vector every_bandwidth(VectorView bandwidth, Index d);

/// Throws ArgumentError where a kernel without a rim would need the square of a distance beyond double:
/// between rows more than 1e150 bandwidths apart, of which none would seem to reach another.
void check_distances(const Kernel& kernel, MatrixView x, VectorView bandwidth);

/// sigma2 / (1 - trace / n)^2; nothing where the smoother reproduces the data.
std::optional<double> gcv(double sigma2, double trace, double n);

/// log sigma2 + (1 + trace/n) / (1 - (trace + 2)/n); nothing where the second denominator is not positive or
/// sigma2 is zero.
std::optional<double> aicc(double sigma2, double trace, double n);

}  // namespace headspan::nw
