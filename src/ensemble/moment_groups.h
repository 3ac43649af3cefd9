#pragma once
// Second moments of errors summed over random groups of points: what resampling and cross-validation need, at
// the cost of one pass over the data.

#include <cstdint>
#include <vector>

#include "headspan/ensemble/replicates.h"
#include "headspan/numeric/matrix.h"

namespace headspan::ensemble {

/// Sums over the points of one group; where it has all replicates, a point counts once, as the mean over
/// them.
struct MomentSums {
  Matrix errors;               // [H, H] (f_h - y)(f_l - y)
  Matrix covariance;           // [H, H] (f_h - E f_h)(f_l - E f_l); empty for one replicate
  double fourth_powers = 0.0;  // |f - y|^4
  Index n_points = 0;

  void add(const MomentSums& other, double times);
  /// Nothing yet, in the shape of `like`.
  static MomentSums nothing_like(const MomentSums& like);
};

/// Groups whose sizes differ by one point at most: one point each where there are few, and otherwise as many
/// as a fixed memory holds. The assignment depends on the seed and the number of points alone.
std::vector<MomentSums> group_moments(const Replicates& replicates, std::uint64_t seed);

/// One group for every training set, of its products at all points: what varies from one set to the next. The
/// covariance stays empty, and every point counts once in every set.
std::vector<MomentSums> moments_of_replicates(const Replicates& replicates);

}  // namespace headspan::ensemble
