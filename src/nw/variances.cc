#include "nw/variances.h"

#include <fmt/format.h>

#include <cmath>

#include "headspan/numeric/error.h"

namespace headspan::nw {

void check_variances(const Vector& variances, Index n) {
  if (variances.size() > 1 && variances.size() != n)
    throw ArgumentError(fmt::format("noise_variance: has {} values, wants one or {}", variances.size(), n));
  for (Index i = 0; i < variances.size(); ++i)
    if (!(variances[i] > 0.0) || !std::isfinite(variances[i]))
      throw ArgumentError(
          fmt::format("noise_variance: value {} is {}, must be positive and finite", i, variances[i]));
}

}  // namespace headspan::nw
