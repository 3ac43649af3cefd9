#pragma once
// One search of a colony.

#include "headspan/experiments/options.h"
#include "headspan/numeric/random.h"

namespace headspan::experiments {

/// What the scouts know at the end.
struct SearchEnd {
  Matrix weight;      ///< [n_scouts, n_sites] observations behind an estimate; 0: not visited
  Matrix estimate;    ///< [n_scouts, n_sites] mean of them; 0 where not visited
  Index n_steps = 0;  ///< taken
};

/// Quality of site `site`: (site + 1) / n_sites.
double quality(Index site, const ColonyOptions& options);

/// Scouts of one step choose by the pheromone and trail that the step before left, so their order does not
/// matter. Cost O(N T K).
SearchEnd search(const ColonyOptions& options, double exploration, RandomStream& random);

}  // namespace headspan::experiments
