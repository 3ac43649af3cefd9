#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

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

constexpr Index kFirstDraws = 3;
constexpr double kKnownWell = 0.0025;  // standard error of an error that needs no more draws, relative
constexpr double kContending = 3.0, kNoise = 2.0;  // standard errors

/// A pair and the fits of its draws so far.
class DrawnPair {
 public:
  DrawnPair(const plan::Pair& pair, double start, bool one_says_all)
      : pair_(pair), start_(start), one_says_all_(one_says_all) {}

  Index n_draws() const { return static_cast<Index>(loo_.size()); }

  void draw(const Matrix& x, VectorView y, std::uint64_t seed) {
    const std::uint64_t own = seed + static_cast<std::uint64_t>(n_draws()) * plan::kMostBudget;
    const Matrix frames = projection_blocks(pair_.n_heads, pair_.head_dim, x.cols(),
                                            own + static_cast<std::uint64_t>(pair_.head_dim));
    const Fit fit = fitted(x, y, frames, pair_.head_dim, start_);
    loo_.push_back(fit.loo);
    log_bandwidth_.push_back(std::log(fit.bandwidth));
  }

  MeasuredPair measured() const {
    const Eigen::Map<const Vector> loo(loo_.data(), n_draws()),
        log_bandwidth(log_bandwidth_.data(), n_draws());
    MeasuredPair out{pair_, std::exp(log_bandwidth.mean()), loo.mean(), {}, n_draws()};
    const double draws = static_cast<double>(n_draws());
    if (one_says_all_)
      out.standard_error = 0.0;
    else if (n_draws() > 1)
      out.standard_error = std::sqrt((loo.array() - out.loo).square().sum() / (draws - 1.0) / draws);
    return out;
  }

  /// More draws would add nothing. The first few can agree by chance.
  bool is_settled(Index most) const {
    if (one_says_all_ || n_draws() >= most) return true;
    if (n_draws() <= kFirstDraws) return false;
    const MeasuredPair now = measured();
    return now.standard_error && *now.standard_error <= kKnownWell * now.loo;
  }

 private:
  plan::Pair pair_;
  double start_;
  bool one_says_all_;
  std::vector<double> loo_, log_bandwidth_;
};

std::size_t least_of(const std::vector<MeasuredPair>& pairs) {
  const auto best = std::min_element(pairs.begin(), pairs.end(),
                                     [](const auto& a, const auto& b) { return a.loo < b.loo; });
  return static_cast<std::size_t>(best - pairs.begin());
}

/// Relative variance of one draw, mean over the pairs: of three draws, a pair's own is often far too small.
double spread_of(const std::vector<MeasuredPair>& pairs) {
  double sum = 0.0, count = 0.0;
  for (const MeasuredPair& pair : pairs)
    if (pair.n_draws > 1) {
      const double relative = *pair.standard_error / pair.loo;
      sum += relative * relative * static_cast<double>(pair.n_draws);
      count += 1.0;
    }
  return count > 0.0 ? sum / count : 0.0;
}

/// Standard error of a pair's error, no smaller than the spread over all pairs makes it.
double careful_error(const MeasuredPair& pair, double spread) {
  if (pair.standard_error == 0.0) return 0.0;
  return std::max(pair.standard_error.value_or(0.0),
                  pair.loo * std::sqrt(spread / static_cast<double>(pair.n_draws)));
}

GridCheck facts_of(const std::vector<DrawnPair>& drawn, const PilotPlan& plan, const GridOptions& options) {
  GridCheck out;
  out.options = options;
  for (const DrawnPair& pair : drawn) out.pairs.push_back(pair.measured());
  out.planned = plan.allocation.best;
  out.best = least_of(out.pairs);
  const MeasuredPair &planned = out.pairs[out.planned], &best = out.pairs[out.best];
  out.regret = planned.loo / best.loo - 1.0;
  if (out.planned == out.best)
    out.regret_error = 0.0;
  else if (planned.standard_error && best.standard_error)
    out.regret_error =
        std::hypot(*planned.standard_error, *best.standard_error * planned.loo / best.loo) / best.loo;
  out.within_noise = out.regret <= kNoise * out.regret_error.value_or(HUGE_VAL);
  return out;
}

/// The pairs that deserve more draws: the planned one, and what could still be the best.
std::vector<std::size_t> unsettled(const std::vector<DrawnPair>& drawn, const GridCheck& now) {
  std::vector<std::size_t> out;
  const MeasuredPair& best = now.pairs[now.best];
  const double spread = spread_of(now.pairs), error_of_best = careful_error(best, spread);
  for (std::size_t i = 0; i < drawn.size(); ++i) {
    const MeasuredPair& pair = now.pairs[i];
    const double error = std::hypot(careful_error(pair, spread), error_of_best);
    const bool contends = i == now.planned || pair.loo - best.loo <= kContending * error;
    if (contends && !drawn[i].is_settled(now.options.n_draws)) out.push_back(i);
  }
  return out;
}

}  // namespace

GridCheck check_grid(MatrixView x, VectorView y, const PilotPlan& plan, const GridOptions& options,
                     const GridProgress& progress) {
  if (options.n_draws < 1)
    throw ArgumentError(fmt::format("n_draws: must be at least 1, it is {}", options.n_draws));
  const PilotInputs inputs = pilot_inputs(x, y);
  std::vector<DrawnPair> drawn;
  for (std::size_t i = 0; i < plan.allocation.curve.size(); ++i) {
    const plan::Pair& pair = plan.allocation.curve[i].pair;
    drawn.emplace_back(pair, plan.bandwidth[i], pair.head_dim == inputs.x.cols());
  }
  std::size_t done = 0;
  const std::size_t most = drawn.size() * static_cast<std::size_t>(options.n_draws);
  const auto draw_up_to = [&](DrawnPair& pair, Index wanted) {
    while (pair.n_draws() < wanted && !(pair.n_draws() > 0 && pair.is_settled(options.n_draws))) {
      pair.draw(inputs.x, y, options.seed);
      if (progress) progress(++done, most);
    }
  };
  for (DrawnPair& pair : drawn) draw_up_to(pair, std::min(kFirstDraws, options.n_draws));
  for (;;) {
    const std::vector<std::size_t> more = unsettled(drawn, facts_of(drawn, plan, options));
    if (more.empty()) return facts_of(drawn, plan, options);
    for (const std::size_t i : more) draw_up_to(drawn[i], std::min(2 * drawn[i].n_draws(), options.n_draws));
  }
}

}  // namespace headspan::estimator
