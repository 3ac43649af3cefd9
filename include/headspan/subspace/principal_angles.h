#pragma once
// Principal angles between subspaces.

#include "headspan/numeric/matrix.h"

namespace headspan::subspace {

/// min(k, l) principal angles in radians, largest first, between the spans of the orthonormal rows of `u` [k,
/// d] and `v` [l, d]: cos theta_j are the singular values of U V^T. Angles with cos^2 > 1/2 come from the
/// sines, the singular values of V (I - U^T U), since a cosine near 1 loses half the digits [bjorck1973,
/// knyazev2002]. Absolute error a few 2^-53; throws ArgumentError on different widths or non-finite entries.
/// Cost O(k l d).
Vector principal_angles(MatrixView u, MatrixView v);

/// The same, where the cross product C = U V^T [k, l] is at hand already.
Vector principal_angles(MatrixView u, MatrixView v, MatrixView cross);

}  // namespace headspan::subspace
