#pragma once
// Minimisation of a smooth or merely continuous function inside a box.

#include <functional>

#include "headspan/numeric/matrix.h"

namespace headspan {

/// The value at x; where `gradient` is not null it is filled too ([x.size()] on entry).
using Objective = std::function<double(const Vector& x, Vector* gradient)>;

enum class MinimizeMethod {
  quasi_newton,     ///< limited-memory, needs the gradient
  quadratic_model,  ///< BOBYQA: values of a smooth function of two coordinates or more
  subplex,          ///< values of any function
};

struct MinimizeOptions {
  MinimizeMethod method = MinimizeMethod::quasi_newton;
  /// Stops when a step changes every coordinate by less, relative to its size or where that is small
  /// absolutely.
  double x_tolerance = 1e-7;
  double value_tolerance = 1e-13;  ///< stops when a step changes the value by less, relative to it
  int max_evaluations = 2000;
};

struct Minimum {
  Vector at;              ///< inside the box
  double value = 0.0;     ///< the smallest value seen
  double residual = 0.0;  ///< largest component of the projected gradient at `at`; 0 without one
  Index n_evaluations = 0;
  bool converged = false;  ///< a tolerance was met, not the limit of evaluations
};

/// A local minimum of `objective` in lower <= x <= upper, from `start` (moved into the box). Deterministic.
/// Infinite values are allowed away from the start without a gradient. Exceptions of the objective pass
/// through. Throws ArgumentError on sizes that disagree, an empty box, or no coordinate.
Minimum minimize(const Objective& objective, VectorView start, VectorView lower, VectorView upper,
                 const MinimizeOptions& options = {});

}  // namespace headspan
