#pragma once
// Slow scalar twins of the vector kernels, written from the definitions: what tests compare against.

#include <cmath>
#include <cstdint>
#include <limits>

namespace headspan::reference {

/// Value of an IEEE binary format of 16 bits with `mantissa_bits`: (-1)^s 2^(e-bias) 1.m, subnormals
/// 2^(1-bias) 0.m.
inline double value_of_16_bits(std::uint16_t bits, int mantissa_bits) {
  const int exponent_bits = 15 - mantissa_bits;
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int exponent = (bits >> mantissa_bits) & ((1 << exponent_bits) - 1);
  const int mantissa = bits & ((1 << mantissa_bits) - 1);
  const double sign = (bits & 0x8000) != 0 ? -1.0 : 1.0;
  if (exponent == (1 << exponent_bits) - 1)
    return sign * (mantissa != 0 ? std::numeric_limits<double>::quiet_NaN()
                                 : std::numeric_limits<double>::infinity());
  if (exponent == 0) return sign * std::ldexp(mantissa, 1 - bias - mantissa_bits);
  return sign * std::ldexp(mantissa + (1 << mantissa_bits), exponent - bias - mantissa_bits);
}

inline double value_of_bf16(std::uint16_t bits) { return value_of_16_bits(bits, 7); }
inline double value_of_f16(std::uint16_t bits) { return value_of_16_bits(bits, 10); }

}  // namespace headspan::reference
