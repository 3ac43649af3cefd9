// Rows of scores into weights: vector bodies of tiles.cc, compiled once per instruction set.

#if defined(HEADSPAN_NUMERIC_TILE_WEIGHTS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEADSPAN_NUMERIC_TILE_WEIGHTS_INL_H_
#undef HEADSPAN_NUMERIC_TILE_WEIGHTS_INL_H_
#else
#define HEADSPAN_NUMERIC_TILE_WEIGHTS_INL_H_
#endif

#include <hwy/highway.h>

#include <type_traits>

#include "headspan/numeric/tiles.h"

HWY_BEFORE_NAMESPACE();
namespace headspan {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// No wider than a panel: a vector never crosses the line between two panels.
template <class T>
using Tag = hn::CappedTag<T, static_cast<std::size_t>(kPanel<T>)>;

// 2^f on [-1/2, 1/2], minimax in relative error but for the constant, which is 1 so that equal scores weigh
// exactly 1: 1.5e-7 (float), 6e-18 (double).
inline constexpr float kExp2Float[] = {1.0F,
                                       0.6931469670660415684F,
                                       0.24022119724158729912F,
                                       0.055507132711929147446F,
                                       0.0096755413261877934406F,
                                       0.0013276472727472581579F};
inline constexpr double kExp2Double[] = {1.0,
                                         0.69314718055994533046,
                                         0.24022650695910156204,
                                         0.055504108664819921544,
                                         0.0096181291075883352218,
                                         0.0013333558146789935436,
                                         0.00015403530462514451054,
                                         0.000015252733489975452922,
                                         1.321543308967195582e-6,
                                         1.0178198027112659334e-7,
                                         7.0741056134994288393e-9,
                                         4.4352818921179420508e-10};

template <class T>
struct Exp2Constants;
template <>
struct Exp2Constants<float> {
  static constexpr float kLowest = -126.0F, kRound = 12582912.0F;  // 1.5 * 2^23
  static constexpr int kMantissaBits = 23, kDegree = 5;
  static constexpr const float* coefficients() { return kExp2Float; }
};
template <>
struct Exp2Constants<double> {
  static constexpr double kLowest = -1022.0, kRound = 6755399441055744.0;  // 1.5 * 2^52
  static constexpr int kMantissaBits = 52, kDegree = 11;
  static constexpr const double* coefficients() { return kExp2Double; }
};

// The larger of `lowest` and x; x where it is NaN. Max of x86 returns its second operand then, Max of other
// instruction sets the one that is a number.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V at_least(V lowest, V x) {
#if HWY_ARCH_X86 && HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128
  return hn::Max(lowest, x);
#else
  return hn::IfThenElse(hn::Lt(x, lowest), lowest, x);
#endif
}

// 2^x for x <= 127 (float) or 1023 (double). Below the normal numbers: exactly 0 where asked for, else the
// smallest normal number.
template <bool kExactZero, class D, class V = hn::Vec<D>, class T = hn::TFromD<D>>
HWY_INLINE V exp2_of(D d, V x) {
  using C = Exp2Constants<T>;
  const hn::RebindToUnsigned<D> du;
  const auto lowest = hn::Set(d, C::kLowest);
  const V clamped = at_least<D>(lowest, x);
  const V rounded = hn::Add(clamped, hn::Set(d, C::kRound));
  const V fraction = hn::Sub(clamped, hn::Sub(rounded, hn::Set(d, C::kRound)));
  V value = hn::Set(d, C::coefficients()[C::kDegree]);
  for (int i = C::kDegree; i-- > 0;) value = hn::MulAdd(value, fraction, hn::Set(d, C::coefficients()[i]));
  const auto exponent = hn::ShiftLeft<C::kMantissaBits>(hn::BitCast(du, rounded));
  const V result = hn::BitCast(d, hn::Add(hn::BitCast(du, value), exponent));
  if constexpr (kExactZero) return hn::IfThenZeroElse(hn::Le(x, lowest), result);
  return result;
}

template <TileWeight kWeight, bool kExactZero, class D, class V = hn::Vec<D>, class T = hn::TFromD<D>>
HWY_INLINE V weight_of(D d, V s) {
  if constexpr (kWeight == TileWeight::exp2) {
    return exp2_of<kExactZero>(d, s);
  } else if constexpr (kWeight == TileWeight::laplace) {
    constexpr T kLog2E = T(1.4426950408889634074);
    const V u = hn::Sqrt(hn::Max(hn::Neg(s), hn::Zero(d)));
    return exp2_of<kExactZero>(d, hn::Mul(u, hn::Set(d, -kLog2E)));
  } else if constexpr (kWeight == TileWeight::uniform) {
    return hn::IfThenElseZero(hn::Ge(s, hn::Set(d, T(-1))), hn::Set(d, T(1)));
  } else if constexpr (kWeight == TileWeight::tricube) {
    const V u2 = hn::Max(hn::Neg(s), hn::Zero(d));
    // Beyond one bandwidth u2 may be infinite, and 0 * inf must not arise.
    const V near = hn::Min(u2, hn::Set(d, T(1)));
    const V inside = hn::Sub(hn::Set(d, T(1)), hn::Mul(near, hn::Sqrt(near)));
    return hn::Mul(hn::Mul(inside, inside), inside);
  } else {
    // s may exceed 0 by rounding where a key is the query.
    const V inside = hn::Max(hn::Add(hn::Min(s, hn::Zero(d)), hn::Set(d, T(1))), hn::Zero(d));
    if constexpr (kWeight == TileWeight::epanechnikov) return inside;
    if constexpr (kWeight == TileWeight::biweight) return hn::Mul(inside, inside);
    return hn::Mul(hn::Mul(inside, inside), inside);
  }
}

