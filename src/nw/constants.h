#pragma once

#include <limits>
#include <numbers>

namespace headspan::nw {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
inline constexpr double kLog2E = std::numbers::log2e;
inline constexpr double kLn2 = std::numbers::ln2;

}  // namespace headspan::nw
