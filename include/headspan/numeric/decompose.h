#pragma once
// Dense decompositions, LAPACK behind them. Results carry their status; nothing is silently wrong.

#include "headspan/numeric/matrix.h"

namespace headspan {

/// Singular values of A, largest first. Throws ArgumentError on a non-finite entry; std::runtime_error if
/// LAPACK does not converge. Cost O(m n min(m,n)). Accuracy: absolute error a modest multiple of 2^-53 |A|_2.
Vector singular_values(MatrixView a);

/// A = U diag(s) V^T, thin. `u` [m, r], `vt` [r, n], r = min(m, n), s largest first.
struct ThinSvd {
  Matrix u;
  Vector s;
  Matrix vt;
};
ThinSvd thin_svd(MatrixView a);

/// Orthonormal rows spanning the rows of A [k, n], k <= n or not: A = L Q with L lower triangular.
/// `q` [min(k,n), n], `l` [k, min(k,n)].
struct ThinLq {
  Matrix l;
  Matrix q;
};
ThinLq thin_lq(MatrixView a);

/// Eigenvalues of a symmetric matrix, smallest first.
Vector symmetric_eigenvalues(MatrixView a);

/// Lower Cholesky factor of a symmetric positive definite matrix; false where it is not one.
bool cholesky_in_place(MatrixSpan a);

/// A symmetric positive definite matrix becomes its inverse, both triangles; false where it is not one, and
/// then its entries are undefined. O(n^3).
bool invert_in_place(MatrixSpan a);

/// c = a b^T [m, n] through BLAS on the calling thread. Shapes: a [m, d], b [n, d].
void multiply_transposed(MatrixView a, MatrixView b, MatrixSpan c);

/// c = a b through BLAS on the calling thread. Shapes: a [m, d], b [d, n].
void multiply(MatrixView a, MatrixView b, MatrixSpan c);

}  // namespace headspan
