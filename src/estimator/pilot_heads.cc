#include "estimator/pilot_heads.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "headspan/estimator/pilot.h"
#include "headspan/numeric/error.h"
#include "headspan/subspace/frames.h"

namespace headspan::estimator {
namespace {

constexpr Index kFewestRows = 8;
constexpr double kNarrowest = 0.12, kWidest = 2.0;  // bandwidths in units of sqrt(head_dim)

// Variances, their products and the squares of those are formed from y.
constexpr double kLeastDeviation = 1e-70, kGreatestDeviation = 1e70;

/// Centred, with standard deviation one; no square overflows or vanishes on the way.
Vector standardised(VectorView column) {
  const double unit = column.cwiseAbs().maxCoeff();
  Vector centred = column / unit;
  centred.array() -= centred.mean();
  centred /= centred.cwiseAbs().maxCoeff();
  return centred / std::sqrt(centred.squaredNorm() / static_cast<double>(column.size()));
}

bool varies(VectorView column) { return column.minCoeff() < column.maxCoeff(); }

}  // namespace

void check_pilot_table(MatrixView x, VectorView y) {
  if (x.rows() != y.size())
    throw ArgumentError(fmt::format("x: {} rows for {} values of y", x.rows(), y.size()));
  if (y.size() < kFewestRows)
    throw ArgumentError(
        fmt::format("x: a pilot needs at least {} rows, there are {}", kFewestRows, y.size()));
  if (!x.allFinite() || !y.allFinite()) throw ArgumentError("x, y: must be finite");
  if (!varies(y))
    throw ArgumentError(fmt::format("y: is {} in every row; there is nothing to predict", y[0]));
  const double deviation = (y.array() - y[0]).abs().maxCoeff();
  if (!(deviation >= kLeastDeviation && deviation <= kGreatestDeviation))
    throw ArgumentError(fmt::format(
        "y: varies by {:.3g}, whose powers leave the range of double; give it in other units", deviation));
  for (Index j = 0; j < x.cols(); ++j)
    if (varies(x.col(j))) return;
  throw ArgumentError("x: no column varies");
}

PilotInputs pilot_inputs(MatrixView x, VectorView y) {
  check_pilot_table(x, y);
  PilotInputs out;
  std::vector<Index> kept;
  for (Index j = 0; j < x.cols(); ++j) (varies(x.col(j)) ? kept : out.constant).push_back(j);
  out.x.resize(x.rows(), static_cast<Index>(kept.size()));
  for (std::size_t j = 0; j < kept.size(); ++j)
    out.x.col(static_cast<Index>(j)) = standardised(x.col(kept[j]));
  return out;
}

Vector pilot_bandwidths(Index head_dim) {
  const auto steps = static_cast<Index>(std::floor(2.0 * std::log2(kWidest / kNarrowest)));
  Vector out(steps + 1);
  for (Index i = 0; i <= steps; ++i)
    out[i] = kNarrowest * std::sqrt(static_cast<double>(head_dim)) * std::exp2(0.5 * static_cast<double>(i));
  return out;
}

Matrix projection_blocks(Index n_heads, Index head_dim, Index d, std::uint64_t seed,
                         std::optional<Index> most_per_basis) {
  if (n_heads < 1 || head_dim < 1 || head_dim > d)
    throw ArgumentError(
        fmt::format("projection_blocks: {} heads of dimension {} in {} dimensions", n_heads, head_dim, d));
  const Index per_basis = most_per_basis.value_or(d / head_dim);
  if (per_basis < 1 || per_basis > d / head_dim)
    throw ArgumentError(fmt::format("per_basis: must lie between 1 and d / head_dim = {}, it is {}",
                                    d / head_dim, per_basis));
  const Index n_bases = (n_heads + per_basis - 1) / per_basis;
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

MeanProducts mean_products(MatrixView products, Index per_basis) {
  const Index n_heads = products.rows();
  double within = 0.0, pairs_within = 0.0;
  for (Index first = 0; first < n_heads; first += per_basis) {
    const Index size = std::min(per_basis, n_heads - first);
    within += products.block(first, first, size, size).sum();
    pairs_within += static_cast<double>(size * (size - 1));
  }
  const double h = static_cast<double>(n_heads), trace = products.trace();
  const double across = products.sum() - within, pairs_across = h * (h - 1.0) - pairs_within;
  MeanProducts out{trace / h, trace / h, trace / h};
  if (pairs_within > 0.0) out.within = out.across = (within - trace) / pairs_within;
  if (pairs_across > 0.0) out.across = across / pairs_across;
  if (pairs_within == 0.0) out.within = out.across;
  return out;
}

double share_within(double n_heads, double per_basis) {
  if (n_heads <= 1.0) return 0.0;
  const double full = std::floor(n_heads / per_basis), rest = n_heads - full * per_basis;
  const double pairs = full * per_basis * (per_basis - 1.0) + rest * std::max(0.0, rest - 1.0);
  return pairs / (n_heads * (n_heads - 1.0));
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
