#pragma once
// A call of attention on random arrays, and its results from the definition, for tests.

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "headspan/nw/covariance.h"
#include "nw/attention_plan.h"
#include "nw/definition.h"

namespace headspan::nw {

inline constexpr double kInf = std::numeric_limits<double>::infinity();

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

inline std::vector<Variant> variants() {
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

}  // namespace headspan::nw
