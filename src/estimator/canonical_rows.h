#pragma once
// The training table in an order of its own, so that nothing depends on how its rows were listed.

#include <vector>

#include "headspan/numeric/matrix.h"

namespace headspan::estimator {

/// Distinct rows (inputs and target), sorted; equal ones are one row whose frequency is their sum.
struct CanonicalRows {
  Matrix x;                  ///< [n, p]
  Vector y, frequency;       ///< [n]
  std::vector<Index> place;  ///< [rows given] where each went; -1 for rows of weight 0, which are left out
};

/// `row_weight` [rows] not negative, or empty for one each. Throws ArgumentError on sizes that disagree, NaN
/// or infinity, negative weights, or no row of positive weight.
CanonicalRows canonical_rows(MatrixView x, VectorView y, VectorView row_weight);

}  // namespace headspan::estimator
