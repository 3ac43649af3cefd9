#include "nw/attention_tile.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "nw/constants.h"

namespace headspan::nw {
namespace {

// Sums of values stay in working precision for this many keys, then go to double.
constexpr Index kKeysBeforeHandOver = 8192;

}  // namespace

template <class T>
Index attention_block_keys(Index d, Index n_blocks) {
  constexpr Index kBytes = 32 << 10, kMost = 256;
  const Index fitting = kBytes / (n_blocks * d * static_cast<Index>(sizeof(T)));
  return round_up(std::clamp<Index>(fitting, 2 * kPanel<T>, kMost / n_blocks), 2 * kPanel<T>);
}

template <class T>
AttentionTile<T>::AttentionTile(const AttentionPlan<T>& plan, Index most_queries, Index most_keys)
    : plan_(plan),
      stride_(most_keys),
      rows_(most_queries * plan.d),
      queries_(round_up(most_queries, kGroup) * plan.d),
      scores_(round_up(most_queries, kGroup) * most_keys),
      values_(round_up(most_queries, kGroup) * plan.value_columns) {
  std::fill_n(scores_.data(), scores_.size(), T(0));
}

template <class T>
void AttentionTile<T>::start(Index batch, Index head, Index first, Index m) {
  batch_ = batch, head_ = head, first_ = first, m_ = m;
  const auto count = static_cast<std::size_t>(m);
  top_.assign(count, -kInfinity);
  shift_.assign(count, T(0));
  block_top_.resize(count);
  row_sums_.resize(count);
  sum_.assign(count, 0.0);
  squares_.assign(count, 0.0);
  rescale_.assign(count, 1.0);
  odd_.assign(count, false);
  ranges_.resize(count);
  range_ = {plan_.n, 0};
  const TensorView<T>& query = plan_.input.query;
  for (Index q = 0; q < m; ++q) {
    const auto at = static_cast<std::size_t>(q);
    ranges_[at] = plan_.range(batch, first + q);
    range_.first = std::min(range_.first, ranges_[at].first);
    range_.last = std::max(range_.last, ranges_[at].last);
    const T* from = query.at(batch, head, first + q);
    T zero = 0;
    for (Index j = 0; j < plan_.d; ++j) {
      rows_[q * plan_.d + j] = from[j * query.stride[3]];
      zero += rows_[q * plan_.d + j] * T(0);
    }
    // Sums of what is not finite are not zero times anything.
    odd_[at] = !(zero == T(0));
  }
  pack_queries(rows_.data(), plan_.d, m, plan_.d, static_cast<T>(plan_.scale * kLog2E), queries_.data());
  std::fill_n(values_.data(), values_.size(), T(0));
  since_hand_over_ = 0;
  handed_over_ = false;
}

// Positions, padding and keys that are not finite.
template <class T>
void AttentionTile<T>::hide(const KeyBlock& block, Index q, T* row) const {
  const KeyRange range = ranges_[static_cast<std::size_t>(q)];
  const Index first = std::clamp<Index>(range.first - block.first, 0, block.n);
  const Index last = std::clamp<Index>(range.last - block.first, 0, block.n);
  constexpr T kHidden = -std::numeric_limits<T>::infinity();
  if (first > 0) std::fill(row, row + first, kHidden);
  if (last < block.n) std::fill(row + last, row + block.n, kHidden);
  for (const Index odd : plan_.odd_keys(batch_, head_ / plan_.group()))
    if (odd >= block.first && odd < block.first + block.n) row[odd - block.first] = kHidden;
}

template <class T>
void AttentionTile<T>::hide_by_masks(const KeyBlock& block, Index q, T* row) {
  constexpr T kHidden = -std::numeric_limits<T>::infinity();
  const auto& visible = plan_.input.visible;
  const auto& bias = plan_.input.bias;
  if (bias) {
    const T* from = bias.at(batch_, head_, first_ + q) + block.first * bias.stride[3];
    for (Index i = 0; i < block.n; ++i) {
      const T added = from[i * bias.stride[3]];
      // -inf hides whatever the score is; NaN and +inf are for the definition to spread, and so is what only
      // the change of base makes infinite.
      row[i] = added == kHidden
                   ? kHidden
                   : row[i] + std::max(added * static_cast<T>(kLog2E), std::numeric_limits<T>::lowest());
    }
  }
  if (visible) {
    const unsigned char* from = visible.at(batch_, head_, first_ + q) + block.first * visible.stride[3];
    for (Index i = 0; i < block.n; ++i) row[i] = from[i * visible.stride[3]] != 0 ? row[i] : kHidden;
  }
}

// Brings what was summed before to a maximum that rose; a row that sees nothing yet keeps weights of zero.
template <class T>
void AttentionTile<T>::raise(Index q, T block_top, const WeightRows<T>& rows) {
  const auto at = static_cast<std::size_t>(q);
  const double top = static_cast<double>(block_top);
  rescale_[at] = 1.0;
  if (top > top_[at]) {
    if (top == kInfinity) odd_[at] = true;
    rescale_[at] = std::exp2(top_[at] - top);
    top_[at] = top;
    shift_[at] = block_top;
    const T factor = static_cast<T>(rescale_[at]);
    T* values = values_.data() + q * plan_.value_columns;
    for (Index c = 0; c < plan_.value_columns; ++c) values[c] *= factor;
    if (handed_over_)
      for (Index c = 0; c < plan_.value_columns; ++c)
        value_sums_[static_cast<std::size_t>(q * plan_.value_columns + c)] *= rescale_[at];
  } else if (top_[at] == -kInfinity) {
    T* row = rows.data + q * rows.stride;
    // A NaN may hide behind the infinities.
    odd_[at] = odd_[at] || std::any_of(row, row + rows.n, [](T score) { return std::isnan(score); });
    std::fill_n(row, rows.n, -std::numeric_limits<T>::infinity());
  }
}

template <class T>
void AttentionTile<T>::weigh_scores(const WeightRows<T>& rows) {
  largest_rows(rows, block_top_.data());
  for (Index q = 0; q < rows.m; ++q) raise(q, block_top_[static_cast<std::size_t>(q)], rows);
  weigh_rows(TileWeight::exp2, shift_.data(), rows, row_sums_.data());
  for (Index q = 0; q < rows.m; ++q) {
    const auto at = static_cast<std::size_t>(q);
    const double factor = rescale_[at];
    sum_[at] = sum_[at] * factor + static_cast<double>(row_sums_[at].sum);
    squares_[at] = squares_[at] * factor * factor + static_cast<double>(row_sums_[at].sum_of_squares);
  }
}

template <class T>
bool AttentionTile<T>::weigh(const KeyBlock& block) {
  if (block.first >= range_.last || block.first + block.n <= range_.first) return false;
  score_tile(
      TileScore::product,
      ScoreTile<T>{queries_.data(), plan_.keys(batch_, head_ / plan_.group(), block.first),
                   plan_.key_bias(block.first), nullptr, m_, block.n, plan_.d, scores_.data(), stride_});
  const auto& options = plan_.options;
  const Index width = round_up(block.n, 2 * kPanel<T>);
  for (Index q = 0; q < m_; ++q) {
    T* row = scores_.data() + q * stride_;
    if (options.soft_cap > 0.0) {
      soft_cap_row(static_cast<T>(options.soft_cap * kLog2E), row, width);
      std::fill(row + block.n, row + width, -std::numeric_limits<T>::infinity());
    }
    if (!options.alibi_slopes.empty()) {
      const double slope = options.alibi_slopes[static_cast<std::size_t>(head_)] * kLog2E;
      const Index position = first_ + q + options.query_offset;
      for (Index i = 0; i < block.n; ++i)
        row[i] -= static_cast<T>(slope * static_cast<double>(std::abs(position - block.first - i)));
    }
    if (plan_.has_masks()) hide_by_masks(block, q, row);
    hide(block, q, row);
  }
  weigh_scores({scores_.data(), stride_, m_, width});
  return true;
}

template <class T>
void AttentionTile<T>::add_values(const KeyBlock& block) {
  accumulate_values(ValueTile<T>{
      scores_.data(), stride_, plan_.values(batch_, head_ / plan_.group(), block.first),
      plan_.value_panel_stride(), m_, block.n, plan_.value_columns, values_.data(), plan_.value_columns});
  since_hand_over_ += block.n;
  if (since_hand_over_ >= kKeysBeforeHandOver && block.first + block.n < range_.last) hand_over();
}

template <class T>
void AttentionTile<T>::hand_over() {
  const auto size = static_cast<std::size_t>(m_ * plan_.value_columns);
  if (!handed_over_) value_sums_.assign(size, 0.0);
  handed_over_ = true;
  since_hand_over_ = 0;
  for (std::size_t i = 0; i < size; ++i) {
    T& value = values_[static_cast<Index>(i)];
    value_sums_[i] += static_cast<double>(value);
    value = T(0);
  }
}

template <class T>
double AttentionTile<T>::total(Index q) const {
  const auto at = static_cast<std::size_t>(q);
  if (plan_.options.sinks.empty()) return sum_[at];
  return sum_[at] + std::exp2(plan_.options.sinks[static_cast<std::size_t>(head_)] * kLog2E - top_[at]);
}

template <class T>
bool AttentionTile<T>::any_odd_key_visible(Index q) const {
  const auto& odd = plan_.odd_keys(batch_, head_ / plan_.group());
  return std::any_of(odd.begin(), odd.end(), [&](Index key) {
    return score_of(plan_, batch_, head_, first_ + q, key, ScoreStage::masked) != -kInfinity;
  });
}

template <class T>
bool AttentionTile<T>::needs_definition(Index q) const {
  const auto at = static_cast<std::size_t>(q);
  // A sink far above every score would overflow the sum that is relative to them, and of scores far below 0,
  // where a mask lowers all that a query sees, the rounding is felt in the weights.
  constexpr double kLowest = -static_cast<double>(std::int64_t{1} << (std::numeric_limits<T>::digits - 12));
  const bool is_low = top_[at] < kLowest && top_[at] > -kInfinity;
  return odd_[at] || is_low || !(total(q) < 1e30) || any_odd_key_visible(q);
}

template <class T>
bool AttentionTile<T>::sees_no_key(Index q) const {
  return top_[static_cast<std::size_t>(q)] == -kInfinity && !any_odd_key_visible(q);
}

template <class T>
void AttentionTile<T>::write(const AttentionOutput<T>& output, Index q) const {
  const auto at = static_cast<std::size_t>(q);
  AttentionRow row{{}, kSeesNothing, 0.0};
  const bool by_definition = needs_definition(q);
  const double sum = by_definition ? 1.0 : total(q);
  if (by_definition) {
    row = row_of(plan_, batch_, head_, first_ + q);
  } else if (sum > 0.0) {
    row.log_normaliser = std::log(sum) + kLn2 * top_[at];
    row.n_eff = squares_[at] > 0.0 ? sum_[at] * sum_[at] / squares_[at] : 0.0;
  }
  if (output.log_normaliser) *output.log_normaliser.at(batch_, head_, first_ + q) = row.log_normaliser;
  if (output.n_eff) *output.n_eff.at(batch_, head_, first_ + q) = row.n_eff;
  if (!output.output) return;
  T* to = output.output.at(batch_, head_, first_ + q);
  const double factor = sum > 0.0 ? 1.0 / sum : 0.0;
  for (Index c = 0; c < plan_.value_dim; ++c) {
    const Index i = q * plan_.value_columns + c;
    const double handed_over = handed_over_ ? value_sums_[static_cast<std::size_t>(i)] : 0.0;
    const double value =
        by_definition ? row.output[c] : (handed_over + static_cast<double>(values_[i])) * factor;
    to[c * output.output.stride[3]] = static_cast<T>(value);
  }
}

template <class T>
void AttentionTile<T>::finish(const AttentionOutput<T>& output) {
  for (Index q = 0; q < m_; ++q) write(output, q);
}

template class AttentionTile<float>;
template class AttentionTile<double>;
template Index attention_block_keys<float>(Index, Index);
template Index attention_block_keys<double>(Index, Index);

}  // namespace headspan::nw
