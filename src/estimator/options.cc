#include "headspan/estimator/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "headspan/numeric/error.h"

namespace headspan::estimator {
namespace {

constexpr int kBandwidthEvaluations = 15;

constexpr std::array kHeadKinds = {
    std::pair{HeadKind::random, "random"}, std::pair{HeadKind::principal, "principal"},
    std::pair{HeadKind::learned, "learned"}, std::pair{HeadKind::diagonal, "diagonal"}};
constexpr std::array kCombiners = {std::pair{Combiner::mean, "mean"}, std::pair{Combiner::sum, "sum"},
                                   std::pair{Combiner::simplex, "simplex"},
                                   std::pair{Combiner::least_squares, "least_squares"}};

template <class Words, class Value>
const char* word_of(const Words& words, Value value) {
  for (const auto& [candidate, word] : words)
    if (candidate == value) return word;
  throw ArgumentError("to_string: value outside the enumeration");
}

template <class Value, class Words>
std::optional<Value> value_of(const Words& words, std::string_view name) {
  for (const auto& [candidate, word] : words)
    if (word == name) return candidate;
  return std::nullopt;
}

}  // namespace

const char* to_string(HeadKind kind) { return word_of(kHeadKinds, kind); }

const char* to_string(Combiner combiner) { return word_of(kCombiners, combiner); }

std::optional<HeadKind> head_kind_named(std::string_view name) {
  return value_of<HeadKind>(kHeadKinds, name);
}

std::optional<Combiner> combiner_named(std::string_view name) { return value_of<Combiner>(kCombiners, name); }

int evaluations_of(const Recipe& recipe) {
  const bool bandwidth_only = recipe.heads == HeadKind::random || recipe.heads == HeadKind::principal;
  return bandwidth_only ? std::min(recipe.iterations, kBandwidthEvaluations) : recipe.iterations;
}

void check(const Recipe& recipe) {
  if (recipe.n_heads < 0)
    throw ArgumentError(fmt::format("n_heads: is {}, must not be negative", recipe.n_heads));
  if (recipe.head_dim < 1)
    throw ArgumentError(fmt::format("head_dim: is {}, must be at least 1", recipe.head_dim));
  if (!(recipe.shrinkage > 0.0 && recipe.shrinkage <= 1.0))
    throw ArgumentError(fmt::format("shrinkage: is {}, must be above 0 and at most 1", recipe.shrinkage));
  if (!(recipe.diversity_penalty >= 0.0) || !std::isfinite(recipe.diversity_penalty))
    throw ArgumentError(
        fmt::format("diversity_penalty: is {}, must be finite and not negative", recipe.diversity_penalty));
  if (recipe.iterations < 1)
    throw ArgumentError(fmt::format("iterations: is {}, must be at least 1", recipe.iterations));
}

void check(const FitOptions& options) {
  check(options.recipe);
  if (options.n_folds != 0 && options.n_folds < 2)
    throw ArgumentError(fmt::format("n_folds: is {}, must be 0 (none) or at least 2", options.n_folds));
  if (!(options.relative_error >= 0.0 && options.relative_error < 1.0))
    throw ArgumentError(
        fmt::format("relative_error: is {}, must be at least 0 and below 1", options.relative_error));
  if (options.learn_rows < 2)
    throw ArgumentError(fmt::format("learn_rows: is {}, must be at least 2", options.learn_rows));
}

}  // namespace headspan::estimator
