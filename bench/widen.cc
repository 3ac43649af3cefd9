// Rate of widening BF16 to float against the machine's copy rate in the same run, both over reused buffers
// far larger than the caches. Prints one JSON object: gigabytes read and written per second.

#include "headspan/numeric/widen.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <vector>

#include "headspan/numeric/parallel.h"

namespace {

constexpr std::size_t kElements = std::size_t{1} << 28;  // 512 MiB of BF16
constexpr std::size_t kBlock = std::size_t{1} << 20;

double best_of(int repeats, const std::function<void()>& work) {
  double best = 1e300;
  for (int i = 0; i < repeats; ++i) {
    const auto start = std::chrono::steady_clock::now();
    work();
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return best;
}

void in_blocks(std::size_t count, const std::function<void(std::size_t)>& block) {
  headspan::parallel_for(static_cast<headspan::Index>(count / kBlock),
                         [&](headspan::Index i) { block(static_cast<std::size_t>(i) * kBlock); });
}

}  // namespace

int main() {
  std::vector<std::uint16_t> in(kElements);
  std::vector<float> out(kElements), copy(kElements);
  for (std::size_t i = 0; i < kElements; ++i) in[i] = static_cast<std::uint16_t>(i * 40503U);
  const double widen = best_of(5, [&] {
    in_blocks(kElements,
              [&](std::size_t at) { headspan::widen_bf16(in.data() + at, kBlock, out.data() + at); });
  });
  for (std::size_t i = 0; i < kElements; i += 9973) {
    const std::uint32_t bits = static_cast<std::uint32_t>(in[i]) << 16;
    if (std::memcmp(&bits, &out[i], sizeof bits) != 0) {
      fmt::print(stderr, "widen_bf16 is wrong at {}\n", i);
      return 1;
    }
  }
  const double copied = best_of(5, [&] {
    in_blocks(kElements, [&](std::size_t at) {
      std::memcpy(copy.data() + at, out.data() + at, kBlock * sizeof(float));
    });
  });
  const double widen_rate = 6.0 * kElements / widen / 1e9, copy_rate = 8.0 * kElements / copied / 1e9;
  fmt::print(R"({{"widen_gb_per_s": {}, "copy_gb_per_s": {}}})"
             "\n",
             widen_rate, copy_rate);
  return 0;
}
