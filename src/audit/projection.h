#pragma once
// One projection of a layer made ready: heads without usable numbers set aside, then orthonormal frames in
// place.

#include <optional>
#include <string>
#include <vector>

#include "headspan/audit/facts.h"
#include "headspan/numeric/heads.h"

namespace headspan::audit {

/// State of the heads of one projection.
struct ProjectionState {
  std::vector<Status> status;            ///< ok, dead, non_finite; rank_deficient after `orthonormalise`
  std::vector<int> exponent;             ///< head h was multiplied by 2^-exponent
  std::vector<std::optional<int>> rank;  ///< empty for non-finite heads
  double tolerance = 0.0;                ///< largest rank tolerance, in the units of the stored weights
  Index full_rank = 0;

  bool usable(Index h) const {
    const Status s = status[static_cast<std::size_t>(h)];
    return s == Status::ok || s == Status::rank_deficient;
  }
};

/// Sets NaN or infinite heads to zero and scales every other head by a power of two to entries of at most 2,
/// so that products of four weights neither overflow nor vanish; every correlation is unchanged by it. `gain`
/// (of an inner norm, or empty) makes a head non-finite too.
ProjectionState set_aside_unusable(HeadWeights& part, Vector* gain);

/// Multiplies the rows by `factor` [d, d] from the right, in place.
void transform_input(HeadWeights& part, MatrixView factor);

/// Replaces every head by its frame (orthonormal rows, then zero rows) and records ranks and tolerance.
void orthonormalise(HeadWeights& part, ProjectionState& state);

}  // namespace headspan::audit
