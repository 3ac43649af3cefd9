#include "headspan/numeric/optimize.h"

#include <fmt/format.h>
#include <nlopt.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <memory>

#include "headspan/numeric/error.h"

namespace headspan {
namespace {

struct Call {
  const Objective* objective;
  nlopt_opt optimizer = nullptr;
  Vector best, best_gradient;
  double best_value = HUGE_VAL;
  Index n_evaluations = 0;
  std::exception_ptr failure;
};

// NLopt is C: an exception must not pass through its frames.
double evaluate(unsigned n, const double* x, double* gradient, void* data) {
  Call& call = *static_cast<Call*>(data);
  const Vector at = Eigen::Map<const Vector>(x, n);
  Vector slope(n);
  try {
    const double value = (*call.objective)(at, gradient ? &slope : nullptr);
    ++call.n_evaluations;
    if (gradient) std::copy_n(slope.data(), n, gradient);
    if (value < call.best_value || call.best.size() == 0) {
      call.best = at;
      call.best_value = value;
      call.best_gradient = slope;
    }
    return value;
  } catch (...) {
    call.failure = std::current_exception();
    nlopt_force_stop(call.optimizer);
    return HUGE_VAL;
  }
}

nlopt_algorithm algorithm_of(MinimizeMethod method, Index n) {
  if (method == MinimizeMethod::quasi_newton) return NLOPT_LD_LBFGS;
  if (method == MinimizeMethod::subplex) return NLOPT_LN_SBPLX;
  if (n < 2) throw ArgumentError("minimize: a quadratic model wants at least two coordinates; use subplex");
  return NLOPT_LN_BOBYQA;
}

void check_box(VectorView start, VectorView lower, VectorView upper) {
  const Index n = start.size();
  if (n < 1 || lower.size() != n || upper.size() != n)
    throw ArgumentError(fmt::format("minimize: start, lower and upper have {}, {} and {} coordinates", n,
                                    lower.size(), upper.size()));
  if (!(lower.array() <= upper.array()).all() || !start.allFinite())
    throw ArgumentError("minimize: lower must not exceed upper, and start must be finite");
}

/// The gradient's largest component that does not push against the box.
double projected_residual(const Vector& at, const Vector& gradient, VectorView lower, VectorView upper) {
  double worst = 0.0;
  for (Index i = 0; i < at.size(); ++i) {
    const bool held = (at[i] <= lower[i] && gradient[i] > 0.0) || (at[i] >= upper[i] && gradient[i] < 0.0);
    if (!held) worst = std::max(worst, std::abs(gradient[i]));
  }
  return worst;
}

}  // namespace

Minimum minimize(const Objective& objective, VectorView start, VectorView lower, VectorView upper,
                 const MinimizeOptions& options) {
  check_box(start, lower, upper);
  const std::unique_ptr<nlopt_opt_s, decltype(&nlopt_destroy)> optimizer(
      nlopt_create(algorithm_of(options.method, start.size()), static_cast<unsigned>(start.size())),
      &nlopt_destroy);
  const Vector low = lower, high = upper;
  Call call{
      .objective = &objective, .optimizer = optimizer.get(), .best = {}, .best_gradient = {}, .failure = {}};
  nlopt_set_lower_bounds(optimizer.get(), low.data());
  nlopt_set_upper_bounds(optimizer.get(), high.data());
  nlopt_set_xtol_rel(optimizer.get(), options.x_tolerance);
  nlopt_set_xtol_abs1(optimizer.get(), options.x_tolerance);
  nlopt_set_ftol_rel(optimizer.get(), options.value_tolerance);
  nlopt_set_maxeval(optimizer.get(), options.max_evaluations);
  nlopt_set_min_objective(optimizer.get(), evaluate, &call);
  Vector x = start.cwiseMax(lower).cwiseMin(upper);
  double value = 0.0;
  const nlopt_result result = nlopt_optimize(optimizer.get(), x.data(), &value);
  if (call.failure) std::rethrow_exception(call.failure);
  Minimum minimum{.at = call.best, .value = call.best_value, .n_evaluations = call.n_evaluations};
  // A line search that finds nothing better at rounding level ends with NLOPT_FAILURE or ROUNDOFF_LIMITED;
  // the residual says whether that is a minimum.
  minimum.converged = result > 0 && result != NLOPT_MAXEVAL_REACHED;
  if (options.method == MinimizeMethod::quasi_newton)
    minimum.residual = projected_residual(minimum.at, call.best_gradient, lower, upper);
  return minimum;
}

}  // namespace headspan
