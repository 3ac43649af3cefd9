#include "nw/attention_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "headspan/numeric/error.h"
#include "headspan/numeric/parallel.h"
#include "nw/constants.h"

namespace headspan::nw {
namespace {

// No position, and no sum of two, overflows.
constexpr Index kFarthest = Index{1} << 60;

void check_shape(const char* name, const std::array<Index, 4>& have, const std::array<Index, 4>& want) {
  if (have == want) return;
  throw ArgumentError(fmt::format("{}: has shape [{}, {}, {}, {}], wants [{}, {}, {}, {}]", name, have[0],
                                  have[1], have[2], have[3], want[0], want[1], want[2], want[3]));
}

void check_count(const char* name, std::size_t have, Index want) {
  if (have != 0 && static_cast<Index>(have) != want)
    throw ArgumentError(fmt::format("{}: has {} values, wants {}", name, have, want));
}

template <class T>
bool is_finite(const T* row, Index width) {
  // A sum of products with zero is zero, or NaN where one of them was not finite.
  T sum = 0;
  for (Index j = 0; j < width; ++j) sum += row[j] * T(0);
  return sum == T(0);
}

}  // namespace

template <class T>
AttentionPlan<T>::AttentionPlan(const AttentionInput<T>& attention_input,
                                const AttentionOptions& attention_options)
    : input(attention_input),
      options(attention_options),
      n_batch(input.query.shape[0]),
      n_heads(input.query.shape[1]),
      n_kv_heads(input.key.shape[1]),
      m(input.query.shape[2]),
      n(input.key.shape[2]),
      d(input.query.shape[3]),
      value_dim(input.value.shape[3]),
      scale(options.scale.value_or(1.0 / std::sqrt(static_cast<double>(std::max<Index>(d, 1))))),
      value_columns(round_up(value_dim, kValuePad<T>)),
      padded_n_(round_up(n, 2 * kPanel<T>)) {
  check();
  lay_out();
}

template <class T>
void AttentionPlan<T>::check() const {
  if (d == 0 || value_dim == 0) throw ArgumentError("query, value: have no width");
  if (n_kv_heads == 0 || n_heads % n_kv_heads != 0)
    throw ArgumentError(
        fmt::format("query: has {} heads, no multiple of the {} key and value heads", n_heads, n_kv_heads));
  check_shape("key", input.key.shape, {n_batch, n_kv_heads, n, d});
  check_shape("value", input.value.shape, {n_batch, n_kv_heads, n, value_dim});
  if (input.bias) check_shape("bias", input.bias.shape, {n_batch, n_heads, m, n});
  if (input.visible) check_shape("visible", input.visible.shape, {n_batch, n_heads, m, n});
  check_count("n_keys", options.n_keys.size(), n_batch);
  check_count("alibi_slopes", options.alibi_slopes.size(), n_heads);
  check_count("sinks", options.sinks.size(), n_heads);
  if (!std::isfinite(scale)) throw ArgumentError(fmt::format("scale: is {}, must be finite", scale));
  if (!(options.soft_cap >= 0.0) || !std::isfinite(options.soft_cap))
    throw ArgumentError(fmt::format("soft_cap: is {}, must be positive, or 0 for none", options.soft_cap));
  if (options.window_left < -1 || options.window_right < -1)
    throw ArgumentError("window: must be a number of keys, or -1 for no limit");
  for (const Index distance : {options.window_left, options.window_right, options.query_offset})
    if (std::abs(distance) > kFarthest)
      throw ArgumentError(fmt::format("window, query_offset: {} is farther than {} keys; -1 is no limit",
                                      distance, kFarthest));
  for (const Index keys : options.n_keys)
    if (keys < 0 || keys > n)
      throw ArgumentError(fmt::format("n_keys: is {}, must be from 0 to {}", keys, n));
}

template <class T>
KeyRange AttentionPlan<T>::range(Index batch, Index query) const {
  const Index at = query + options.query_offset;
  KeyRange range{0, options.n_keys.empty() ? n : options.n_keys[static_cast<std::size_t>(batch)]};
  if (options.causal) range.last = std::min(range.last, at + 1);
  if (options.window_right >= 0) range.last = std::min(range.last, at + options.window_right + 1);
  if (options.window_left >= 0) range.first = std::clamp<Index>(at - options.window_left, 0, n);
  range.last = std::max(range.last, range.first);
  return range;
}

template <class T>
void AttentionPlan<T>::lay_out() {
  key_bias_.resize(padded_n_);
  std::fill_n(key_bias_.data(), n, T(0));
  std::fill_n(key_bias_.data() + n, padded_n_ - n, static_cast<T>(-kInfinity));
  keys_.resize(n_batch * n_kv_heads * padded_n_ * d);
  values_.resize(n_batch * n_kv_heads * n * value_columns);
  odd_keys_.resize(static_cast<std::size_t>(n_batch * n_kv_heads));
  parallel_for(n_batch * n_kv_heads, [&](Index i) {
    lay_out_head(i / n_kv_heads, i % n_kv_heads);
    lay_out_values(i / n_kv_heads, i % n_kv_heads);
  });
}

// A value that is not finite must not be multiplied by a weight of zero, so an odd key's is left out.
template <class T>
void AttentionPlan<T>::lay_out_values(Index batch, Index head) {
  constexpr Index kP = kPanel<T>;
  T* to = values_.data() + (batch * n_kv_heads + head) * n * value_columns;
  const Index stride = input.value.stride[3];
  for (Index panel = 0; panel * kP < value_columns; ++panel, to += value_panel_stride()) {
    const Index columns = std::clamp<Index>(value_dim - panel * kP, 0, kP);
    for (Index i = 0; i < n; ++i) {
      const T* from = input.value.at(batch, head, i) + panel * kP * stride;
      for (Index c = 0; c < columns; ++c) to[i * kP + c] = from[c * stride];
      std::fill_n(to + i * kP + columns, kP - columns, T(0));
    }
    for (const Index odd : odd_keys(batch, head)) std::fill_n(to + odd * kP, kP, T(0));
  }
}

template <class T>
void AttentionPlan<T>::lay_out_head(Index batch, Index head) {
  constexpr Index kRows = kPanel<T>;
  std::vector<T> rows(static_cast<std::size_t>(kRows * d)), value(static_cast<std::size_t>(value_dim));
  std::vector<Index>& odd = odd_keys_[static_cast<std::size_t>(batch * n_kv_heads + head)];
  T* to = keys_.data() + (batch * n_kv_heads + head) * padded_n_ * d;
  for (Index first = 0; first < padded_n_; first += kRows) {
    const Index count = std::clamp<Index>(n - first, 0, kRows);
    for (Index i = 0; i < count; ++i) {
      T* row = rows.data() + i * d;
      for (Index j = 0; j < d; ++j) row[j] = input.key.at(batch, head, first + i)[j * input.key.stride[3]];
      for (Index j = 0; j < value_dim; ++j)
        value[static_cast<std::size_t>(j)] =
            input.value.at(batch, head, first + i)[j * input.value.stride[3]];
      if (is_finite(row, d) && is_finite(value.data(), value_dim)) continue;
      odd.push_back(first + i);
      std::fill_n(row, d, T(0));
    }
    if (count > 0)
      pack_keys(rows.data(), d, count, d, to + first * d);
    else
      std::fill_n(to + first * d, kRows * d, T(0));
  }
}

template <class T>
const T* AttentionPlan<T>::keys(Index batch, Index kv_head, Index first) const {
  return keys_.data() + ((batch * n_kv_heads + kv_head) * padded_n_ + first) * d;
}

template <class T>
const T* AttentionPlan<T>::values(Index batch, Index kv_head, Index first) const {
  return values_.data() + (batch * n_kv_heads + kv_head) * n * value_columns + first * kPanel<T>;
}

template <class T>
const std::vector<Index>& AttentionPlan<T>::odd_keys(Index batch, Index kv_head) const {
  return odd_keys_[static_cast<std::size_t>(batch * n_kv_heads + kv_head)];
}

namespace {

double capped(double score, double cap) { return cap > 0.0 ? cap * std::tanh(score / cap) : score; }

template <class T>
double dot(const AttentionPlan<T>& plan, Index batch, Index head, Index query, Index key) {
  const TensorView<T>& qs = plan.input.query;
  const TensorView<T>& ks = plan.input.key;
  const T *q = qs.at(batch, head, query), *k = ks.at(batch, head / plan.group(), key);
  double sum = 0.0;
  for (Index j = 0; j < plan.d; ++j) sum += double{q[j * qs.stride[3]]} * double{k[j * ks.stride[3]]};
  return sum;
}

// What masks and biases add; -inf where hidden.
template <class T>
double mask_of(const AttentionPlan<T>& plan, Index batch, Index head, Index query, Index key) {
  const KeyRange range = plan.range(batch, query);
  if (key < range.first || key >= range.last) return -kInfinity;
  const auto& visible = plan.input.visible;
  if (visible && visible.at(batch, head, query)[key * visible.stride[3]] == 0) return -kInfinity;
  double sum = 0.0;
  if (plan.input.bias) sum += double{plan.input.bias.at(batch, head, query)[key * plan.input.bias.stride[3]]};
  if (!plan.options.alibi_slopes.empty())
    sum -= plan.options.alibi_slopes[static_cast<std::size_t>(head)] *
           static_cast<double>(std::abs(query + plan.options.query_offset - key));
  return sum;
}

}  // namespace

template <class T>
double score_of(const AttentionPlan<T>& plan, Index batch, Index head, Index query, Index key,
                ScoreStage stage) {
  const double cap = plan.options.soft_cap;
  const double scaled = plan.scale * dot(plan, batch, head, query, key);
  if (stage == ScoreStage::scaled) return scaled;
  const bool late = plan.options.cap_after_mask;
  const double early = late ? scaled : capped(scaled, cap);
  if (stage == ScoreStage::capped && !late) return early;
  const double mask = mask_of(plan, batch, head, query, key);
  // A hidden key's score counts for nothing, be it NaN.
  const double masked = mask == -kInfinity ? mask : early + mask;
  if (stage == ScoreStage::masked && late) return masked;
  return late ? capped(masked, cap) : masked;
}

template <class T>
AttentionRow row_of(const AttentionPlan<T>& plan, Index batch, Index head, Index query) {
  std::vector<double> scores(static_cast<std::size_t>(plan.n));
  const double sink =
      plan.options.sinks.empty() ? -kInfinity : plan.options.sinks[static_cast<std::size_t>(head)];
  double top = -kInfinity;
  for (Index key = 0; key < plan.n; ++key) {
    const double score = score_of(plan, batch, head, query, key, ScoreStage::weights);
    scores[static_cast<std::size_t>(key)] = score;
    top = std::isnan(score) || score > top ? score : top;
  }
  AttentionRow row{Vector::Zero(plan.value_dim), sink, 0.0};
  if (top == -kInfinity) return row;
  double sum = 0.0, squares = 0.0;
  for (Index key = 0; key < plan.n; ++key) {
    const double score = scores[static_cast<std::size_t>(key)];
    if (score == -kInfinity) continue;
    const double w = std::exp(score - top);
    sum += w;
    squares += w * w;
    const T* value = plan.input.value.at(batch, head / plan.group(), key);
    for (Index j = 0; j < plan.value_dim; ++j)
      row.output[j] += w * double{value[j * plan.input.value.stride[3]]};
  }
  row.top = top;
  row.total = sum + std::exp(sink - top);
  row.output /= row.total;
  row.log_normaliser = sink > top ? sink + std::log1p(sum * std::exp(top - sink)) : top + std::log(row.total);
  row.n_eff = sum * sum / squares;
  return row;
}

template struct AttentionPlan<float>;
template struct AttentionPlan<double>;
template double score_of(const AttentionPlan<float>&, Index, Index, Index, Index, ScoreStage);
template double score_of(const AttentionPlan<double>&, Index, Index, Index, Index, ScoreStage);
template AttentionRow row_of(const AttentionPlan<float>&, Index, Index, Index);
template AttentionRow row_of(const AttentionPlan<double>&, Index, Index, Index);

}  // namespace headspan::nw
