#pragma once
// Noise variances as callers give them: none, one for all, or one per value.

#include "headspan/numeric/matrix.h"

namespace headspan::nw {

/// Throws ArgumentError unless there are none, one or n of them, positive and finite.
void check_variances(const Vector& variances, Index n);

/// s2 of value i; 1 where none were given.
inline double variance_of(const Vector& variances, Index i) {
  return variances.size() == 0 ? 1.0 : variances[variances.size() == 1 ? 0 : i];
}

}  // namespace headspan::nw
