#pragma once
// What fit_auto() tries, in order, and what each costs.

#include <vector>

#include "headspan/estimator/auto.h"

namespace headspan::estimator {

/// Candidates for `n` distinct rows of `p` inputs that vary, cheap and robust ones first. Their number of
/// chains is what a share of the effort allows.
std::vector<Candidate> candidates_for(Index n, Index p, const AutoOptions& options);

}  // namespace headspan::estimator
