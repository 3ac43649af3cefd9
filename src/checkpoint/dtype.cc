#include "checkpoint/dtype.h"

#include <array>
#include <string_view>

namespace headspan::checkpoint {
namespace {

struct KnownDtype {
  std::string_view name;
  int bits;
  double unit_roundoff;  // 0: not read
};

constexpr std::array kKnown{
    KnownDtype{"F64", 64, 0x1p-53},  KnownDtype{"F32", 32, 0x1p-24}, KnownDtype{"F16", 16, 0x1p-11},
    KnownDtype{"BF16", 16, 0x1p-8},  KnownDtype{"BOOL", 8, 0},       KnownDtype{"U8", 8, 0},
    KnownDtype{"I8", 8, 0},          KnownDtype{"U16", 16, 0},       KnownDtype{"I16", 16, 0},
    KnownDtype{"U32", 32, 0},        KnownDtype{"I32", 32, 0},       KnownDtype{"U64", 64, 0},
    KnownDtype{"I64", 64, 0},        KnownDtype{"C64", 64, 0},       KnownDtype{"F4", 4, 0},
    KnownDtype{"F6_E2M3", 6, 0},     KnownDtype{"F6_E3M2", 6, 0},    KnownDtype{"F8_E4M3", 8, 0},
    KnownDtype{"F8_E5M2", 8, 0},     KnownDtype{"F8_E8M0", 8, 0},    KnownDtype{"F8_E4M3FNUZ", 8, 0},
    KnownDtype{"F8_E5M2FNUZ", 8, 0},
};

}  // namespace

Dtype dtype_named(const std::string& name) {
  for (const KnownDtype& known : kKnown)
    if (known.name == name) return {name, known.bits, known.unit_roundoff > 0, known.unit_roundoff};
  return {name, 0, false, 0.0};
}

std::string readable_dtypes() { return "F64, F32, F16 and BF16"; }

}  // namespace headspan::checkpoint
