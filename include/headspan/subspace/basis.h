#pragma once
// Orthonormal frames of head subspaces, with their numerical rank.

#include "headspan/numeric/matrix.h"

namespace headspan::subspace {

/// Orthonormal frame of the row space of a head.
struct Basis {
  Matrix frame;            ///< [rank, d], orthonormal rows
  Vector singular_values;  ///< of the head, largest first
  double tolerance = 0.0;  ///< singular values at or below it do not count

  Index rank() const { return frame.rows(); }
};

/// What noise of the storage type puts on a singular value: u |W|_F (sqrt k + sqrt d) / sqrt(3 k d), and
/// never less than what computing in double puts there, 2^-52 sqrt(k) |W|_F.
double rank_tolerance(double frobenius_norm, Index k, Index d, double unit_roundoff);

/// Frame of the rows of `head` [k, d], rank by singular values against rank_tolerance. A zero head has rank
/// 0. Throws ArgumentError on non-finite entries. Cost O(k^2 d).
Basis orthonormal_basis(MatrixView head, double unit_roundoff);

}  // namespace headspan::subspace
