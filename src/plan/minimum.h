#pragma once
// The least of a function of one number, and logarithms that neither overflow nor cancel.

#include <functional>

namespace headspan::plan {

/// log(exp(x) - 1) for x >= 0; -inf at 0.
double log_expm1(double x);

/// Where `function` is least on [from, to]: the best of `n_grid` + 1 evenly spaced points, refined by Brent's
/// method between its neighbours. The function may be infinite. Deterministic; of equal points the first.
double minimum_of(const std::function<double(double)>& function, double from, double to, int n_grid);

}  // namespace headspan::plan
