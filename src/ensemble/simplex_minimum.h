#pragma once
// The minimum of a quadratic form over weights that are not negative and sum to one.

#include "headspan/numeric/matrix.h"

namespace headspan::ensemble {

struct SimplexMinimum {
  Vector at;
  bool singular = false;  // others are as good
};

/// Minimises a^T M a by an active set. M is symmetric; ArgumentError where it curves downwards on a face that
/// is visited.
SimplexMinimum minimize_on_simplex(MatrixView m);

/// The slopes 2 M a violate the conditions of optimality by so much: mu = a^T M a, M a >= mu, equal where a >
/// 0; relative to the largest |M_hl|.
double simplex_residual(MatrixView m, const Vector& a);

}  // namespace headspan::ensemble
