#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "estimator/pilot_heads.h"
#include "headspan/estimator/pilot.h"
#include "headspan/numeric/error.h"

namespace headspan::estimator {
namespace {

struct Fit {
  double bandwidth, loo;
};

/// Down the leave-one-out error of one ensemble over the pilot's bandwidths, from the one nearest to `start`.
Fit fitted(const Matrix& x, VectorView y, const Matrix& frames, Index head_dim, double start) {
  const Vector bandwidths = pilot_bandwidths(head_dim);
  std::map<Index, double> known;
  const auto loo = [&](Index at) {
    if (at < 0 || at >= bandwidths.size()) return HUGE_VAL;
    const auto found = known.find(at);
    if (found != known.end()) return found->second;
    return known[at] = ensemble_loo(x, y, frames, head_dim, bandwidths[at]);
  };
  Index at = 0;
  (bandwidths.array().log() - std::log(start)).abs().minCoeff(&at);
  for (;;) {
    const Index next = loo(at - 1) < loo(at + 1) ? at - 1 : at + 1;
    if (!(loo(next) < loo(at))) return {bandwidths[at], loo(at)};
    at = next;
  }
}

MeasuredPair measured_pair(const Matrix& x, VectorView y, const plan::Pair& pair, double start, Index n_draws,
                           std::uint64_t seed) {
  MeasuredPair out{pair, 0.0, 0.0, 0.0};
  Vector loo(n_draws), log_bandwidth(n_draws);
  for (Index draw = 0; draw < n_draws; ++draw) {
    const std::uint64_t own = seed + static_cast<std::uint64_t>(draw) * plan::kMostBudget;
    const Matrix frames = projection_blocks(pair.n_heads, pair.head_dim, x.cols(),
                                            own + static_cast<std::uint64_t>(pair.head_dim));
    const Fit fit = fitted(x, y, frames, pair.head_dim, start);
    loo[draw] = fit.loo;
    log_bandwidth[draw] = std::log(fit.bandwidth);
  }
  out.loo = loo.mean();
  out.bandwidth = std::exp(log_bandwidth.mean());
  const double draws = static_cast<double>(n_draws);
  if (n_draws > 1)
    out.standard_error = std::sqrt((loo.array() - loo.mean()).square().sum() / (draws - 1.0) / draws);
  return out;
}

}  // namespace

GridCheck check_grid(MatrixView x, VectorView y, const PilotPlan& plan, Index n_draws, std::uint64_t seed) {
  if (n_draws < 1) throw ArgumentError(fmt::format("n_draws: must be at least 1, it is {}", n_draws));
  const PilotInputs inputs = pilot_inputs(x, y);
  GridCheck out;
  out.n_draws = n_draws;
  out.planned = plan.allocation.best;
  for (std::size_t i = 0; i < plan.allocation.curve.size(); ++i)
    out.pairs.push_back(
        measured_pair(inputs.x, y, plan.allocation.curve[i].pair, plan.bandwidth[i], n_draws, seed));
  const auto best = std::min_element(out.pairs.begin(), out.pairs.end(),
                                     [](const auto& a, const auto& b) { return a.loo < b.loo; });
  out.best = static_cast<std::size_t>(best - out.pairs.begin());
  out.regret = out.pairs[out.planned].loo / best->loo - 1.0;
  return out;
}

}  // namespace headspan::estimator
