#pragma once
// Every way to weight the members, fitted and cross-validated.

#include <optional>
#include <vector>

#include "ensemble/moment_groups.h"
#include "headspan/ensemble/predictions.h"

namespace headspan::ensemble {

/// Uniform, optimal, shrunk, simplex, monotone, and the families, fitted to all groups. With two folds or
/// more also their risk on the groups of each fold, fitted to the others.
std::vector<FittedWeights> fit_weights(const std::vector<MomentSums>& groups, Index n_folds,
                                       std::optional<double> greatest_norm2);

}  // namespace headspan::ensemble
