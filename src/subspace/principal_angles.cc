#include "headspan/subspace/principal_angles.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "headspan/numeric/decompose.h"
#include "headspan/numeric/error.h"

namespace headspan::subspace {
namespace {

/// Singular values of the smaller frame minus its projection on the larger one, smallest first.
Vector sines(MatrixView u, MatrixView v, MatrixView cross) {
  Matrix residual(v.rows(), v.cols());
  multiply(cross.transpose(), u, residual);
  residual = v - residual;
  // The residual is short and wide: its singular values are those of its triangular factor.
  return singular_values(thin_lq(residual).l).reverse();
}

}  // namespace

Vector principal_angles(MatrixView u, MatrixView v) {
  if (u.cols() != v.cols())
    throw ArgumentError(
        fmt::format("principal_angles: subspaces of {} and {} dimensions", u.cols(), v.cols()));
  Matrix cross(u.rows(), v.rows());
  multiply_transposed(u, v, cross);
  return principal_angles(u, v, cross);
}

Vector principal_angles(MatrixView u, MatrixView v, MatrixView cross) {
  if (u.rows() < v.rows()) return principal_angles(v, u, Matrix(cross.transpose()));
  const Vector cosines = singular_values(cross);  // largest first, so angles smallest first
  const Index n = cosines.size();
  Vector angles = cosines.cwiseMin(1.0).array().acos();
  const Index n_small = (cosines.array().square() > 0.5).count();
  if (n_small > 0) {
    const Vector sine = sines(u, v, cross);
    for (Index j = 0; j < n_small; ++j) angles(j) = std::asin(std::min(1.0, sine(j)));
  }
  // Where the two formulas meet, rounding may swap neighbours.
  std::sort(angles.data(), angles.data() + n, std::greater<>());
  return angles;
}

}  // namespace headspan::subspace
