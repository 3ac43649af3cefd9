#pragma once
// The law of the figures that the paper prints, for tests.

#include "headspan/plan/allocate.h"

namespace headspan::plan {

inline LawOptions published(double n) {
  return {ExponentialBias{1.0, 0.5}, FixedGrowth{log_growth(1.0)}, OrthogonalHeads{}, 1.0, n};
}

}  // namespace headspan::plan
