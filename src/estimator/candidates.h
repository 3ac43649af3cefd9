#pragma once
// What fit_auto() tries, in order, and what each costs.

#include <vector>

#include "headspan/estimator/auto.h"

namespace headspan::estimator {

/// A candidate that would take more is given fewer evaluations per head, and left out if that is not enough,
/// so that others are tried beside it.
inline constexpr double kMostOfEffort = 0.45;

/// Candidates for `n` distinct rows of `p` inputs that vary, cheap and robust ones first. Their number of
/// chains is what a share of the effort allows, and one for tables that a sample chooses for. Averaged heads
/// on random projections have the pairs of `plan`.
std::vector<Candidate> candidates_for(Index n, Index p, const std::optional<HeadPlan>& plan,
                                      const AutoOptions& options);

}  // namespace headspan::estimator
