#pragma once
// The planner's word on averaged heads, for the search.

#include <optional>

#include "headspan/estimator/auto.h"

namespace headspan::estimator {

/// Pairs for averaged heads on random projections of `x` [m, p], `y` [m], of a table of `n` rows: the best
/// one of HeadPlan::kBudget, and the next among its near-ties. Nothing where the pilot would take more than a
/// twentieth of the effort, or the rows drawn for it are too few or have one target. Deterministic.
std::optional<HeadPlan> planned_heads(MatrixView x, VectorView y, Index n, const AutoOptions& options);

}  // namespace headspan::estimator
