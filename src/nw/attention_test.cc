#include "headspan/nw/attention.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <type_traits>

#include "headspan/numeric/error.h"
#include "headspan/numeric/parallel.h"
#include "headspan/numeric/random.h"
#include "nw/attention_fixture.h"

namespace headspan::nw {
namespace {

TEST(Attention, EveryOptionIsItsDefinition) {
  for (const Variant& variant : variants()) {
    SCOPED_TRACE(variant.name);
    Call<float> single;
    Call<double> twice;
    variant.set(single.options);
    variant.set(twice.options);
    twice.dv = 32;
    single.fill();
    twice.fill();
    single.expect_as_defined(1e-5);
    twice.expect_as_defined(1e-12);
  }
}

TEST(Attention, EveryHeadDimension) {
  for (Index d = 1; d <= 130; ++d) {
    SCOPED_TRACE(d);
    Call<float> single;
    Call<double> twice;
    const auto run = [d](auto& call, double tolerance) {
      call.batch = 1, call.heads = call.kv_heads = 1, call.m = 9, call.d = d;
      call.fill();
      call.expect_as_defined(tolerance);
    };
    run(single, 1e-5);
    run(twice, 1e-12);
  }
}

// Whatever the sizes and positions, queries before the first key and beyond the last among them.
TEST(Attention, WindowsAtEveryPosition) {
  RandomStream random(11, 0);
  const auto below = [&](Index n) { return static_cast<Index>(random.uniform() * static_cast<double>(n)); };
  for (int trial = 0; trial < 300; ++trial) {
    SCOPED_TRACE(trial);
    Call<double> call;
    call.batch = 1, call.heads = 2, call.kv_heads = 1;
    call.m = 1 + below(150), call.n = 1 + below(150), call.d = 1 + below(70), call.dv = 1;
    call.options.window_left = below(40) - 1, call.options.window_right = below(40) - 1;
    call.options.query_offset = below(300) - 150;
    call.options.causal = random.uniform() < 0.5;
    if (random.uniform() < 0.3) call.options.n_keys = {below(call.n + 1)};
    call.fill();
    call.expect_as_defined(1e-12);
    call.expect_covariance_as_defined(1e-12);
  }
}

TEST(Attention, PositionsBeyondAllNumbersAreRefused) {
  Call<float> call;
  call.fill();
  call.options.query_offset = std::numeric_limits<Index>::max();
  EXPECT_THROW(attention(call.input(), call.options, call.output()), ArgumentError);
  call.options = {};
  call.options.window_left = std::numeric_limits<Index>::max();
  EXPECT_THROW(attention(call.input(), call.options, call.output()), ArgumentError);
}

// The least finite number is added, as padding often is; it hides nothing where all keys have it.
TEST(Attention, TheLeastNumberHidesOnlyBesideOthers) {
  const auto run = [](auto& call) {
    using T = std::remove_reference_t<decltype(call.out(0, 0))>;
    call.batch = 1, call.heads = call.kv_heads = 1, call.m = 3;
    call.fill();
    call.bias = RowMatrix<T>::Zero(call.m, call.n);
    call.bias.row(0).setConstant(std::numeric_limits<T>::lowest());
    call.bias.row(1).tail(call.n - 2).setConstant(std::numeric_limits<T>::lowest());
    attention(call.input(), call.options, call.output());
    EXPECT_NEAR(call.out(0, 0), call.v.col(0).mean(), 1e-5);
    EXPECT_NEAR(call.n_eff(0, 0), static_cast<double>(call.n), 1e-6);
    EXPECT_LE(call.n_eff(1, 0), 2.0);
    EXPECT_GE(call.n_eff(1, 0), 1.0);
  };
  Call<float> single;
  Call<double> twice;
  run(single);
  run(twice);
}

TEST(Attention, SinksLeaveTheEffectiveSizeAlone) {
  Call<double> call;
  call.batch = 1, call.heads = call.kv_heads = 1;
  call.fill();
  attention(call.input(), call.options, call.output());
  const Matrix without = call.n_eff;
  for (const double sink : {1.0, 60.0, 500.0, 1e5}) {
    call.options.sinks = {sink};
    attention(call.input(), call.options, call.output());
    EXPECT_LT((call.n_eff - without).cwiseAbs().maxCoeff(), 1e-9) << sink;
  }
  EXPECT_EQ(call.out(0, 0), 0.0);
  call.options.n_keys = {0};
  attention(call.input(), call.options, call.output());
  EXPECT_EQ(call.n_eff(0, 0), 0.0);
  EXPECT_EQ(call.log_normaliser(0, 0), 1e5);
}

TEST(Attention, MasksHide) {
  Call<float> call;
  call.fill();
  call.bias = definition::normal<float>(call.batch * call.heads * call.m, call.n, 4);
  call.visible = (definition::normal<float>(call.batch * call.heads * call.m, call.n, 5).array() > 0.3F)
                     .cast<unsigned char>();
  call.visible.row(7).setZero();
  call.bias.row(9).setConstant(-std::numeric_limits<float>::infinity());
  call.expect_as_defined(1e-5);
  EXPECT_EQ(call.out(7, 0), 0.0F);
  EXPECT_EQ(call.out(9, 0), 0.0F);
}

TEST(Attention, ManyKeysDoNotStall) {
  Call<float> call;
  call.batch = call.heads = call.kv_heads = 1;
  call.m = 7, call.n = 40000;
  call.fill();
  call.v.array() += 100.0F;
  call.expect_as_defined(2e-4);
}

TEST(Attention, NaNReachesOnlyWhoSeesIt) {
  for (const double odd : {std::nan(""), kInf, -kInf}) {
    Call<float> call;
    call.options.causal = true;
    call.options.query_offset = 200;
    call.fill();
    call.k(250, 2) = static_cast<float>(odd);
    call.v(300 + 230, 1) = static_cast<float>(odd);
    call.q(3, 0) = static_cast<float>(odd);
    call.expect_as_defined(1e-5);
    EXPECT_FALSE(std::isnan(call.out(49, 0)));
  }
  Call<float> query;
  query.fill();
  query.q(3, 0) = std::nanf("");
  query.expect_as_defined(1e-5);
  EXPECT_TRUE(std::isnan(query.out(3, 0)));
  EXPECT_FALSE(std::isnan(query.out(4, 0)));
}

TEST(Attention, HugeScoresStayExact) {
  Call<float> call;
  call.fill();
  call.q *= 1e20F;
  call.k *= 1e20F;
  call.expect_as_defined(1e-5);
}

TEST(Attention, LateCapKeepsHiddenKeys) {
  Call<double> call;
  call.options.soft_cap = 1.5;
  call.options.cap_after_mask = true;
  call.options.causal = true;
  call.fill();
  call.expect_as_defined(1e-12);
  EXPECT_GT(call.n_eff(0, 0), 1.0);
}

TEST(Attention, ShapesThatDisagreeAreRefused) {
  Call<float> call;
  call.fill();
  AttentionInput<float> input = call.input();
  input.value.shape[2] = 299;
  EXPECT_THROW(attention(input, call.options, call.output()), ArgumentError);
  input = call.input();
  input.query.shape[1] = 3;
  EXPECT_THROW(attention(input, call.options, call.output()), ArgumentError);
  call.options.sinks = {1.0};
  EXPECT_THROW(attention(call.input(), call.options, call.output()), ArgumentError);
}

TEST(Attention, SameBitsForAnyNumberOfThreads) {
  Call<float> call;
  call.m = 400;
  call.fill();
  RowMatrix<float> first;
  for (const int threads : {1, 2}) {
    const ThreadLimit limit(threads);
    attention(call.input(), call.options, call.output());
    if (threads == 1) first = call.out;
  }
  EXPECT_TRUE(first == call.out);
}

}  // namespace
}  // namespace headspan::nw