// Calls body(std::integral_constant<TileWeight, weight>).
template <class Body>
HWY_INLINE auto with_weight(TileWeight weight, const Body& body) {
  switch (weight) {
    case TileWeight::laplace:
      return body(std::integral_constant<TileWeight, TileWeight::laplace>());
    case TileWeight::epanechnikov:
      return body(std::integral_constant<TileWeight, TileWeight::epanechnikov>());
    case TileWeight::biweight:
      return body(std::integral_constant<TileWeight, TileWeight::biweight>());
    case TileWeight::triweight:
      return body(std::integral_constant<TileWeight, TileWeight::triweight>());
    case TileWeight::tricube:
      return body(std::integral_constant<TileWeight, TileWeight::tricube>());
    case TileWeight::uniform:
      return body(std::integral_constant<TileWeight, TileWeight::uniform>());
    case TileWeight::exp2:
      break;
  }
  return body(std::integral_constant<TileWeight, TileWeight::exp2>());
}

template <class T>
T largest_of(const T* row, Index n) {
  const Tag<T> d;
  const Index lanes = static_cast<Index>(hn::Lanes(d));
  auto top0 = hn::Load(d, row), top1 = top0;
  for (Index i = 0; i < n; i += 2 * lanes) {
    top0 = hn::Max(top0, hn::Load(d, row + i));
    top1 = hn::Max(top1, hn::Load(d, row + i + lanes));
  }
  return hn::GetLane(hn::MaxOfLanes(d, hn::Max(top0, top1)));
}

template <class T>
void largest_rows_all(const WeightRows<T>& rows, T* top) {
  for (Index r = 0; r < rows.m; ++r) top[r] = largest_of(rows.data + r * rows.stride, rows.n);
}

template <TileWeight kWeight, class T>
HWY_INLINE RowSums<T> weigh_one(T shift, T* HWY_RESTRICT row, Index n) {
  const Tag<T> d;
  const Index lanes = static_cast<Index>(hn::Lanes(d));
  const auto minus = hn::Set(d, shift);
  auto sum0 = hn::Zero(d), sum1 = sum0, squares0 = sum0, squares1 = sum0;
  for (Index i = 0; i < n; i += 2 * lanes) {
    const auto w0 = weight_of<kWeight, true>(d, hn::Sub(hn::Load(d, row + i), minus));
    const auto w1 = weight_of<kWeight, true>(d, hn::Sub(hn::Load(d, row + i + lanes), minus));
    hn::Store(w0, d, row + i);
    hn::Store(w1, d, row + i + lanes);
    sum0 = hn::Add(sum0, w0);
    sum1 = hn::Add(sum1, w1);
    squares0 = hn::MulAdd(w0, w0, squares0);
    squares1 = hn::MulAdd(w1, w1, squares1);
  }
  return {hn::GetLane(hn::SumOfLanes(d, hn::Add(sum0, sum1))),
          hn::GetLane(hn::SumOfLanes(d, hn::Add(squares0, squares1)))};
}

template <class T>
void weigh_rows_all(TileWeight weight, const T* shift, const WeightRows<T>& rows, RowSums<T>* sums) {
  with_weight(weight, [&](auto kind) HWY_ATTR {
    for (Index r = 0; r < rows.m; ++r)
      sums[r] = weigh_one<decltype(kind)::value>(shift[r], rows.data + r * rows.stride, rows.n);
  });
}

// tanh(x) = 1 - 2 / (1 + e^2x); near zero, where that cancels, the odd series x - x^3/3 + 2x^5/15 -
// 17x^7/315.
template <class T>
void soft_cap_all(T cap, T* row, Index n) {
  const Tag<T> d;
  const Index lanes = static_cast<Index>(hn::Lanes(d));
  const auto c = hn::Set(d, cap), one = hn::Set(d, T(1)), two = hn::Set(d, T(2));
  const auto inverse = hn::Set(d, T(1) / cap);
  const T small = sizeof(T) == 4 ? T(0.1) : T(0.004);
  constexpr T kTwoLog2E = T(2.8853900817779268147);
  for (Index i = 0; i < n; i += lanes) {
    const auto x = hn::Mul(hn::Load(d, row + i), inverse);
    const auto size = hn::Abs(x);
    const auto e = exp2_of<false>(d, hn::Min(hn::Mul(size, hn::Set(d, kTwoLog2E)), hn::Set(d, T(120))));
    const auto far = hn::Sub(one, hn::Div(two, hn::Add(one, e)));
    const auto x2 = hn::Mul(x, x);
    auto series = hn::MulAdd(x2, hn::Set(d, T(-17.0 / 315.0)), hn::Set(d, T(2.0 / 15.0)));
    series = hn::MulAdd(series, x2, hn::Set(d, T(-1.0 / 3.0)));
    series = hn::MulAdd(hn::Mul(series, x2), x, x);
    const auto value = hn::IfThenElse(hn::Lt(size, hn::Set(d, small)), series, hn::CopySign(far, x));
    hn::Store(hn::Mul(value, c), d, row + i);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace headspan
HWY_AFTER_NAMESPACE();

#endif
