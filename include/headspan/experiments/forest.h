#pragma once
// Regression forests under a diversity dial: how many inputs a split may choose from.

#include "headspan/experiments/facts.h"

namespace headspan::experiments {

/// Grows a forest on a fresh training set in every replicate and measures the law at fixed points. There is
/// no closed form: rho_predicted is fitted to as many replicates again, none of them among those measured:
/// the weighted least-squares fit that never rises with the dial, with its standard error. A fit below zero
/// is left as it is. Deterministic for a seed and any number of threads. Throws ArgumentError, naming the
/// option, on mtry outside [1, p], p < 5, fewer than two trees, three replicates or two rows, and a negative
/// noise variance. Cost: 2 x rows x replicates x trees x O(mtry n log^2 n).
ForestFacts simulate_forest(const ForestOptions& options, const Progress& progress = {});

}  // namespace headspan::experiments
