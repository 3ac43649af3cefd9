#include "audit/projection.h"

#include <algorithm>
#include <cmath>

#include "headspan/numeric/decompose.h"
#include "headspan/numeric/parallel.h"
#include "headspan/subspace/basis.h"

namespace headspan::audit {
namespace {

/// Greatest rank a head can have: its rows, its columns, and one less where every row has mean zero (a folded
/// LayerNorm).
Index attainable_rank(const HeadWeights& part) {
  if (part.head_dim < part.width()) return part.head_dim;
  const bool centred = part.weight.rowwise().sum().norm() <= 1e-12 * part.weight.norm();
  return centred ? part.width() - 1 : part.width();
}

}  // namespace

ProjectionState set_aside_unusable(HeadWeights& part, Vector* gain) {
  const std::size_t n = static_cast<std::size_t>(part.n_heads);
  ProjectionState state;
  state.status.assign(n, Status::ok);
  state.exponent.assign(n, 0);
  state.rank.assign(n, std::nullopt);
  parallel_for(part.n_heads, [&](Index h) {
    const std::size_t i = static_cast<std::size_t>(h);
    auto head = part.head(h);
    const bool has_gain = gain != nullptr && gain->size() > 0;
    if (!head.allFinite() || (has_gain && !gain->segment(h * part.head_dim, part.head_dim).allFinite())) {
      state.status[i] = Status::non_finite;
      head.setZero();
      if (has_gain) gain->segment(h * part.head_dim, part.head_dim).setZero();
      return;
    }
    const double largest = head.cwiseAbs().maxCoeff();
    if (largest == 0.0) {
      state.status[i] = Status::dead;
      return;
    }
    state.exponent[i] = std::ilogb(largest);
    head = head.unaryExpr([e = -state.exponent[i]](double x) { return std::ldexp(x, e); });
  });
  state.full_rank = attainable_rank(part);
  return state;
}

void transform_input(HeadWeights& part, MatrixView factor) {
  parallel_for(part.n_heads, [&](Index h) {
    Matrix out(part.head_dim, factor.cols());
    multiply(part.head(h), factor, out);
    part.head(h) = out;
  });
}

void orthonormalise(HeadWeights& part, ProjectionState& state) {
  Vector tolerance = Vector::Zero(part.n_heads);
  parallel_for(part.n_heads, [&](Index h) {
    const std::size_t i = static_cast<std::size_t>(h);
    if (state.status[i] == Status::non_finite) return;
    const subspace::Basis basis = subspace::orthonormal_basis(part.head(h), part.unit_roundoff);
    tolerance(h) = std::ldexp(basis.tolerance, state.exponent[i]);
    state.rank[i] = static_cast<int>(basis.rank());
    part.head(h).setZero();
    part.head(h).topRows(basis.rank()) = basis.frame;
    if (state.status[i] != Status::ok) return;
    if (basis.rank() == 0)
      state.status[i] = Status::dead;
    else if (basis.rank() < state.full_rank)
      state.status[i] = Status::rank_deficient;
  });
  state.tolerance = tolerance.maxCoeff();
}

}  // namespace headspan::audit
