#include "headspan/experiments/colony.h"

#include "experiments/colony_search.h"
#include "experiments/measure.h"
#include "headspan/numeric/error.h"
#include "headspan/numeric/parallel.h"

namespace headspan::experiments {
namespace {

void check(const ColonyOptions& o) {
  require_some("exploration", o.exploration.size());
  for (const double share : o.exploration) require_within("exploration", share, 0.0, 1.0);
  require_at_least("n_scouts", o.n_scouts, 2);
  require_at_least("n_sites", o.n_sites, 2);
  require_at_least("n_steps", o.n_steps, 1);
  require_at_least("n_replicates", o.n_replicates, 3);
  require_positive("noise_sd", o.noise_sd);
  require_within("evaporation", o.evaporation, 0.0, 1.0);
  require_within("sharing", o.sharing, 0.0, 1e6);
  require_within("quorum", o.quorum, 0.0, 1.0);
}

/// Mean over pairs of scouts of the correlation of their rows; scouts whose estimates do not vary count as
/// uncorrelated.
double mean_correlation(const Matrix& estimate) {
  Matrix unit = estimate.colwise() - estimate.rowwise().mean();
  double varying = 0.0;
  for (Index scout = 0; scout < unit.rows(); ++scout) {
    const double norm = unit.row(scout).norm();
    if (!(norm > 0.0)) continue;
    unit.row(scout) /= norm;
    varying += 1.0;
  }
  const double n = static_cast<double>(unit.rows());
  return (unit.colwise().sum().squaredNorm() - varying) / (n * (n - 1.0));
}

/// The site that most scouts think best, of equal ones the first.
Index agreed_site(const SearchEnd& end) {
  Vector votes = Vector::Zero(end.weight.cols());
  for (Index scout = 0; scout < end.weight.rows(); ++scout) {
    Index best = -1;
    for (Index site = 0; site < end.weight.cols(); ++site)
      if (end.weight(scout, site) > 0.0 &&
          (best < 0 || end.estimate(scout, site) > end.estimate(scout, best)))
        best = site;
    votes[best] += 1.0;
  }
  Index most = 0;
  votes.maxCoeff(&most);
  return most;
}

/// Replicates `first` and those after it.
ColonyRow measured(const ColonyOptions& o, Index at, Index first) {
  const double exploration = o.exploration[static_cast<std::size_t>(at)];
  ErrorSums errors(o.n_replicates, o.n_sites);
  Vector correlation(o.n_replicates), right(o.n_replicates), steps(o.n_replicates);
  parallel_for(o.n_replicates, [&](Index r) {
    RandomStream random(o.seed, stream_of(at + 1, first + r, 0));
    const SearchEnd end = search(o, exploration, random);
    for (Index scout = 0; scout < o.n_scouts; ++scout)
      for (Index site = 0; site < o.n_sites; ++site)
        if (end.weight(scout, site) > 0.0) errors.add(r, site, end.estimate(scout, site) - quality(site, o));
    correlation[r] = mean_correlation(end.estimate);
    right[r] = agreed_site(end) == o.n_sites - 1 ? 1.0 : 0.0;
    steps[r] = static_cast<double>(end.n_steps);
  });
  ColonyRow row;
  row.law = measured_law(errors);
  row.law.dial = exploration;
  row.estimate_correlation = mean_of(correlation);
  row.visited = errors.count.mean() / static_cast<double>(o.n_scouts);
  row.accuracy = mean_of(right);
  row.n_steps = steps.mean();
  return row;
}

}  // namespace

const char* to_string(ColonyRule rule) { return rule == ColonyRule::thompson ? "thompson" : "pheromone"; }

ColonyFacts simulate_colony(const ColonyOptions& options, const Progress& progress) {
  check(options);
  ColonyFacts facts;
  facts.options = options;
  std::vector<DialPoint> fitted;
  for (std::size_t at = 0; at < options.exploration.size(); ++at) {
    facts.rows.push_back(measured(options, static_cast<Index>(at), 0));
    const LawRow others = measured(options, static_cast<Index>(at), options.n_replicates).law;
    fitted.push_back({others.dial, others.rho});
    if (progress) progress(at + 1, options.exploration.size());
  }
  std::vector<LawRow*> rows;
  for (ColonyRow& row : facts.rows) rows.push_back(&row.law);
  predict_from(fitted, rows);
  const auto [least, most] = ends_of_dial(facts.rows);
  facts.trend = trend_between(least->law.rho, most->law.rho);
  facts.estimate_trend = trend_between(least->estimate_correlation, most->estimate_correlation);
  return facts;
}

}  // namespace headspan::experiments
