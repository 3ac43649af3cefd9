#include "headspan/nw/attention.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <type_traits>

#include "headspan/numeric/error.h"
#include "headspan/numeric/parallel.h"
#include "headspan/numeric/random.h"
#include "headspan/nw/covariance.h"
#include "nw/attention_plan.h"
#include "nw/definition.h"

namespace headspan::nw {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

template <class S>
std::array<Index, 4> dense(const std::array<Index, 4>& shape) {
  return {shape[1] * shape[2] * shape[3], shape[2] * shape[3], shape[3], 1};
}

// sum_i s2_i w_h,i w_l,i from weights written out.
template <class T>
Matrix covariance_by_definition(const AttentionPlan<T>& plan, const Vector& s2, Index batch, Index query) {
  Matrix w(plan.n_heads, plan.n);
  for (Index h = 0; h < plan.n_heads; ++h) {
    const AttentionRow row = row_of(plan, batch, h, query);
    for (Index j = 0; j < plan.n; ++j)
      w(h, j) = std::isinf(row.log_normaliser)
                    ? 0.0
                    : std::exp(score_of(plan, batch, h, query, j, ScoreStage::weights) - row.log_normaliser);
  }
  return w * s2.asDiagonal() * w.transpose();
}

// Random arrays of one call.
template <class T>
struct Call {
  Index batch = 2, heads = 4, kv_heads = 2, m = 53, n = 300, d = 5, dv = 3;
  AttentionOptions options;
  RowMatrix<T> q, k, v, bias, out;
  RowMatrix<unsigned char> visible;
  Matrix log_normaliser, n_eff;

