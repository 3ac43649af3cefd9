#pragma once
// A colony of scouts under a diversity dial: how often they explore.

#include "headspan/experiments/facts.h"

namespace headspan::experiments {

/// N scouts, all alike, look for the best of K sites. In every step each visits a uniform site with the
/// exploration probability, otherwise one by the rule; it observes the site's quality with noise and updates
/// its own mean of that site. A scout whose mean is above the average of its means recruits: it lays the
/// difference as pheromone, and its mean on the site's trail. A follower of pheromone reads the trail, as
/// `sharing` observations. Pheromone and trail evaporate. Once `quorum` of the scouts are at one site in the
/// same step, the search ends. The colony's estimate of a site is the mean over the scouts that visited it,
/// and the errors of those alone are correlated; the site most scouts think best is the colony's choice.
/// rho_predicted as in simulate_forest. Deterministic for a seed and any number of threads. Throws
/// ArgumentError, naming the option. Cost: 2 x rows x replicates x N T K.
ColonyFacts simulate_colony(const ColonyOptions& options, const Progress& progress = {});

}  // namespace headspan::experiments
