#pragma once
// The claims, one function and one source file per section of the theory.

#include <vector>

#include "headspan/experiments/claims.h"

namespace headspan::experiments {

/// Bound on the rounding of sums of some hundred terms of size one.
inline constexpr double kRounding = 1e-12;
inline constexpr double kUnitRoundoff = 0x1p-53;

std::vector<Claim> attention_claims();      // one head is a Nadaraya-Watson estimator
std::vector<Claim> decomposition_claims();  // bias, variance and covariance
std::vector<Claim> angle_claims();          // principal angles and what chance gives
std::vector<Claim> correlation_claims();    // from angles to correlation
std::vector<Claim> diversity_claims();      // the Head Diversity Index
std::vector<Claim> weight_claims();         // weights of the ensemble
std::vector<Claim> allocation_claims();     // how many heads of which dimension
std::vector<Claim> ensemble_claims();       // one law for heads, forest, colony

}  // namespace headspan::experiments
