#include "headspan/numeric/widen.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "numeric/every_target.h"
#include "numeric/reference.h"

namespace headspan {
namespace {

std::vector<std::uint16_t> all_16_bits() {
  std::vector<std::uint16_t> all(1 << 16);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::uint16_t>(i);
  return all;
}

template <class Out>
bool same_value(Out have, double want) {
  if (std::isnan(want)) return std::isnan(have);
  return double{have} == want && std::signbit(have) == std::signbit(want);
}

template <class Out>
void expect_all(void (*widen)(const void*, std::size_t, Out*), double (*reference)(std::uint16_t)) {
  const std::vector<std::uint16_t> in = all_16_bits();
  on_every_target([&] {
    std::vector<Out> out(in.size());
    widen(in.data(), in.size(), out.data());
    std::size_t n_wrong = 0;
    std::size_t first_wrong = 0;
    for (std::size_t i = in.size(); i-- > 0;)
      if (!same_value(out[i], reference(in[i]))) {
        ++n_wrong;
        first_wrong = i;
      }
    EXPECT_EQ(n_wrong, 0U) << "first: bits " << first_wrong << " gave " << out[first_wrong];
  });
}

TEST(Reference, KnownValues) {
  EXPECT_EQ(reference::value_of_f16(0x3c00), 1.0);
  EXPECT_EQ(reference::value_of_f16(0x7bff), 65504.0);
  EXPECT_EQ(reference::value_of_f16(0x0001), 0x1p-24);
  EXPECT_EQ(reference::value_of_f16(0xfc00), -std::numeric_limits<double>::infinity());
  EXPECT_EQ(reference::value_of_bf16(0x3f80), 1.0);
  EXPECT_EQ(reference::value_of_bf16(0xc049), -3.140625);
  EXPECT_EQ(reference::value_of_bf16(0x0001), 0x1p-133);
  EXPECT_TRUE(std::isnan(reference::value_of_bf16(0x7f81)));
}

TEST(Widen, EveryBf16ToFloat) { expect_all<float>(widen_bf16, reference::value_of_bf16); }
TEST(Widen, EveryBf16ToDouble) { expect_all<double>(widen_bf16, reference::value_of_bf16); }
TEST(Widen, EveryF16ToFloat) { expect_all<float>(widen_f16, reference::value_of_f16); }
TEST(Widen, EveryF16ToDouble) { expect_all<double>(widen_f16, reference::value_of_f16); }

TEST(Widen, F32ToDoubleKeepsEveryClassOfValue) {
  std::vector<float> in;
  // Steps through all exponents and both signs, subnormals, infinities and NaN included.
  for (std::uint64_t bits = 0; bits <= 0xffffffffU; bits += 65521)
    in.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  for (const std::uint32_t bits : {0U, 0x80000000U, 1U, 0x807fffffU, 0x7f800000U, 0xff800000U, 0x7fc00000U})
    in.push_back(std::bit_cast<float>(bits));
  on_every_target([&] {
    std::vector<double> out(in.size());
    widen_f32(in.data(), in.size(), out.data());
    std::size_t n_wrong = 0;
    for (std::size_t i = 0; i < in.size(); ++i) n_wrong += same_value(out[i], in[i]) ? 0 : 1;
    EXPECT_EQ(n_wrong, 0U);
  });
}

// Every count around the widest vector, every alignment of the input, and not one element more than asked
// for.
template <class Stored, class Out>
void expect_exact_extent(void (*widen)(const void*, std::size_t, Out*), Stored one) {
  constexpr std::size_t kMost = 70;
  on_every_target([&] {
    for (std::size_t shift = 0; shift < 9; ++shift)
      for (std::size_t count = 0; count <= kMost; ++count) {
        // The input ends where its allocation ends, so that an address sanitizer sees any byte read beyond.
        std::vector<unsigned char> in(shift + count * sizeof(Stored));
        for (std::size_t i = 0; i < count; ++i)
          std::memcpy(in.data() + shift + i * sizeof(Stored), &one, sizeof(Stored));
        std::vector<Out> out(count + 1, Out{-7});
        widen(in.data() + shift, count, out.data());
        for (std::size_t i = 0; i < count; ++i)
          ASSERT_EQ(out[i], Out{1}) << shift << " " << count << " " << i;
        ASSERT_EQ(out[count], Out{-7}) << shift << " " << count;
      }
  });
}

TEST(Widen, WritesExactlyTheCountFromAnyAddress) {
  expect_exact_extent<std::uint16_t, float>(widen_bf16, 0x3f80);
  expect_exact_extent<std::uint16_t, double>(widen_bf16, 0x3f80);
  expect_exact_extent<std::uint16_t, float>(widen_f16, 0x3c00);
  expect_exact_extent<std::uint16_t, double>(widen_f16, 0x3c00);
  expect_exact_extent<float, double>(widen_f32, 1.0F);
}

}  // namespace
}  // namespace headspan
