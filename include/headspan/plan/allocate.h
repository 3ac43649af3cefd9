#pragma once
// The integer answer: which pair of head dimension and number of heads a budget is best spent on.

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "headspan/plan/profile.h"

namespace headspan::plan {

/// The largest budget whose pairs are enumerated.
inline constexpr Index kMostBudget = Index{1} << 20;

struct Pair {
  Index head_dim = 1, n_heads = 1;
  bool operator==(const Pair&) const = default;
};

/// Which pairs are admissible.
struct PairRules {
  Index budget = 1;                ///< D, the most that H k may be
  bool exact = false;              ///< H k = D instead of at most D
  Index multiple_of = 1;           ///< of the head dimension; hardware likes 8 or 16
  Index n_kv_heads = 1;            ///< H is a multiple of it
  std::optional<Index> d_model{};  ///< no head is wider than its input
};

/// One pair for every admissible head dimension, the smallest first, with the most heads that fit: the law
/// never rises with the number of heads, so fewer heads of the same dimension are never better. Throws
/// ArgumentError for rules that are not positive, a budget above kMostBudget, and where no pair is
/// admissible, with the reason and the nearest budget that has one. O(D).
std::vector<Pair> admissible_pairs(const PairRules& rules);

/// Where exact rules leave a prime budget D > 3 no pairs but one head of D and D heads of one dimension: the
/// next budget that has more, a multiple of 8.
std::optional<Index> budget_instead_of_prime(const PairRules& rules);

struct PlanPoint {
  Pair pair;
  PairError error;
};

/// The whole curve and what to choose from it.
struct Allocation {
  std::vector<PlanPoint> curve;  ///< head dimensions ascending
  std::size_t best = 0;          ///< place of the least mse; of equal ones the smallest head dimension
  /// Places of all pairs whose mse is within a margin of the least, the best included: one standard error of
  /// the difference, or 1 % of the least mse where none is known. Of a measured curve only the errors of
  /// single pairs are known, s and t; they are taken as independent, sqrt(s^2 + t^2).
  std::vector<std::size_t> near_ties;
  double tie_margin = 0.0;           ///< the greatest of these margins; of the best alone its own error
  bool has_standard_error = false;   ///< which of the two
  std::vector<Index> out_of_reach;   ///< admissible head dimensions that a measured curve does not reach
  std::optional<Index> reliable_to;  ///< the largest head dimension in the range of the law, if any
  std::vector<std::string> notes{};  ///< what speaks against believing the best pair, in sentences
};

/// Evaluates the law at every admissible pair. Throws ArgumentError as admissible_pairs() does, for
/// orthogonal heads with a budget above d_model, and where measured curves reach no admissible pair. O(D)
/// evaluations of the law.
Allocation allocate(const ErrorLaw& law, const PairRules& rules);

}  // namespace headspan::plan
