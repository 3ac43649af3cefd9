#include "ensemble/prediction_terms.h"

#include <cmath>
#include <limits>

#include "headspan/ensemble/correlation.h"
#include "headspan/numeric/parallel.h"
#include "headspan/numeric/random.h"

namespace headspan::ensemble {
namespace {

double mean_off_diagonal(const Matrix& m) {
  const double h = static_cast<double>(m.rows());
  return m.rows() > 1 ? (m.sum() - m.trace()) / (h * (h - 1.0)) : 0.0;
}

/// As many groups, drawn with replacement.
MomentSums resampled(const std::vector<MomentSums>& groups, RandomStream random) {
  std::vector<double> times(groups.size(), 0.0);
  for (std::size_t i = 0; i < groups.size(); ++i)
    times[static_cast<std::size_t>(random.uniform() * static_cast<double>(groups.size()))] += 1.0;
  MomentSums sums = MomentSums::nothing_like(groups.front());
  for (std::size_t g = 0; g < groups.size(); ++g)
    if (times[g] > 0.0) sums.add(groups[g], times[g]);
  return sums;
}

}  // namespace

std::optional<Matrix> correlation_of_moments(MatrixView m) {
  if (!(m.diagonal().minCoeff() > 0.0)) return std::nullopt;
  const Vector scale = m.diagonal().cwiseSqrt().cwiseInverse();
  Matrix correlation = scale.asDiagonal() * m * scale.asDiagonal();
  correlation.diagonal().setOnes();
  return correlation;
}

PredictionTerms prediction_terms(const MomentSums& sums) {
  const double n = static_cast<double>(sums.n_points), h = static_cast<double>(sums.errors.rows());
  const Matrix errors = sums.errors / n, covariance = sums.covariance / n;
  PredictionTerms out;
  out.mse = errors.mean();
  out.mean_member_mse = errors.trace() / h;
  out.ambiguity = out.mean_member_mse - out.mse;
  const bool has_replicates = covariance.size() > 0;
  if (has_replicates) {
    out.bias2 = out.mse - covariance.mean();
    out.variance = covariance.trace() / h;
    out.covariance = mean_off_diagonal(covariance);
    out.disparity = out.mean_member_mse - out.variance - out.bias2;
  }
  const auto correlation = correlation_of_moments(has_replicates ? covariance : errors);
  constexpr double kUndefined = std::numeric_limits<double>::quiet_NaN();
  out.hdi = correlation ? head_diversity_index(*correlation).value_or(kUndefined) : kUndefined;
  out.n_eff_2 = correlation ? h * h / correlation->squaredNorm() : kUndefined;
  return out;
}

PredictionTerms bootstrap_errors(const std::vector<MomentSums>& groups, int n_resamples, std::uint64_t seed) {
  std::vector<PredictionTerms> samples(static_cast<std::size_t>(n_resamples));
  parallel_for(n_resamples, [&](Index b) {
    // Stream 0 of the seed shuffled the points.
    const RandomStream random(seed, static_cast<std::uint64_t>(b) + 1);
    samples[static_cast<std::size_t>(b)] = prediction_terms(resampled(groups, random));
  });
  PredictionTerms out;
  for (const auto term : kPredictionTerms) {
    double mean = 0.0, squares = 0.0;
    for (const PredictionTerms& one : samples) mean += one.*term / n_resamples;
    for (const PredictionTerms& one : samples) squares += (one.*term - mean) * (one.*term - mean);
    out.*term = std::sqrt(squares / (n_resamples - 1));
  }
  return out;
}

}  // namespace headspan::ensemble
