#include "estimator/pilot_heads.h"

#include <fmt/format.h>

#include <cmath>

#include "headspan/estimator/pilot.h"
#include "headspan/numeric/error.h"
#include "headspan/subspace/frames.h"

namespace headspan::estimator {
namespace {

constexpr Index kFewestRows = 8;
constexpr double kNarrowest = 0.12, kWidest = 2.0;  // bandwidths in units of sqrt(head_dim)

void check_table(MatrixView x, VectorView y) {
  if (x.rows() != y.size())
    throw ArgumentError(fmt::format("x: {} rows for {} values of y", x.rows(), y.size()));
  if (y.size() < kFewestRows)
    throw ArgumentError(
        fmt::format("x: a pilot needs at least {} rows, there are {}", kFewestRows, y.size()));
  if (!x.allFinite() || !y.allFinite()) throw ArgumentError("x, y: must be finite");
  if (y.minCoeff() == y.maxCoeff())
    throw ArgumentError(fmt::format("y: is {} in every row; there is nothing to predict", y[0]));
}

}  // namespace

PilotInputs pilot_inputs(MatrixView x, VectorView y) {
  check_table(x, y);
  PilotInputs out;
  std::vector<Index> kept;
  for (Index j = 0; j < x.cols(); ++j)
    (x.col(j).minCoeff() == x.col(j).maxCoeff() ? out.constant : kept).push_back(j);
  if (kept.empty()) throw ArgumentError("x: no column varies");
  out.x.resize(x.rows(), static_cast<Index>(kept.size()));
  for (std::size_t j = 0; j < kept.size(); ++j) {
    const Vector centred = x.col(kept[j]).array() - x.col(kept[j]).mean();
    out.x.col(static_cast<Index>(j)) =
        centred / std::sqrt(centred.squaredNorm() / static_cast<double>(x.rows()));
  }
  return out;
}

Vector pilot_bandwidths(Index head_dim) {
  const auto steps = static_cast<Index>(std::floor(2.0 * std::log2(kWidest / kNarrowest)));
  Vector out(steps + 1);
  for (Index i = 0; i <= steps; ++i)
    out[i] = kNarrowest * std::sqrt(static_cast<double>(head_dim)) * std::exp2(0.5 * static_cast<double>(i));
  return out;
}

Matrix projection_blocks(Index n_heads, Index head_dim, Index d, std::uint64_t seed) {
  if (n_heads < 1 || head_dim < 1 || head_dim > d)
    throw ArgumentError(
        fmt::format("projection_blocks: {} heads of dimension {} in {} dimensions", n_heads, head_dim, d));
  const Index per_basis = d / head_dim, n_bases = (n_heads + per_basis - 1) / per_basis;
  const Matrix bases = subspace::random_frames(n_bases, d, d, seed);
  Matrix frames(n_heads * head_dim, d);
  for (Index h = 0; h < n_heads; ++h)
    frames.middleRows(h * head_dim, head_dim) =
        bases.middleRows(h / per_basis * d + h % per_basis * head_dim, head_dim);
  return frames;
}

std::vector<nw::Head> heads_on(const Matrix& frames, Index head_dim, double bandwidth) {
  std::vector<nw::Head> heads;
  for (Index row = 0; row < frames.rows(); row += head_dim)
    heads.push_back({frames.middleRows(row, head_dim), Vector::Constant(1, bandwidth)});
  return heads;
}

Matrix left_out_residuals(const nw::HeadsEstimate<double>& estimate, VectorView y) {
  Matrix residual(y.size(), static_cast<Index>(estimate.heads.size()));
  for (Index h = 0; h < residual.cols(); ++h)
    residual.col(h) = y - estimate.heads[static_cast<std::size_t>(h)].output.col(0);
  return residual;
}

double ensemble_loo(const Matrix& x, VectorView y, const Matrix& frames, Index head_dim, double bandwidth) {
  nw::HeadsOptions options;
  options.leave_one_out = true;
  const Matrix values = y;
  const auto estimate =
      nw::estimate_heads<double>(x, x, values, heads_on(frames, head_dim, bandwidth), options);
  return left_out_residuals(estimate, y).rowwise().mean().squaredNorm() / static_cast<double>(y.size());
}

}  // namespace headspan::estimator
