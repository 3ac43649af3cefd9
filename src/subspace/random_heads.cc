#include "headspan/subspace/random_heads.h"

#include <algorithm>
#include <cmath>

#include "headspan/numeric/decompose.h"
#include "headspan/numeric/error.h"
#include "headspan/numeric/parallel.h"
#include "headspan/numeric/random.h"

namespace headspan::subspace {
namespace {

/// T [k, min(k, dof)] with T T^T distributed as W W^T, W [k, dof] of independent normals.
Matrix bartlett(RandomStream& random, Index k, Index dof) {
  if (dof < k) return random.normal_matrix(k, dof);
  Matrix t = Matrix::Zero(k, k);
  for (Index i = 0; i < k; ++i) {
    for (Index j = 0; j < i; ++j) t(i, j) = random.normal();
    t(i, i) = std::sqrt(random.chi_square(static_cast<double>(dof - i)));
  }
  return t;
}

Matrix outer(MatrixView a, MatrixView b) {
  Matrix out(a.rows(), b.rows());
  multiply_transposed(a, b, out);
  return out;
}

/// Two independent heads in the coordinates in which the first spans the leading axes: W_1 = [first 0],
/// W_2 = [along rest], with rest known through rest rest^T only.
struct HeadPair {
  Matrix first, along, rest;
  HeadPair(RandomStream& random, Index k, Index d)
      : first(bartlett(random, k, d)),
        along(random.normal_matrix(k, first.cols())),
        rest(bartlett(random, k, d - first.cols())) {}
  Matrix cross() const { return outer(first, along); }
  Matrix gram_first() const { return outer(first, first); }
  Matrix gram_second() const {
    Matrix gram = outer(along, along);
    if (rest.cols() > 0) gram += outer(rest, rest);
    return gram;
  }
};

void check(Index k, Index d, const Sampling& sampling) {
  if (k < 1 || d < 1) throw ArgumentError("random heads: dimensions must be positive");
  if (sampling.n_samples < 2) throw ArgumentError("random heads: at least two samples are needed");
}

/// sample(i, stream) for every i, one row each.
Matrix draw(const Sampling& sampling, Index columns,
            const std::function<void(RandomStream&, double*)>& sample) {
  Matrix rows(sampling.n_samples, columns);
  parallel_for(sampling.n_samples, [&](Index i) {
    RandomStream random(sampling.seed, static_cast<std::uint64_t>(i));
    sample(random, rows.row(i).data());
  });
  return rows;
}

double variance(const Vector& x) {
  return (x.array() - x.mean()).square().sum() / static_cast<double>(x.size() - 1);
}

}  // namespace

PairMoments random_energy(Index k, Index d, const Sampling& sampling) {
  check(k, d, sampling);
  const Matrix rows = draw(sampling, 2, [&](RandomStream& random, double* out) {
    const HeadPair pair(random, k, d);
    const Matrix first = pair.gram_first();
    out[0] = pair.cross().squaredNorm() / (first.norm() * pair.gram_second().norm());
    out[1] = first.trace() / first.norm();
  });
  const double size = static_cast<double>(d);
  const double f = rows.col(1).mean();
  return {f * f / size, variance(rows.col(0)), variance(rows.col(1)) * f * f / (size * size)};
}

MapVariances random_map(Index k, Index d_left, Index d_right, const Sampling& sampling) {
  check(k, std::min(d_left, d_right), sampling);
  const Matrix rows = draw(sampling, 2, [&](RandomStream& random, double* out) {
    const HeadPair left(random, k, d_left), right(random, k, d_right);
    const Matrix left_1 = left.gram_first(), left_2 = left.gram_second();
    const Matrix right_1 = right.gram_first(), right_2 = right.gram_second(), cross = left.cross();
    const double norm_1 = left_1.cwiseProduct(right_1).sum();
    out[0] = cross.cwiseProduct(right.cross()).sum() / std::sqrt(norm_1 * left_2.cwiseProduct(right_2).sum());
    out[1] = cross.cwiseProduct(right_1).sum() / std::sqrt(norm_1 * left_2.cwiseProduct(right_1).sum());
  });
  return {rows.col(0).squaredNorm() / static_cast<double>(rows.rows()),
          rows.col(1).squaredNorm() / static_cast<double>(rows.rows())};
}

PairMoments random_kernel(Index k, Index d, const GaussianKernelLaw& law, const Sampling& sampling) {
  check(k, d, sampling);
  if (k > d) throw ArgumentError("random_kernel: a subspace cannot have more dimensions than its space");
  const Matrix rows = draw(sampling, 1, [&](RandomStream& random, double* out) {
    // One subspace spans the leading k axes; the other is the row space of [along rest], whose first k
    // columns after orthonormalising are the cross product: R^-1 along, R R^T = along along^T + rest rest^T.
    const Matrix along = random.normal_matrix(k, k);
    const Matrix rest = bartlett(random, k, d - k);
    Matrix gram = outer(along, along);
    if (rest.cols() > 0) gram += outer(rest, rest);
    if (!cholesky_in_place(gram)) throw std::runtime_error("random_kernel: a random Gram matrix is singular");
    const Matrix cross = gram.triangularView<Eigen::Lower>().solve(along);
    out[0] = law.correlation(law.log_v_product(cross), k, k);
  });
  return {rows.col(0).mean(), variance(rows.col(0)), 0.0};
}

}  // namespace headspan::subspace
