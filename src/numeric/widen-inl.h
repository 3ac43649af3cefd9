// Vector bodies of widen.cc, compiled once per instruction set.

#if defined(HEADSPAN_NUMERIC_WIDEN_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEADSPAN_NUMERIC_WIDEN_INL_H_
#undef HEADSPAN_NUMERIC_WIDEN_INL_H_
#else
#define HEADSPAN_NUMERIC_WIDEN_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

HWY_BEFORE_NAMESPACE();
namespace headspan {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// The elements of `d` from any address: as bytes, since a pointer to the elements themselves must be aligned.
template <class D>
HWY_INLINE hn::Vec<D> load_unaligned(D d, const std::uint8_t* in) {
  if constexpr (HWY_TARGET == HWY_SCALAR) {
    hn::TFromD<D> element;
    std::memcpy(&element, in, sizeof(element));
    return hn::Set(d, element);
  } else {
    const hn::Repartition<std::uint8_t, D> du8;
    return hn::BitCast(d, hn::LoadU(du8, in));
  }
}

// As many 16-bit elements as `df` has lanes, each in a 32-bit lane.
template <class DF>
HWY_INLINE hn::Vec<hn::RebindToUnsigned<DF>> load_16_bits(DF, const std::uint8_t* in) {
  const hn::Rebind<std::uint16_t, DF> du16;
  return hn::PromoteTo(hn::RebindToUnsigned<DF>(), load_unaligned(du16, in));
}

// bfloat16 is the upper half of a float.
template <class DF>
HWY_INLINE hn::Vec<DF> widened_bf16(DF df, const std::uint8_t* in) {
  return hn::BitCast(df, hn::ShiftLeft<16>(load_16_bits(df, in)));
}

// Integer arithmetic throughout: neither a missing F16C nor flushed subnormals nor a quieted NaN can change a
// bit.
template <class DF>
HWY_INLINE hn::Vec<DF> widened_f16(DF df, const std::uint8_t* in) {
  const hn::RebindToUnsigned<DF> du;
  const hn::RebindToSigned<DF> di;
  const auto bits = load_16_bits(df, in);
  const auto sign = hn::ShiftLeft<16>(hn::And(bits, hn::Set(du, 0x8000)));
  const auto exponent = hn::And(bits, hn::Set(du, 0x7c00));
  const auto mantissa = hn::And(bits, hn::Set(du, 0x03ff));
  const auto shifted = hn::ShiftLeft<13>(hn::Or(exponent, mantissa));
  // The exponent's bias grows from 15 to 127.
  const auto normal = hn::Add(shifted, hn::Set(du, 112u << 23));
  const auto special = hn::Or(shifted, hn::Set(du, 0x7f800000u));
  const auto subnormal =
      hn::BitCast(du, hn::Mul(hn::ConvertTo(df, hn::BitCast(di, mantissa)), hn::Set(df, 0x1p-24f)));
  const auto finite = hn::IfThenElse(hn::Eq(exponent, hn::Zero(du)), subnormal, normal);
  const auto magnitude = hn::IfThenElse(hn::Eq(exponent, hn::Set(du, 0x7c00)), special, finite);
  return hn::BitCast(df, hn::Or(sign, magnitude));
}

HWY_INLINE void store(hn::ScalableTag<float> df, hn::Vec<hn::ScalableTag<float>> value, float* out) {
  hn::StoreU(value, df, out);
}

// `df` has half the lanes of a full vector, so that their doubles fill one.
template <class DF>
HWY_INLINE void store(DF df, hn::Vec<DF> value, double* out) {
  const hn::Rebind<double, DF> dd;
  static_cast<void>(df);
  hn::StoreU(hn::PromoteTo(dd, value), dd, out);
}

// Whole vectors from `in`; the rest by way of a padded copy, so that no byte beyond the input is touched.
template <std::size_t kElementBytes, class DF, class Load, class Out>
HWY_INLINE void widen_all(DF df, const void* in, std::size_t count, Out* out, Load load) {
  const auto* from = static_cast<const std::uint8_t*>(in);
  const std::size_t lanes = hn::Lanes(df);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) store(df, load(df, from + i * kElementBytes), out + i);
  if (i == count) return;
  HWY_ALIGN std::uint8_t padded_in[HWY_MAX_BYTES] = {};
  HWY_ALIGN Out padded_out[HWY_MAX_BYTES / sizeof(float)];
  std::memcpy(padded_in, from + i * kElementBytes, (count - i) * kElementBytes);
  store(df, load(df, padded_in), padded_out);
  std::copy_n(padded_out, count - i, out + i);
}

using FullFloats = hn::ScalableTag<float>;
using HalfFloats = hn::Rebind<float, hn::ScalableTag<double>>;

void widen_bf16_to_float(const void* in, std::size_t count, float* out) {
  widen_all<2>(FullFloats(), in, count, out,
               [](auto d, const std::uint8_t* p) { return widened_bf16(d, p); });
}
void widen_f16_to_float(const void* in, std::size_t count, float* out) {
  widen_all<2>(FullFloats(), in, count, out, [](auto d, const std::uint8_t* p) { return widened_f16(d, p); });
}
void widen_bf16_to_double(const void* in, std::size_t count, double* out) {
  widen_all<2>(HalfFloats(), in, count, out,
               [](auto d, const std::uint8_t* p) { return widened_bf16(d, p); });
}
void widen_f16_to_double(const void* in, std::size_t count, double* out) {
  widen_all<2>(HalfFloats(), in, count, out, [](auto d, const std::uint8_t* p) { return widened_f16(d, p); });
}
void widen_f32_to_double(const void* in, std::size_t count, double* out) {
  widen_all<4>(HalfFloats(), in, count, out,
               [](auto d, const std::uint8_t* p) { return load_unaligned(d, p); });
}

}  // namespace HWY_NAMESPACE
}  // namespace headspan
HWY_AFTER_NAMESPACE();

#endif
