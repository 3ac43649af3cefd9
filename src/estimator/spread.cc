#include "estimator/spread.h"

#include <cmath>
#include <limits>

namespace headspan::estimator {

double weighted_mean(VectorView values, VectorView frequency) {
  return frequency.dot(values) / frequency.sum();
}

double root_mean_square(VectorView values, VectorView frequency) {
  if (!values.allFinite()) return std::numeric_limits<double>::infinity();
  const double largest = values.size() > 0 ? values.cwiseAbs().maxCoeff() : 0.0;
  if (!(largest > 0.0)) return 0.0;
  // A power of two: scaling by it rounds nothing.
  const int size = std::ilogb(largest);
  const Vector scaled = values.unaryExpr([size](double value) { return std::ldexp(value, -size); });
  return std::ldexp(std::sqrt(frequency.dot(scaled.cwiseAbs2()) / frequency.sum()), size);
}

double weighted_deviation(VectorView values, VectorView frequency) {
  return root_mean_square((values.array() - weighted_mean(values, frequency)).matrix(), frequency);
}

}  // namespace headspan::estimator
