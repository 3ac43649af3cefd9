#include "estimator/planned_heads.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "estimator/pilot_heads.h"
#include "estimator/prepare.h"
#include "headspan/estimator/pilot.h"

namespace headspan::estimator {
namespace {

constexpr double kMostOfPlan = 0.05;  // of the effort
constexpr Index kFewestPilotRows = 20, kMostPilotRows = 500;
constexpr PilotOptions kSmallPilot{
    .n_heads = 6, .n_dimensions = 5, .most_rows = kMostPilotRows, .n_bootstrap = 50};

/// In units of the effort: `heads` heads of m rows and k dimensions, each once at every bandwidth.
double pilot_cost(Index heads, Index m, Index k) {
  const double rows = static_cast<double>(m) / 500.0,
               bandwidths = static_cast<double>(pilot_bandwidths(k).size());
  return bandwidths * static_cast<double>(heads) * rows * rows * std::max(1.0, static_cast<double>(k) / 8.0);
}

/// The best pair, then the near-tie of least predicted error. Of `p` inputs; heads that see all of them are
/// one.
std::vector<plan::Pair> best_pairs(const plan::Allocation& allocation, Index p) {
  std::vector<plan::Pair> out = {allocation.curve[allocation.best].pair};
  const plan::PlanPoint* next = nullptr;
  for (const std::size_t i : allocation.near_ties) {
    const plan::PlanPoint& point = allocation.curve[i];
    if (i != allocation.best && (!next || point.error.mse < next->error.mse)) next = &point;
  }
  if (next) out.push_back(next->pair);
  for (plan::Pair& pair : out)
    if (pair.head_dim == p) pair.n_heads = 1;
  return out;
}

}  // namespace

std::optional<HeadPlan> planned_heads(MatrixView x, VectorView y, Index n, const AutoOptions& options) {
  const Index m = std::min(y.size(), kMostPilotRows), widest = std::min(HeadPlan::kBudget, x.cols());
  if (m < kFewestPilotRows ||
      pilot_cost(kSmallPilot.n_heads * kSmallPilot.n_dimensions, m, widest) > kMostOfPlan * options.effort)
    return std::nullopt;
  const std::vector<Index> rows = sampled_rows(y.size(), m, RandomStream(options.seed, kSampleStream));
  const Matrix sample = x(rows, Eigen::all);
  const Vector target = y(rows);
  if (!(target.minCoeff() < target.maxCoeff()) ||
      (sample.colwise().minCoeff().array() == sample.colwise().maxCoeff().array()).all())
    return std::nullopt;
  PilotOptions small = kSmallPilot;
  small.seed = options.seed;
  const plan::PairRules rules{.budget = HeadPlan::kBudget, .d_model = x.cols()};
  const Pilot pilot = run_pilot(sample, target, rules, small);
  HeadPlan out;
  for (const PilotDimension& dimension : pilot.dimensions)
    out.cost += pilot_cost(dimension.n_heads, m, dimension.head_dim);
  out.pairs = best_pairs(plan_from(pilot, rules, static_cast<double>(n), small).allocation, x.cols());
  return out;
}

}  // namespace headspan::estimator
