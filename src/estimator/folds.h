#pragma once
// Rows dealt into folds.

#include <cstdint>
#include <vector>

#include "headspan/numeric/matrix.h"

namespace headspan::estimator {

/// Below, a fold's member would be no estimate.
inline constexpr Index kFewestForFolds = 4;

/// [n] the fold of every row: min(n_folds, n) folds whose sizes differ by one at most, dealt by chance.
std::vector<Index> folds(Index n, Index n_folds, std::uint64_t seed);

struct FoldRows {
  std::vector<Index> seen, held_out;  ///< ascending
};
FoldRows rows_of_fold(const std::vector<Index>& fold_of_row, Index fold);

}  // namespace headspan::estimator
