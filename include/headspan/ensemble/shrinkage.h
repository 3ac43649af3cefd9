#pragma once
// Ledoit and Wolf's shrinkage of a covariance or second-moment matrix towards a multiple of the identity.

#include "headspan/numeric/matrix.h"

namespace headspan::ensemble {

/// (1 - shrinkage) S + shrinkage target I.
struct Shrunk {
  Matrix matrix;           ///< [p, p]
  double shrinkage = 0.0;  ///< in [0, 1]
  double target = 0.0;     ///< tr S / p
};

enum class Centring {
  means,  ///< S is a covariance: the means of the columns are taken off
  none,   ///< S is a second moment about zero, as of errors
};

/// The shrinkage of least expected squared distance from the truth, estimated from `rows` [n, p], independent
/// draws; S has divisor n [ledoit2004]. More columns than rows are fine. One row, or columns without spread,
/// say nothing about the error of S: shrinkage 0 where S has the target's form already. Throws ArgumentError
/// on no row or column, and what is not finite. Cost O(n p^2).
Shrunk ledoit_wolf(MatrixView rows, Centring centring = Centring::means);

/// The same from what can be added up over blocks of rows: S [p, p], already about the centre wanted, the sum
/// over the rows of |x|^4, and the number of rows. Throws ArgumentError unless S is square and n_rows
/// positive.
Shrunk shrink_second_moments(MatrixView s, double sum_fourth_powers, Index n_rows);

}  // namespace headspan::ensemble
