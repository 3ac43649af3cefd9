#include "headspan/numeric/decompose.h"

#include <cblas.h>
#include <fmt/format.h>
#include <lapacke.h>

#include <cmath>
#include <mutex>

#include "headspan/numeric/error.h"

namespace headspan {
namespace {

lapack_int lapack_size(Index n) {
  if (n > std::numeric_limits<lapack_int>::max())
    throw ArgumentError(fmt::format("matrix dimension {} is beyond what LAPACK can index", n));
  return static_cast<lapack_int>(n);
}

lapack_int stride(Index outer) { return std::max<lapack_int>(1, lapack_size(outer)); }

void raw_multiply_transposed(MatrixView a, MatrixView b, MatrixSpan c) {
  cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, lapack_size(a.rows()), lapack_size(b.rows()),
              lapack_size(a.cols()), 1.0, a.data(), stride(a.outerStride()), b.data(),
              stride(b.outerStride()), 0.0, c.data(), stride(c.outerStride()));
}

// Old OpenBLAS releases choose kernels that miscompute on processors newer than they are; a wrong product
// here would make every number wrong, so one product is compared with plain loops before the first use.
void check_blas() {
  constexpr Index m = 37, n = 29, d = 131;
  Matrix a(m, d), b(n, d), c(m, n);
  for (Index i = 0; i < a.size(); ++i) a.data()[i] = static_cast<double>((i * 37) % 101) - 50.0;
  for (Index i = 0; i < b.size(); ++i) b.data()[i] = static_cast<double>((i * 53) % 97) - 48.0;
  raw_multiply_transposed(a, b, c);
  for (Index i = 0; i < m; ++i)
    for (Index j = 0; j < n; ++j) {
      double sum = 0.0;
      for (Index p = 0; p < d; ++p) sum += a(i, p) * b(j, p);
      if (sum != c(i, j))  // small integers: both are exact
        throw std::runtime_error(
            "the installed OpenBLAS multiplies matrices wrongly on this processor; update it, or "
            "set OPENBLAS_CORETYPE=Haswell");
    }
}

// One BLAS thread: parallelism is over our own blocks, so that bits do not depend on the thread count.
void prepare_blas() {
  static std::once_flag once;
  std::call_once(once, [] {
    openblas_set_num_threads(1);
    check_blas();
  });
}

void require_finite(const char* where, MatrixView a) {
  if (!a.allFinite()) throw ArgumentError(fmt::format("{}: matrix has NaN or infinite entries", where));
}

void require_success(const char* routine, lapack_int info) {
  if (info != 0) throw std::runtime_error(fmt::format("LAPACK {} failed with info {}", routine, info));
}

}  // namespace

// A row-major matrix is its transpose in LAPACK's column-major eyes, so nothing is copied to change order.

Vector singular_values(MatrixView a) {
  prepare_blas();
  require_finite("singular_values", a);
  Matrix work = a;
  Vector s(std::min(a.rows(), a.cols()));
  if (s.size() == 0) return s;
  double unused = 0.0;
  require_success("dgesdd",
                  LAPACKE_dgesdd(LAPACK_COL_MAJOR, 'N', lapack_size(a.cols()), lapack_size(a.rows()),
                                 work.data(), stride(a.cols()), s.data(), &unused, 1, &unused, 1));
  return s;
}

ThinSvd thin_svd(MatrixView a) {
  prepare_blas();
  require_finite("thin_svd", a);
  const Index rank = std::min(a.rows(), a.cols());
  Matrix work = a;
  ThinSvd svd{Matrix(a.rows(), rank), Vector(rank), Matrix(rank, a.cols())};
  if (rank == 0) return svd;
  require_success("dgesdd", LAPACKE_dgesdd(LAPACK_COL_MAJOR, 'S', lapack_size(a.cols()),
                                           lapack_size(a.rows()), work.data(), stride(a.cols()), svd.s.data(),
                                           svd.vt.data(), stride(a.cols()), svd.u.data(), stride(rank)));
  return svd;
}

ThinLq thin_lq(MatrixView a) {
  prepare_blas();
  require_finite("thin_lq", a);
  const Index rank = std::min(a.rows(), a.cols());
  Matrix work = a;
  Vector tau(rank);
  ThinLq lq{Matrix::Zero(a.rows(), rank), Matrix()};
  if (rank == 0) return lq;
  require_success("dgeqrf", LAPACKE_dgeqrf(LAPACK_COL_MAJOR, lapack_size(a.cols()), lapack_size(a.rows()),
                                           work.data(), stride(a.cols()), tau.data()));
  for (Index i = 0; i < a.rows(); ++i)
    for (Index j = 0; j <= std::min(i, rank - 1); ++j) lq.l(i, j) = work(i, j);
  require_success("dorgqr", LAPACKE_dorgqr(LAPACK_COL_MAJOR, lapack_size(a.cols()), lapack_size(rank),
                                           lapack_size(rank), work.data(), stride(a.cols()), tau.data()));
  lq.q = work.topRows(rank);
  return lq;
}

Vector symmetric_eigenvalues(MatrixView a) {
  prepare_blas();
  require_finite("symmetric_eigenvalues", a);
  Matrix work = a;
  Vector values(a.rows());
  if (values.size() == 0) return values;
  require_success("dsyevd", LAPACKE_dsyevd(LAPACK_COL_MAJOR, 'N', 'L', lapack_size(a.rows()), work.data(),
                                           stride(a.rows()), values.data()));
  return values;
}

bool cholesky_in_place(MatrixSpan a) {
  prepare_blas();
  // Lower triangle in row-major order is the upper one in column-major order.
  const lapack_int info =
      LAPACKE_dpotrf(LAPACK_COL_MAJOR, 'U', lapack_size(a.rows()), a.data(), stride(a.outerStride()));
  if (info < 0) require_success("dpotrf", info);
  return info == 0;
}

bool invert_in_place(MatrixSpan a) {
  if (!cholesky_in_place(a)) return false;
  const lapack_int info =
      LAPACKE_dpotri(LAPACK_COL_MAJOR, 'U', lapack_size(a.rows()), a.data(), stride(a.outerStride()));
  if (info < 0) require_success("dpotri", info);
  a.triangularView<Eigen::StrictlyUpper>() = a.transpose();
  return info == 0;
}

void multiply_transposed(MatrixView a, MatrixView b, MatrixSpan c) {
  prepare_blas();
  raw_multiply_transposed(a, b, c);
}

void multiply(MatrixView a, MatrixView b, MatrixSpan c) {
  prepare_blas();
  cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, lapack_size(a.rows()), lapack_size(b.cols()),
              lapack_size(a.cols()), 1.0, a.data(), stride(a.outerStride()), b.data(),
              stride(b.outerStride()), 0.0, c.data(), stride(c.outerStride()));
}

}  // namespace headspan
