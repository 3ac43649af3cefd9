// Vector bodies of pair_kernels.cc, compiled once per instruction set.

#if defined(HEADSPAN_NUMERIC_PAIR_KERNELS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEADSPAN_NUMERIC_PAIR_KERNELS_INL_H_
#undef HEADSPAN_NUMERIC_PAIR_KERNELS_INL_H_
#else
#define HEADSPAN_NUMERIC_PAIR_KERNELS_INL_H_
#endif

#include <hwy/highway.h>

#include "headspan/numeric/pair_kernels.h"
#include "numeric/pair_kernels.h"

HWY_BEFORE_NAMESPACE();
namespace headspan {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using Doubles = hn::CappedTag<double, kPairLanes>;
using Lane = hn::Vec<Doubles>;
using K = PairKernel;

// 2^-t for t >= 0, within one unit of rounding of the stored t; see docs/decisions for why not the library's.
// Adding 1.5 2^52 + 1023 rounds -t to an integer n and leaves n + 1023, the exponent of 2^n, in the low bits.
HWY_INLINE Lane exp2_of_minus(Lane t) {
  const Doubles d;
  const hn::RebindToUnsigned<Doubles> du;
  const Lane magic = hn::Set(d, 0x1.8p52 + 1023.0);
  const Lane x = hn::Max(hn::Neg(t), hn::Set(d, -1021.0));
  const Lane rounded = hn::Add(x, magic);
  const Lane f = hn::Sub(x, hn::Sub(rounded, magic));
  const Lane f2 = hn::Mul(f, f);
  // Interpolation of 2^f on [-1/2, 1/2] at Chebyshev nodes, degree 11: relative error 2e-17. Even and odd
  // powers apart, for two shorter chains.
  Lane even = hn::Set(d, 0x1.e6228acd1c6e5p-28), odd = hn::Set(d, 0x1.e9ec1fcb69a7fp-32);
  even = hn::MulAdd(even, f2, hn::Set(d, 0x1.62bfc2c86d700p-20));
  odd = hn::MulAdd(odd, f2, hn::Set(d, 0x1.b524ebd13a55fp-24));
  even = hn::MulAdd(even, f2, hn::Set(d, 0x1.430913112c61bp-13));
  odd = hn::MulAdd(odd, f2, hn::Set(d, 0x1.ffcbfc6da6ed1p-17));
  even = hn::MulAdd(even, f2, hn::Set(d, 0x1.3b2ab6fb9f1a5p-7));
  odd = hn::MulAdd(odd, f2, hn::Set(d, 0x1.5d87fe78a3f9cp-10));
  even = hn::MulAdd(even, f2, hn::Set(d, 0x1.ebfbdff82c5aep-3));
  odd = hn::MulAdd(odd, f2, hn::Set(d, 0x1.c6b08d704a0c6p-5));
  even = hn::MulAdd(even, f2, hn::Set(d, 1.0));
  odd = hn::MulAdd(odd, f2, hn::Set(d, 0x1.62e42fefa39efp-1));
  const Lane power = hn::BitCast(d, hn::ShiftLeft<52>(hn::BitCast(du, rounded)));
  return hn::Mul(hn::MulAdd(odd, f, even), power);
}

constexpr bool is_uniform(K kernel) { return kernel == K::uniform || kernel == K::uniform_product; }
constexpr bool is_product_of_bumps(K kernel) { return kernel >= K::epanechnikov_product; }

// (1 - v)+ to the kernel's power.
template <K kKernel>
HWY_INLINE Lane bump(Lane u2) {
  const Doubles d;
  const Lane one = hn::Set(d, 1.0);
  if constexpr (is_uniform(kKernel)) {
    return hn::IfThenElseZero(hn::Le(u2, one), one);
  } else {
    constexpr bool kCubic = kKernel == K::tricube || kKernel == K::tricube_product;
    const Lane v = kCubic ? hn::Mul(u2, hn::Sqrt(u2)) : u2;
    const Lane inside = hn::Max(hn::Zero(d), hn::Sub(one, v));
    if constexpr (kKernel == K::epanechnikov || kKernel == K::epanechnikov_product) return inside;
    const Lane squared = hn::Mul(inside, inside);
    if constexpr (kKernel == K::biweight || kKernel == K::biweight_product) return squared;
    return hn::Mul(squared, inside);
  }
}

template <K kKernel>
HWY_INLINE Lane scaled_difference(const PairBlock& block, std::size_t k, Lane column, double at) {
  const Doubles d;
  const Lane difference = hn::Sub(column, hn::Set(d, at));
  const Lane scale = hn::Set(d, block.scale[k]);
  // By division for the uniform kernel, which jumps at exactly one bandwidth.
  if constexpr (is_uniform(kKernel)) return hn::Div(difference, scale);
  return hn::Mul(difference, scale);
}

// What the weight is a function of, from all coordinates of points i and j..: the sum of squares or of
// absolute values of the scaled differences, or already the product of weights. R rows at once, so that every
// column is read once for R of them and R independent chains hide the latency of the polynomial.
template <K kKernel, int R>
HWY_INLINE void distances(const PairBlock& block, std::size_t i, std::size_t j, Lane (&out)[R]) {
  const Doubles d;
  for (int r = 0; r < R; ++r) out[r] = is_product_of_bumps(kKernel) ? hn::Set(d, 1.0) : hn::Zero(d);
  for (std::size_t k = 0; k < block.d; ++k) {
    const double* at = block.columns + k * block.stride;
    const Lane column = hn::LoadU(d, at + j);
    for (int r = 0; r < R; ++r) {
      const Lane u = scaled_difference<kKernel>(block, k, column, at[i + static_cast<std::size_t>(r)]);
      if constexpr (is_product_of_bumps(kKernel))
        out[r] = hn::Mul(out[r], bump<kKernel>(hn::Mul(u, u)));
      else if constexpr (kKernel == K::laplace_product)
        out[r] = hn::Add(out[r], hn::Abs(u));
      else
        out[r] = hn::MulAdd(u, u, out[r]);
    }
  }
}

template <K kKernel>
HWY_INLINE Lane weight_of(Lane distance) {
  if constexpr (kKernel == K::gaussian || kKernel == K::laplace_product) return exp2_of_minus(distance);
  if constexpr (kKernel == K::laplace) return exp2_of_minus(hn::Sqrt(distance));
  if constexpr (is_product_of_bumps(kKernel)) return distance;
  return bump<kKernel>(distance);
}

// The lanes that are other points than i: not beyond the block, and not i itself.
HWY_INLINE Lane other_points_only(const PairBlock& block, std::size_t i, std::size_t j, Lane weight) {
  const Doubles d;
  const Lane lane = hn::Iota(d, static_cast<double>(j));
  const auto other = hn::And(hn::Lt(lane, hn::Set(d, static_cast<double>(block.j0 + block.nj))),
                             hn::Ne(lane, hn::Set(d, static_cast<double>(i))));
  return hn::IfThenElseZero(other, weight);
}

template <bool kSquares, int R>
struct RowSums {
  Lane weight[R], value[R], square[R];
};

template <K kKernel, bool kSquares, bool kMasked, int R>
HWY_INLINE void add_lanes(const PairBlock& block, const PairTotals& to, std::size_t i, std::size_t j,
                          RowSums<kSquares, R>& rows) {
  const Doubles d;
  Lane w[R];
  distances<kKernel, R>(block, i, j, w);
  for (int r = 0; r < R; ++r) {
    w[r] = weight_of<kKernel>(w[r]);
    if constexpr (kMasked) w[r] = other_points_only(block, i + static_cast<std::size_t>(r), j, w[r]);
  }
  const Lane values = hn::LoadU(d, block.values + j);
  for (int r = 0; r < R; ++r) {
    rows.weight[r] = hn::Add(rows.weight[r], w[r]);
    rows.value[r] = hn::MulAdd(w[r], values, rows.value[r]);
    if constexpr (kSquares) rows.square[r] = hn::MulAdd(w[r], w[r], rows.square[r]);
  }
  if (kMasked && block.diagonal) return;
  Lane weight = hn::LoadU(d, to.column_weight + j), value = hn::LoadU(d, to.column_value + j);
  for (int r = 0; r < R; ++r) {
    weight = hn::Add(weight, w[r]);
    value = hn::MulAdd(w[r], hn::Set(d, block.values[i + static_cast<std::size_t>(r)]), value);
  }
  hn::StoreU(weight, d, to.column_weight + j);
  hn::StoreU(value, d, to.column_value + j);
  if constexpr (kSquares) {
    Lane square = hn::LoadU(d, to.column_square + j);
    for (int r = 0; r < R; ++r) square = hn::MulAdd(w[r], w[r], square);
    hn::StoreU(square, d, to.column_square + j);
  }
}

template <K kKernel, bool kSquares, int R>
HWY_INLINE void add_rows(const PairBlock& block, const PairTotals& to, std::size_t i) {
  const Doubles d;
  const std::size_t lanes = hn::Lanes(d), end = block.j0 + block.nj;
  RowSums<kSquares, R> rows;
  for (int r = 0; r < R; ++r) rows.weight[r] = rows.value[r] = rows.square[r] = hn::Zero(d);
  std::size_t j = block.j0;
  if (!block.diagonal)
    for (; j + lanes <= end; j += lanes) add_lanes<kKernel, kSquares, false>(block, to, i, j, rows);
  for (; j < end; j += lanes) add_lanes<kKernel, kSquares, true>(block, to, i, j, rows);
  for (int r = 0; r < R; ++r) {
    const std::size_t row = i + static_cast<std::size_t>(r);
    to.row_weight[row] += hn::GetLane(hn::SumOfLanes(d, rows.weight[r]));
    to.row_value[row] += hn::GetLane(hn::SumOfLanes(d, rows.value[r]));
    if constexpr (kSquares) to.row_square[row] += hn::GetLane(hn::SumOfLanes(d, rows.square[r]));
  }
}

template <K kKernel, bool kSquares>
void add_block(const PairBlock& block, const PairTotals& to) {
  std::size_t i = block.i0;
  const std::size_t end = block.i0 + block.ni;
  for (; i + 4 <= end; i += 4) add_rows<kKernel, kSquares, 4>(block, to, i);
  for (; i < end; ++i) add_rows<kKernel, kSquares, 1>(block, to, i);
}

template <bool kSquares>
void add_block_of(K kernel, const PairBlock& block, const PairTotals& to) {
  switch (kernel) {
#define HEADSPAN_CASE(name) \
  case K::name:             \
    return add_block<K::name, kSquares>(block, to)
    HEADSPAN_CASE(gaussian);
    HEADSPAN_CASE(laplace);
    HEADSPAN_CASE(epanechnikov);
    HEADSPAN_CASE(biweight);
    HEADSPAN_CASE(triweight);
    HEADSPAN_CASE(tricube);
    HEADSPAN_CASE(uniform);
    HEADSPAN_CASE(laplace_product);
    HEADSPAN_CASE(epanechnikov_product);
    HEADSPAN_CASE(biweight_product);
    HEADSPAN_CASE(triweight_product);
    HEADSPAN_CASE(tricube_product);
    HEADSPAN_CASE(uniform_product);
#undef HEADSPAN_CASE
  }
}

void pair_block(K kernel, const PairBlock& block, const PairTotals& to, bool squares) {
  squares ? add_block_of<true>(kernel, block, to) : add_block_of<false>(kernel, block, to);
}

// w_ij (p_i + p_j + q_i values_j + q_j values_i), for laplace over the length of the scaled difference: what
// derivatives of every coordinate share.
template <K kKernel, int R>
HWY_INLINE void coefficients(const PairBlock& block, const double* p, const double* q, std::size_t i,
                             std::size_t j, Lane (&out)[R]) {
  const Doubles d;
  distances<kKernel, R>(block, i, j, out);
  const Lane pj = hn::LoadU(d, p + j), qj = hn::LoadU(d, q + j), values = hn::LoadU(d, block.values + j);
  for (int r = 0; r < R; ++r) {
    const std::size_t row = i + static_cast<std::size_t>(r);
    const Lane length = hn::Sqrt(out[r]);
    Lane w = weight_of<kKernel>(out[r]);
    if constexpr (kKernel == K::laplace)
      w = hn::IfThenElseZero(hn::Gt(length, hn::Zero(d)), hn::Div(w, length));
    Lane g = hn::Add(pj, hn::Set(d, p[row]));
    g = hn::MulAdd(values, hn::Set(d, q[row]), g);
    g = hn::MulAdd(qj, hn::Set(d, block.values[row]), g);
    out[r] = hn::Mul(w, g);
  }
}

// Each pair once: in the diagonal block, later points only.
HWY_INLINE Lane later_points_only(const PairBlock& block, std::size_t i, std::size_t j, Lane value) {
  const Doubles d;
  const double after = block.diagonal ? static_cast<double>(i) : -1.0;
  const auto later = hn::Gt(hn::Iota(d, static_cast<double>(j)), hn::Set(d, after));
  return hn::IfThenElseZero(later, other_points_only(block, i, j, value));
}

// One group of rows of pair_slopes_block: dw/dlog h_k = w u_k^2 (gaussian), w u_k^2 / u (laplace), w u_k
// (product of laplaces).
template <K kKernel, bool kMasked, int R>
HWY_INLINE void add_slopes(const PairBlock& block, const double* p, const double* q, std::size_t i,
                           std::size_t j, double* slopes) {
  const Doubles d;
  Lane w[R];
  coefficients<kKernel, R>(block, p, q, i, j, w);
  if constexpr (kMasked)
    for (int r = 0; r < R; ++r) w[r] = later_points_only(block, i + static_cast<std::size_t>(r), j, w[r]);
  for (std::size_t k = 0; k < block.d; ++k) {
    const double* at = block.columns + k * block.stride;
    const Lane column = hn::LoadU(d, at + j);
    double* to = slopes + k * kPairLanes;
    Lane sum = hn::LoadU(d, to);
    for (int r = 0; r < R; ++r) {
      const Lane u = scaled_difference<kKernel>(block, k, column, at[i + static_cast<std::size_t>(r)]);
      if constexpr (kKernel == K::laplace_product)
        sum = hn::MulAdd(w[r], hn::Abs(u), sum);
      else
        sum = hn::MulAdd(w[r], hn::Mul(u, u), sum);
    }
    hn::StoreU(sum, d, to);
  }
}

template <K kKernel, int R>
HWY_INLINE void add_row_slopes(const PairBlock& block, const double* p, const double* q, std::size_t i,
                               double* slopes) {
  const std::size_t lanes = hn::Lanes(Doubles()), end = block.j0 + block.nj;
  std::size_t j = block.j0;
  if (!block.diagonal)
    for (; j + lanes <= end; j += lanes) add_slopes<kKernel, false, R>(block, p, q, i, j, slopes);
  for (; j < end; j += lanes) add_slopes<kKernel, true, R>(block, p, q, i, j, slopes);
}

template <K kKernel>
void add_block_slopes(const PairBlock& block, const double* p, const double* q, double* slopes) {
  std::size_t i = block.i0;
  const std::size_t end = block.i0 + block.ni;
  for (; i + 4 <= end; i += 4) add_row_slopes<kKernel, 4>(block, p, q, i, slopes);
  for (; i < end; ++i) add_row_slopes<kKernel, 1>(block, p, q, i, slopes);
}

// Adds to slopes[k], kPairLanes numbers each, which are to be summed.
void pair_slopes_block(K kernel, const PairBlock& block, const double* p, const double* q, double* slopes) {
  if (kernel == K::gaussian) return add_block_slopes<K::gaussian>(block, p, q, slopes);
  if (kernel == K::laplace) return add_block_slopes<K::laplace>(block, p, q, slopes);
  add_block_slopes<K::laplace_product>(block, p, q, slopes);
}

// Adds, for R rows and one vector of columns, w g times the scaled difference (its sign, for the product of
// laplaces) of every coordinate; lanes[r][k] holds kPairLanes numbers to be summed.
template <K kKernel, int R>
HWY_INLINE void add_gradient(const PairBlock& block, const double* p, const double* q, std::size_t i,
                             std::size_t j, bool masked, double* lanes) {
  const Doubles d;
  Lane w[R];
  coefficients<kKernel, R>(block, p, q, i, j, w);
  if (masked)
    for (int r = 0; r < R; ++r) w[r] = other_points_only(block, i + static_cast<std::size_t>(r), j, w[r]);
  for (std::size_t k = 0; k < block.d; ++k) {
    const double* at = block.columns + k * block.stride;
    const Lane column = hn::LoadU(d, at + j);
    for (int r = 0; r < R; ++r) {
      double* to = lanes + (static_cast<std::size_t>(r) * block.d + k) * kPairLanes;
      Lane u = scaled_difference<kKernel>(block, k, column, at[i + static_cast<std::size_t>(r)]);
      if constexpr (kKernel == K::laplace_product)
        u = hn::IfThenElseZero(hn::Ne(u, hn::Zero(d)), hn::CopySign(hn::Set(d, 1.0), u));
      hn::StoreU(hn::MulAdd(w[r], u, hn::LoadU(d, to)), d, to);
    }
  }
}

template <K kKernel, int R>
HWY_INLINE void add_row_gradient(const PairBlock& block, const double* p, const double* q, std::size_t i,
                                 double* lanes) {
  const std::size_t width = hn::Lanes(Doubles()), end = block.j0 + block.nj;
  for (std::size_t j = block.j0; j < end; j += width) {
    const bool masked = j + width > end || (j < i + R && i < j + width);
    add_gradient<kKernel, R>(block, p, q, i, j, masked, lanes);
  }
}

// The lanes of a group of block.ni (4 or 1) rows.
template <K kKernel>
void add_group_gradient(const PairBlock& block, const double* p, const double* q, double* lanes) {
  if (block.ni == 4) return add_row_gradient<kKernel, 4>(block, p, q, block.i0, lanes);
  add_row_gradient<kKernel, 1>(block, p, q, block.i0, lanes);
}

void pair_gradient_rows(K kernel, const PairBlock& block, const double* p, const double* q, double* lanes) {
  if (kernel == K::gaussian) return add_group_gradient<K::gaussian>(block, p, q, lanes);
  if (kernel == K::laplace) return add_group_gradient<K::laplace>(block, p, q, lanes);
  add_group_gradient<K::laplace_product>(block, p, q, lanes);
}

}  // namespace HWY_NAMESPACE
}  // namespace headspan
HWY_AFTER_NAMESPACE();

#endif
