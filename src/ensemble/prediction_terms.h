#pragma once
// The terms of an ensemble's error as functions of second moments, for resampling.

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "ensemble/moment_groups.h"
#include "headspan/numeric/matrix.h"

namespace headspan::ensemble {

/// As in PredictionFacts; NaN where undefined.
struct PredictionTerms {
  double mse = 0.0, mean_member_mse = 0.0, ambiguity = 0.0;
  double bias2 = 0.0, variance = 0.0, covariance = 0.0, disparity = 0.0;
  double hdi = 0.0, n_eff_2 = 0.0;
};

inline constexpr std::array kPredictionTerms = {
    &PredictionTerms::mse,       &PredictionTerms::mean_member_mse,
    &PredictionTerms::ambiguity, &PredictionTerms::bias2,
    &PredictionTerms::variance,  &PredictionTerms::covariance,
    &PredictionTerms::disparity, &PredictionTerms::hdi,
    &PredictionTerms::n_eff_2,
};

/// m_hl / sqrt(m_hh m_ll) with a unit diagonal; empty where a diagonal entry is not positive.
std::optional<Matrix> correlation_of_moments(MatrixView m);

PredictionTerms prediction_terms(const MomentSums& sums);

/// Standard deviation of every term over `n_resamples` bootstrap samples of the groups; NaN where it is
/// undefined in some sample.
PredictionTerms bootstrap_errors(const std::vector<MomentSums>& groups, int n_resamples, std::uint64_t seed);

}  // namespace headspan::ensemble
