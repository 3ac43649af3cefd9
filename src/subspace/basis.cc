#include "headspan/subspace/basis.h"

#include <algorithm>
#include <cmath>

#include "headspan/numeric/decompose.h"

namespace headspan::subspace {

double rank_tolerance(double frobenius_norm, Index k, Index d, double unit_roundoff) {
  const double rows = static_cast<double>(k), cols = static_cast<double>(d);
  const double storage = unit_roundoff * (std::sqrt(rows) + std::sqrt(cols)) / std::sqrt(3.0 * rows * cols);
  return frobenius_norm * std::max(storage, 0x1p-52 * std::sqrt(rows));
}

Basis orthonormal_basis(MatrixView head, double unit_roundoff) {
  const ThinLq lq = thin_lq(head);
  Basis basis;
  basis.tolerance = rank_tolerance(lq.l.norm(), head.rows(), head.cols(), unit_roundoff);
  basis.singular_values = singular_values(lq.l);
  const Index rank = (basis.singular_values.array() > basis.tolerance).count();
  if (rank == std::min(head.rows(), head.cols())) {
    basis.frame = lq.q;
  } else {
    basis.frame.resize(rank, head.cols());
    if (rank > 0) multiply(thin_svd(lq.l).vt.topRows(rank), lq.q, basis.frame);
  }
  return basis;
}

}  // namespace headspan::subspace
