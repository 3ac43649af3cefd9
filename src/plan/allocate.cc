#include "headspan/plan/allocate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "headspan/numeric/error.h"

namespace headspan::plan {
namespace {

constexpr double kTieShare = 0.01;

void check_rules(const PairRules& rules) {
  const auto positive = [](const char* name, Index value) {
    if (value < 1) throw ArgumentError(fmt::format("{}: must be at least 1, it is {}", name, value));
  };
  positive("budget", rules.budget);
  positive("multiple_of", rules.multiple_of);
  positive("n_kv_heads", rules.n_kv_heads);
  if (rules.d_model) positive("d_model", *rules.d_model);
  if (rules.budget > kMostBudget)
    throw ArgumentError(
        fmt::format("budget: {} is above {}, the most that is enumerated", rules.budget, kMostBudget));
}

/// The number of heads for this dimension, 0 where the rules allow none.
Index heads_for(const PairRules& rules, Index head_dim) {
  const Index most = rules.budget / head_dim / rules.n_kv_heads * rules.n_kv_heads;
  return rules.exact && most * head_dim != rules.budget ? 0 : most;
}

[[noreturn]] void fail_without_pair(const PairRules& rules) {
  const Index step = rules.multiple_of * rules.n_kv_heads;
  if (rules.d_model && rules.multiple_of > *rules.d_model)
    throw ArgumentError(fmt::format("multiple_of: {} is above d_model {}, so no head is narrow enough",
                                    rules.multiple_of, *rules.d_model));
  if (rules.budget < step)
    throw ArgumentError(fmt::format(
        "budget: {} is below {}, the smallest pair: head_dim {} (multiple_of) x {} heads (n_kv_heads)",
        rules.budget, step, rules.multiple_of, rules.n_kv_heads));
  const Index below = rules.budget / step * step;
  throw ArgumentError(fmt::format(
      "budget: {} is no product of a head_dim in multiples of {} and a number of heads in multiples of {}; "
      "{} or {} is, or leave exact out",
      rules.budget, rules.multiple_of, rules.n_kv_heads, below, below + step));
}

void check_orthogonality(const ErrorLaw& law, const PairRules& rules) {
  if (rules.d_model && rules.budget > *rules.d_model &&
      std::holds_alternative<OrthogonalHeads>(law.options().correlation))
    throw ArgumentError(fmt::format(
        "budget: {} dimensions cannot be orthogonal in d_model {}; use the frame bound for the correlation",
        rules.budget, *rules.d_model));
}

void choose(Allocation& out) {
  const auto mse = [](const PlanPoint& point) { return point.error.mse; };
  const auto least = std::min_element(out.curve.begin(), out.curve.end(),
                                      [&](const auto& a, const auto& b) { return mse(a) < mse(b); });
  out.best = static_cast<std::size_t>(least - out.curve.begin());
  out.has_standard_error = least->error.standard_error.has_value();
  out.tie_margin = least->error.standard_error.value_or(kTieShare * std::abs(mse(*least)));
  const double own = out.tie_margin;
  for (std::size_t i = 0; i < out.curve.size(); ++i) {
    const bool has_pair_of_errors = out.has_standard_error && i != out.best;
    const double margin =
        has_pair_of_errors ? std::hypot(own, out.curve[i].error.standard_error.value_or(0.0)) : own;
    if (mse(out.curve[i]) > mse(*least) + margin) continue;
    out.near_ties.push_back(i);
    out.tie_margin = std::max(out.tie_margin, margin);
  }
}

/// Measured biases can fall below zero, and a pair is best for that alone.
void add_doubts(Allocation& out) {
  const PairError& best = out.curve[out.best].error;
  if (best.squared_bias >= 0.0) return;
  out.notes.push_back(fmt::format(
      "the squared bias of the best pair is {:.4g}, below zero: an estimate smaller than its own error, so "
      "how small the bias is, and whether the pair is the best, is not known{}",
      best.squared_bias, best.mse < 0.0 ? "; the mse is below zero with it" : ""));
}

}  // namespace

std::vector<Pair> admissible_pairs(const PairRules& rules) {
  check_rules(rules);
  const Index widest = std::min(rules.budget / rules.n_kv_heads, rules.d_model.value_or(rules.budget));
  std::vector<Pair> pairs;
  for (Index head_dim = rules.multiple_of; head_dim <= widest; head_dim += rules.multiple_of)
    if (const Index n_heads = heads_for(rules, head_dim); n_heads > 0) pairs.push_back({head_dim, n_heads});
  if (pairs.empty()) fail_without_pair(rules);
  return pairs;
}

std::optional<Index> budget_instead_of_prime(const PairRules& rules) {
  if (!rules.exact || rules.budget <= 3 || rules.multiple_of != 1 || rules.n_kv_heads != 1) return {};
  for (Index divisor = 2; divisor * divisor <= rules.budget; ++divisor)
    if (rules.budget % divisor == 0) return {};
  return (rules.budget / 8 + 1) * 8;
}

Allocation allocate(const ErrorLaw& law, const PairRules& rules) {
  const std::vector<Pair> pairs = admissible_pairs(rules);
  check_orthogonality(law, rules);
  Allocation out;
  for (const Pair& pair : pairs) {
    const auto head_dim = static_cast<double>(pair.head_dim);
    if (!law.covers(head_dim)) {
      out.out_of_reach.push_back(pair.head_dim);
      continue;
    }
    out.curve.push_back({pair, law.at(head_dim, static_cast<double>(pair.n_heads))});
    if (!out.curve.back().error.beyond_range) out.reliable_to = pair.head_dim;
  }
  if (out.curve.empty())
    throw ArgumentError(
        fmt::format("budget: the measured curves reach none of the {} admissible head dimensions, {} to {}",
                    pairs.size(), pairs.front().head_dim, pairs.back().head_dim));
  choose(out);
  add_doubts(out);
  return out;
}

}  // namespace headspan::plan
