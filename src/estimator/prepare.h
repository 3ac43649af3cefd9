#pragma once
// A model before its heads: rows in canonical order and standard units.

#include "estimator/canonical_rows.h"
#include "headspan/estimator/fit.h"
#include "headspan/numeric/random.h"

namespace headspan::estimator {

/// A result whose model has units, keys, target and frequencies, and no member yet. Throws as fit().
FitResult prepare(MatrixView x, VectorView y, VectorView row_weight);

/// 0, 1, ..., n - 1.
std::vector<Index> all_rows(Index n);

/// Of a model's seed, for the rows it samples; low numbers are those of the heads.
inline constexpr std::uint64_t kSampleStream = 1u << 20;

/// `count` of n rows by chance, ascending; all of them if there are no more.
std::vector<Index> sampled_rows(Index n, Index count, RandomStream random);

}  // namespace headspan::estimator
