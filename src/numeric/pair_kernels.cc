// Thirteen kernels make a large unit, and SSSE3 and AVX3_DL differ from their neighbours in nothing used
// here; the vectors of SVE have no size, so that the bodies' arrays of them do not exist there: NEON serves.
#ifndef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
#endif

#include "headspan/numeric/pair_kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>
#include <vector>

#include "headspan/numeric/error.h"
#include "headspan/numeric/parallel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "numeric/pair_kernels.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "numeric/pair_kernels-inl.h"

#if HWY_ONCE

namespace headspan {
namespace {

HWY_EXPORT(pair_block);
HWY_EXPORT(pair_slopes_block);
HWY_EXPORT(pair_gradient_rows);

/// A copy of the points whose rows end in padding that a whole vector may read.
struct PaddedPoints {
  Matrix columns;
  Vector scale, values;
};

Vector padded(VectorView values, Index stride) {
  Vector all = Vector::Zero(stride);
  all.head(values.size()) = values;
  return all;
}

double scale_of(PairKernel kernel, double h) {
  switch (kernel) {
    case PairKernel::gaussian:
      return std::sqrt(0.5 * std::numbers::log2e) / h;
    case PairKernel::laplace:
    case PairKernel::laplace_product:
      return std::numbers::log2e / h;
    case PairKernel::uniform:
    case PairKernel::uniform_product:
      return h;
    default:
      return 1.0 / h;
  }
}

PaddedPoints pad(const PairPoints& points) {
  const Index d = points.columns.rows(), n = points.columns.cols();
  if (points.bandwidth.size() != d || points.values.size() != n)
    throw ArgumentError(fmt::format("pairs: columns [{}, {}], {} bandwidths, {} values", d, n,
                                    points.bandwidth.size(), points.values.size()));
  const Index stride = n + static_cast<Index>(kPairLanes);
  PaddedPoints all{Matrix::Zero(d, stride), Vector(d), padded(points.values, stride)};
  all.columns.leftCols(n) = points.columns;
  for (Index k = 0; k < d; ++k) all.scale[k] = scale_of(points.kernel, points.bandwidth[k]);
  return all;
}

PairBlock block_at(const PaddedPoints& points, Index n, Index rows, Index columns) {
  const std::size_t count = static_cast<std::size_t>(n);
  const std::size_t i0 = static_cast<std::size_t>(rows) * kPairBlock,
                    j0 = static_cast<std::size_t>(columns) * kPairBlock;
  return {.columns = points.columns.data(),
          .stride = static_cast<std::size_t>(points.columns.cols()),
          .d = static_cast<std::size_t>(points.columns.rows()),
          .scale = points.scale.data(),
          .values = points.values.data(),
          .i0 = i0,
          .ni = std::min(kPairBlock, count - i0),
          .j0 = j0,
          .nj = std::min(kPairBlock, count - j0),
          .diagonal = rows == columns};
}

Index n_blocks(Index n) { return (n + static_cast<Index>(kPairBlock) - 1) / static_cast<Index>(kPairBlock); }

/// Visits every unordered pair of blocks once, as a round-robin tournament: in one round no block is row
/// twice or column twice, so the visits of a round may add to shared totals in parallel, and the order in
/// which a total grows is that of the rounds.
void tournament(Index blocks, const std::function<void(Index rows, Index columns)>& visit) {
  for (Index round = 0; 2 * round <= blocks; ++round) {
    const bool half = 2 * round == blocks;  // each pair would meet twice
    if (half && round == 0) return;
    parallel_for(half ? round : blocks, [&](Index rows) { visit(rows, (rows + round) % blocks); });
  }
}

}  // namespace

bool has_slopes(PairKernel kernel) {
  return kernel == PairKernel::gaussian || kernel == PairKernel::laplace ||
         kernel == PairKernel::laplace_product;
}

PairSums pair_sums(const PairPoints& points, bool with_squares) {
  const PaddedPoints all = pad(points);
  const Index n = points.values.size(), stride = all.columns.cols();
  Matrix totals = Matrix::Zero(6, stride);
  const auto total = [&](Index row) { return totals.row(row).data(); };
  const PairTotals to{total(0), total(1), total(2), total(3), total(4), total(5)};
  tournament(n_blocks(n), [&](Index rows, Index columns) {
    HWY_DYNAMIC_DISPATCH(pair_block)(points.kernel, block_at(all, n, rows, columns), to, with_squares);
  });
  const auto both = [&](Index row) -> Vector {
    return (totals.row(row) + totals.row(row + 3)).head(n).transpose();
  };
  return {both(0), both(1), with_squares ? both(2) : Vector()};
}

namespace {

void check_derivatives(const PairPoints& points, VectorView p, VectorView q) {
  if (!has_slopes(points.kernel))
    throw ArgumentError("pairs: derivatives are offered for gaussian and laplace weights only");
  if (p.size() != points.values.size() || q.size() != points.values.size())
    throw ArgumentError(
        fmt::format("pairs: {} and {} derivatives of {} points", p.size(), q.size(), points.values.size()));
}

/// The bodies scale differences so that weights are powers of two; this takes their derivatives back.
double derivative_unit(PairKernel kernel) {
  return kernel == PairKernel::gaussian ? 2.0 * std::numbers::ln2 : std::numbers::ln2;
}

Vector sums_of_lanes(const Vector& lanes, Index count) {
  return lanes.reshaped(static_cast<Index>(kPairLanes), count).colwise().sum().transpose();
}

}  // namespace

Vector pair_slopes(const PairPoints& points, VectorView p, VectorView q) {
  check_derivatives(points, p, q);
  const PaddedPoints all = pad(points);
  const Index n = points.values.size(), d = points.columns.rows(), blocks = n_blocks(n);
  const Vector pp = padded(p, all.columns.cols()), qq = padded(q, all.columns.cols());
  Matrix lanes = Matrix::Zero(blocks, d * static_cast<Index>(kPairLanes));
  tournament(blocks, [&](Index rows, Index columns) {
    HWY_DYNAMIC_DISPATCH(pair_slopes_block)
    (points.kernel, block_at(all, n, rows, columns), pp.data(), qq.data(), lanes.row(rows).data());
  });
  return derivative_unit(points.kernel) * sums_of_lanes(lanes.colwise().sum(), d);
}

Matrix pair_gradient(const PairPoints& points, VectorView p, VectorView q) {
  check_derivatives(points, p, q);
  const PaddedPoints all = pad(points);
  const Index n = points.values.size(), d = points.columns.rows();
  const Vector pp = padded(p, all.columns.cols()), qq = padded(q, all.columns.cols());
  Matrix gradient(d, n);
  parallel_for(n_blocks(n), [&](Index block) {
    PairBlock group = block_at(all, n, block, 0);
    group.nj = static_cast<std::size_t>(n);
    for (std::size_t left = group.ni; left > 0; left -= group.ni, group.i0 += group.ni) {
      group.ni = left >= 4 ? 4 : 1;
      Vector lanes = Vector::Zero(static_cast<Index>(group.ni * group.d * kPairLanes));
      HWY_DYNAMIC_DISPATCH(pair_gradient_rows)(points.kernel, group, pp.data(), qq.data(), lanes.data());
      gradient.middleCols(static_cast<Index>(group.i0), static_cast<Index>(group.ni)) =
          sums_of_lanes(lanes, static_cast<Index>(group.ni) * d).reshaped(d, static_cast<Index>(group.ni));
    }
  });
  // Differences were multiplied by the scale once; the derivative of a scaled difference is the scale again.
  return (derivative_unit(points.kernel) * all.scale).asDiagonal() * gradient;
}

}  // namespace headspan

#endif  // HWY_ONCE
