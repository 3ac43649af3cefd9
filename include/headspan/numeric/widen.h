#pragma once
// Storage types widened to working precision; vectorised, instruction set chosen at run time.

#include <cstddef>
#include <cstdint>

namespace headspan {

/// out[i] = value of the i-th little-endian IEEE element of `in` (any alignment). Exact for every input,
/// subnormals, infinities and NaN included.
void widen_bf16(const void* in, std::size_t count, float* out);
void widen_f16(const void* in, std::size_t count, float* out);
void widen_bf16(const void* in, std::size_t count, double* out);
void widen_f16(const void* in, std::size_t count, double* out);
void widen_f32(const void* in, std::size_t count, double* out);

}  // namespace headspan
