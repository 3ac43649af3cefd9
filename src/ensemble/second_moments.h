#pragma once
// What is asked of a matrix of second moments of errors.

#include "headspan/numeric/matrix.h"

namespace headspan::ensemble {

/// M made symmetric to the bit, so that no answer depends on which triangle was read. Throws ArgumentError
/// unless it is square, not empty, finite and symmetric to rounding.
Matrix checked_moments(MatrixView m);

/// The same of an M in which no two members differ by less than nothing: M_hh + M_ll - 2 M_hl is the mean
/// square of their difference. Cost O(H^2), where the whole condition below takes an eigendecomposition.
Matrix checked_pairs_of_moments(MatrixView m);

/// The same of an M that must not curve downwards between weightings of sum one: there a minimum on the
/// simplex need not be the least, and alike members could be told to differ. A constant may have been taken
/// off all entries, such as the variance of the noise.
Matrix checked_convex_moments(MatrixView m);

}  // namespace headspan::ensemble
