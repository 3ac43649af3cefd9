#include "headspan/nw/covariance.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "headspan/numeric/error.h"
#include "nw/attention_fixture.h"

namespace headspan::nw {
namespace {

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
