#pragma once
// The weights of the members of an ensemble, as given or equal.

#include "headspan/numeric/matrix.h"

namespace headspan::ensemble {

/// `weights` checked, or 1/n_heads each where it is empty. Throws ArgumentError on another number of them, on
/// what is not finite, and, where `sum_to_one`, on another sum.
Vector head_weights(VectorView weights, Index n_heads, bool sum_to_one);

}  // namespace headspan::ensemble