  void fill() {
    q = definition::normal<T>(batch * heads * m, d, 1);
    k = definition::normal<T>(batch * kv_heads * n, d, 2);
    v = definition::normal<T>(batch * kv_heads * n, dv, 3);
    out = RowMatrix<T>::Constant(batch * heads * m, dv, T(-99));
    log_normaliser = n_eff = Matrix::Zero(batch * heads * m, 1);
  }
  template <class S>
  static TensorView<S> view(const RowMatrix<S>& data, const std::array<Index, 4>& shape) {
    if (data.size() == 0) return {};
    return {data.data(), shape, dense<S>(shape)};
  }
  template <class S>
  static TensorSpan<S> span(RowMatrix<S>& data, const std::array<Index, 4>& shape) {
    return {data.data(), shape, dense<S>(shape)};
  }
  AttentionInput<T> input() const {
    return {view(q, {batch, heads, m, d}), view(k, {batch, kv_heads, n, d}),
            view(v, {batch, kv_heads, n, dv}), view(bias, {batch, heads, m, n}),
            view(visible, {batch, heads, m, n})};
  }
  AttentionOutput<T> output() {
    return {span(out, {batch, heads, m, dv}),
            span(log_normaliser, {batch, heads, m, 1}),
            span(n_eff, {batch, heads, m, 1}),
            {}};
  }
  void expect_covariance_as_defined(double tolerance) {
    const AttentionInput<T> in = input();
    Matrix got(batch * m, heads * heads);
    attention_covariance(in, {options, {}, false, false}, AttentionOutput<T>{}, got.data());
    const AttentionPlan<T> plan(in, options);
    const Vector s2 = Vector::Ones(n);
    for (Index b = 0; b < batch; ++b)
      for (Index i = 0; i < m; ++i) {
        const Matrix want = covariance_by_definition(plan, s2, b, i);
        const Eigen::Map<const Matrix> have(got.row(b * m + i).data(), heads, heads);
        ASSERT_LE((have - want).cwiseAbs().maxCoeff(), tolerance * want.maxCoeff()) << b << " " << i;
      }
  }
  void expect_as_defined(double tolerance) {
    const AttentionInput<T> in = input();
    attention(in, options, output());
    const AttentionPlan<T> plan(in, options);
    for (Index b = 0; b < batch; ++b)
      for (Index h = 0; h < heads; ++h)
        for (Index i = 0; i < m; ++i) {
          const AttentionRow row = row_of(plan, b, h, i);
          const Index at = (b * heads + h) * m + i;
          for (Index c = 0; c < dv; ++c) {
            if (std::isnan(row.output[c]))
              ASSERT_TRUE(std::isnan(out(at, c)));
            else if (std::isinf(row.output[c]))
              ASSERT_EQ(out(at, c), row.output[c]);
            else
              ASSERT_NEAR(out(at, c), row.output[c], tolerance) << b << " " << h << " " << i;
          }
          if (std::isfinite(row.log_normaliser)) {
            ASSERT_NEAR(log_normaliser(at, 0), row.log_normaliser, tolerance);
            ASSERT_NEAR(n_eff(at, 0), row.n_eff, 10 * tolerance * row.n_eff);
          } else if (!std::isnan(row.log_normaliser)) {
            ASSERT_EQ(log_normaliser(at, 0), row.log_normaliser);
            ASSERT_EQ(n_eff(at, 0), 0.0);
          }
        }
  }
};

struct Variant {
  std::string name;
  std::function<void(AttentionOptions&)> set;
};

std::vector<Variant> variants() {
  return {
      {"plain", [](AttentionOptions&) {}},
      {"scale", [](AttentionOptions& o) { o.scale = 3.0; }},
      {"cap", [](AttentionOptions& o) { o.soft_cap = 0.7; }},
      {"causal", [](AttentionOptions& o) { o.causal = true; }},
      {"past", [](AttentionOptions& o) { o.causal = true, o.query_offset = 247; }},
      {"window", [](AttentionOptions& o) { o.window_left = 20, o.window_right = 3, o.query_offset = 200; }},
      {"padding",
       [](AttentionOptions& o) {
         o.n_keys = {300, 41};
       }},
      {"nothing",
       [](AttentionOptions& o) {
         o.n_keys = {0, 1};
       }},
      {"before", [](AttentionOptions& o) { o.causal = true, o.query_offset = -20; }},
      {"alibi",
       [](AttentionOptions& o) {
         o.alibi_slopes = {0.5, 0.25, 0.125, 0.0};
       }},
      {"sinks",
       [](AttentionOptions& o) {
         o.sinks = {0.0, 4.0, -3.0, 60.0};
       }},
      {"all", [](AttentionOptions& o) {
         o.soft_cap = 2, o.causal = true, o.query_offset = 100, o.window_left = 64;
         o.alibi_slopes = {0.5, 0.25, 0.125, 0.0}, o.sinks = {0.0, 4.0, -3.0, 1.0};
       }}};
}

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

template <class T>
void expect_covariance(const std::function<void(AttentionOptions&)>& set, bool unequal, double tolerance) {
  Call<T> call;
  set(call.options);
  call.fill();
  CovarianceOptions options{call.options, {}, false, false};
  const Vector s2 =
      unequal ? Vector(Vector::LinSpaced(call.n, 0.5, 3.0)) : Vector(Vector::Constant(call.n, 2.0));
  options.noise_variance = unequal ? s2 : Vector(s2.head(1));
  const Index size = call.heads * call.heads;
  Matrix got(call.batch * call.m, size), mean(call.batch, size);
  attention_covariance(call.input(), options, call.output(), got.data());
  options.average = true;
  attention_covariance(call.input(), options, AttentionOutput<T>{}, mean.data());
  const AttentionInput<T> in = call.input();
  const AttentionPlan<T> plan(in, call.options);
  for (Index b = 0; b < call.batch; ++b) {
    for (Index i = 0; i < call.m; ++i) {
      const Matrix want = covariance_by_definition(plan, s2, b, i);
      const Eigen::Map<const Matrix> have(got.row(b * call.m + i).data(), call.heads, call.heads);
      ASSERT_LT((have - want).cwiseAbs().maxCoeff(), tolerance * want.maxCoeff()) << b << " " << i;
    }
    EXPECT_LT((mean.row(b) - got.middleRows(b * call.m, call.m).colwise().mean()).cwiseAbs().maxCoeff(),
              1e-6);
  }
}

TEST(Covariance, IsItsDefinition) {
  for (const Variant& variant : variants()) {
    if (variant.name == "nothing" || variant.name == "before") continue;
    SCOPED_TRACE(variant.name);
    for (const bool unequal : {false, true}) {
      expect_covariance<float>(variant.set, unequal, 1e-5);
      expect_covariance<double>(variant.set, unequal, 1e-12);
    }
  }
}

TEST(Covariance, EveryHeadDimension) {
  for (Index d = 1; d <= 130; ++d) {
    SCOPED_TRACE(d);
    Call<float> single;
    Call<double> twice;
    const auto run = [d](auto& call, double tolerance) {
      call.batch = 1, call.heads = 2, call.kv_heads = 1, call.m = 9, call.d = d;
      call.fill();
      call.expect_covariance_as_defined(tolerance);
    };
    run(single, 1e-5);
    run(twice, 1e-12);
  }
}

TEST(Covariance, CentredIsUndefinedWhereNothingIsSeen) {
  Call<double> call;
  call.options.causal = true;
  call.options.query_offset = -2;
  call.fill();
  Matrix centred(call.batch * call.m, call.heads * call.heads);
  attention_covariance(call.input(), {call.options, {}, true, false}, {}, centred.data());
  EXPECT_TRUE(std::isnan(centred(0, 0)));
  EXPECT_TRUE(std::isfinite(centred(2, 0)));
}

TEST(Covariance, CentredLeavesOutTheGrandMean) {
  Call<double> call;
  call.options.causal = true;
  call.options.query_offset = 200;
  call.fill();
  const Index size = call.heads * call.heads;
  Matrix raw(call.batch * call.m, size), centred(call.batch * call.m, size);
  CovarianceOptions options{call.options, Vector::Constant(1, 2.0), false, false};
  attention_covariance(call.input(), options, {}, raw.data());
  options.centred = true;
  attention_covariance(call.input(), options, {}, centred.data());
  for (Index i = 0; i < call.m; ++i)
    EXPECT_NEAR(raw(i, 1) - centred(i, 1), 2.0 / static_cast<double>(201 + i), 1e-15);
  options.attention.sinks = {0, 0, 0, 0};
  attention_covariance(call.input(), options, {}, centred.data());
  EXPECT_TRUE(std::isnan(centred(0, 0)));
}

TEST(Covariance, VariancesMustBePositive) {
  Call<double> call;
  call.fill();
  Matrix result(call.batch * call.m, call.heads * call.heads);
  for (const double bad : {0.0, -1.0, kInf})
    EXPECT_THROW(attention_covariance(call.input(), {call.options, Vector::Constant(1, bad), false, false},
                                      {}, result.data()),
                 ArgumentError);
}

}  // namespace
}  // namespace headspan::nw
