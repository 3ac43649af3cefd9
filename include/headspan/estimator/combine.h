#pragma once
// Weights of several predictions of the same target, from predictions that did not see it.

#include <optional>

#include "headspan/numeric/matrix.h"

namespace headspan::estimator {

/// Minimises sum_i c_i (y_i - sum_h a_h F_ih)^2 over a_h >= 0, sum a = 1, and |a|^2 <= greatest_norm2 where
/// given: 1/G asks for at least G effective members, cut to H. `outputs` [n, H] left-out or
/// held-out predictions, `y` [n], `frequency` [n]. By ensemble::simplex_weights() of the second moments
/// of the errors; O(n H^2 + H^4). Throws ArgumentError on sizes that disagree, no row or no column.
Vector simplex_weights(MatrixView outputs, VectorView y, VectorView frequency,
                       std::optional<double> greatest_norm2 = std::nullopt);

/// Minimises sum_i c_i (y_i - sum_h a_h F_ih)^2 + ridge |a - 1/H|^2, the ridge by leave-one-out of this
/// regression itself. Weights of any sign and sum: an output projection. Throws as simplex_weights().
Vector shrunk_weights(MatrixView outputs, VectorView y, VectorView frequency);

}  // namespace headspan::estimator
