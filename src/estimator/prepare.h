#pragma once
// A model before its heads: rows in canonical order and standard units.

#include "estimator/canonical_rows.h"
#include "headspan/estimator/fit.h"

namespace headspan::estimator {

/// A result whose model has units, keys, target and frequencies, and no member yet. Throws as fit().
FitResult prepare(MatrixView x, VectorView y, VectorView row_weight);

/// 0, 1, ..., n - 1.
std::vector<Index> all_rows(Index n);

/// `count` of n rows by chance, ascending; all of them if there are no more.
std::vector<Index> sampled_rows(Index n, Index count, std::uint64_t seed);

}  // namespace headspan::estimator
