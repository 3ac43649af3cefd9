#include "headspan/numeric/widen.h"

#include <bit>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "numeric/widen.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "numeric/widen-inl.h"

#if HWY_ONCE

static_assert(std::endian::native == std::endian::little,
              "stored elements are little-endian and are not swapped");

namespace headspan {
namespace {

HWY_EXPORT(widen_bf16_to_float);
HWY_EXPORT(widen_f16_to_float);
HWY_EXPORT(widen_bf16_to_double);
HWY_EXPORT(widen_f16_to_double);
HWY_EXPORT(widen_f32_to_double);

}  // namespace

void widen_bf16(const void* in, std::size_t count, float* out) {
  HWY_DYNAMIC_DISPATCH(widen_bf16_to_float)(in, count, out);
}
void widen_f16(const void* in, std::size_t count, float* out) {
  HWY_DYNAMIC_DISPATCH(widen_f16_to_float)(in, count, out);
}
void widen_bf16(const void* in, std::size_t count, double* out) {
  HWY_DYNAMIC_DISPATCH(widen_bf16_to_double)(in, count, out);
}
void widen_f16(const void* in, std::size_t count, double* out) {
  HWY_DYNAMIC_DISPATCH(widen_f16_to_double)(in, count, out);
}
void widen_f32(const void* in, std::size_t count, double* out) {
  HWY_DYNAMIC_DISPATCH(widen_f32_to_double)(in, count, out);
}

}  // namespace headspan

#endif
