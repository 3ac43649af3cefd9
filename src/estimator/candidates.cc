#include "estimator/candidates.h"

#include <algorithm>
#include <cmath>

#include "estimator/sharpen.h"

namespace headspan::estimator {
namespace {

// Averages of more chains gain little: their errors share what every start finds.
constexpr double kMostChains = 4.0;
constexpr double kShareOfEffort = 0.2;  // for the chains of one candidate
constexpr int kFewestIterations = 8;
constexpr double kSharpUnits = 12.0;
// Without derivatives a system costs a third; the grid of starts has sixteen.
constexpr double kSharpSolveShare = 1.0 / 3.0, kSharpGridShare = 16.0 / 3.0;

/// In the same units, by the clock: 500 rows' system, solved and derived, takes as long as kSharpUnits.
double cost_of_sharp_head(const Recipe& recipe, Index n, double folds) {
  const auto cube = [](double rows) { return kSharpUnits * std::pow(rows / 500.0, 3.0); };
  const auto fit = [&](double rows) {
    const double learned = cube(std::min(rows, static_cast<double>(kMostSharpLearningRows)));
    return (static_cast<double>(evaluations_of(recipe)) + kSharpGridShare) * learned +
           kSharpSolveShare * cube(rows);
  };
  const double all = static_cast<double>(n);
  return folds * fit((1.0 - 1.0 / folds) * all) + fit(all);
}

double cost_of_one(const Recipe& recipe, Index n, Index p, const AutoOptions& options) {
  const auto rows = [&](double share) {
    return std::min(share * static_cast<double>(n), static_cast<double>(options.learn_rows));
  };
  const double folds = options.n_folds;
  if (recipe.sharpen) return static_cast<double>(recipe.n_heads) * cost_of_sharp_head(recipe, n, folds);
  const double seen = rows(1.0 - 1.0 / folds), all = rows(1.0);
  const Index k = recipe.heads == HeadKind::diagonal ? p : std::min(recipe.head_dim, p);
  const double pairs = (folds * seen * seen + all * all) / (500.0 * 500.0);
  const double evaluations = static_cast<double>(recipe.n_heads) * evaluations_of(recipe);
  return evaluations * pairs * std::max(1.0, static_cast<double>(k) / 8.0);
}

Recipe stages(HeadKind heads, Index head_dim, Index n_heads, double shrinkage, int iterations, bool trend) {
  return {trend, heads, Combiner::sum, n_heads, head_dim, shrinkage, 0.0, iterations};
}

Recipe together(HeadKind heads, Combiner combiner, Index head_dim, Index n_heads, bool trend,
                double diversity_penalty = 0.0) {
  return {trend, heads, combiner, n_heads, head_dim, 0.5, diversity_penalty, 30};
}

Recipe sharp(HeadKind heads, Index head_dim, Index n_heads, int iterations, bool trend) {
  return {trend, heads, Combiner::mean, n_heads, head_dim, 0.5, 0.0, iterations, true};
}

struct Planned {
  Recipe recipe;
  bool planned = true;
};

/// On a trend as good a start as any without one; beside it the same pairs alone.
std::vector<Planned> averaged_heads(const std::optional<HeadPlan>& plan) {
  using enum HeadKind;
  using enum Combiner;
  if (!plan) return {{together(random, mean, 3, 8, true), false}};
  const plan::Pair& best = plan->pairs.front();
  std::vector<Planned> out = {{together(random, mean, best.head_dim, best.n_heads, true)}};
  for (const plan::Pair& pair : plan->pairs)
    out.push_back({together(random, mean, pair.head_dim, pair.n_heads, false)});
  return out;
}

/// All of them, whatever the table. Many free entries and few evaluations go together: stopping early is what
/// keeps learned heads from fitting noise.
std::vector<Planned> recipes(Index p, const std::optional<HeadPlan>& plan) {
  using enum HeadKind;
  using enum Combiner;
  const std::vector<Recipe> first = {
      together(random, mean, 1, 0, true),     // the trend alone
      together(random, mean, p, 1, false),    // one head, one bandwidth
      together(diagonal, mean, p, 1, false),  // one head, a bandwidth per input
      sharp(random, p, 1, 15, false),          sharp(diagonal, p, 1, 30, false),
      sharp(diagonal, p, 1, 10, true),         sharp(learned, p, 1, 8, false),
      stages(diagonal, p, 16, 0.3, 30, false), stages(learned, 4, 10, 0.5, 30, false),
      stages(learned, 3, 10, 0.3, 8, true),    stages(learned, 3, 12, 0.3, 8, false),
  };
  const std::vector<Recipe> last = {
      together(principal, simplex, 3, 8, true),
      stages(learned, 2, 10, 0.5, 15, false),
      stages(diagonal, p, 10, 0.3, 15, true),
      stages(learned, 6, 10, 0.5, 15, false),
      together(learned, mean, 3, 4, false, 0.1),
      together(learned, least_squares, 3, 4, true, 0.1),
      together(random, simplex, 3, 16, false),
      together(principal, least_squares, 2, 8, false),
      // Where rows are few, and effort is left: bandwidths that hardly left their starts.
      stages(diagonal, p, 16, 0.3, 4, false),
  };
  std::vector<Planned> out;
  for (const Recipe& recipe : first) out.push_back({recipe, false});
  for (const Planned& one : averaged_heads(plan)) out.push_back(one);
  for (const Recipe& recipe : last) out.push_back({recipe, false});
  return out;
}

/// Two recipes that the number of inputs makes one.
bool same(const Recipe& a, const Recipe& b, Index p) {
  const bool diagonal = a.heads == HeadKind::diagonal && b.heads == HeadKind::diagonal;
  return a.trend == b.trend && a.combiner == b.combiner && a.n_heads == b.n_heads &&
         a.shrinkage == b.shrinkage && a.diversity_penalty == b.diversity_penalty &&
         a.iterations == b.iterations && a.sharpen == b.sharpen && a.heads == b.heads &&
         (diagonal || std::min(a.head_dim, p) == std::min(b.head_dim, p));
}

}  // namespace

std::vector<Candidate> candidates_for(Index n, Index p, const std::optional<HeadPlan>& plan,
                                      const AutoOptions& options) {
  const Index n_choosing = std::min(n, options.select_rows);
  std::vector<Candidate> out;
  for (const Planned& listed : recipes(p, plan)) {
    Recipe recipe = listed.recipe;
    if (recipe.sharpen && n > options.select_rows) continue;
    recipe.head_dim = std::min(recipe.head_dim, p);
    const auto known = std::find_if(out.begin(), out.end(),
                                    [&](const Candidate& other) { return same(recipe, other.recipe, p); });
    if (known != out.end()) {
      known->planned = known->planned || listed.planned;
      continue;
    }
    double one = cost_of_one(recipe, n_choosing, p, options);
    while (one > kMostOfEffort * options.effort && recipe.iterations > kFewestIterations) {
      recipe.iterations /= 2;
      one = cost_of_one(recipe, n_choosing, p, options);
    }
    double chains = 1.0;
    if (recipe.heads == HeadKind::learned && recipe.combiner == Combiner::sum && n <= options.select_rows)
      chains = std::clamp(std::floor(kShareOfEffort * options.effort / one), 1.0, kMostChains);
    out.push_back({.recipe = recipe,
                   .n_chains = static_cast<Index>(chains),
                   .cost = chains * one,
                   .planned = listed.planned});
  }
  return out;
}

}  // namespace headspan::estimator
