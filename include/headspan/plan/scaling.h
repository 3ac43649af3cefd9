#pragma once
// How the best head dimension grows with data and budget: closed forms, the continuous optimum, slopes, and
// the regime that says which law holds.

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "headspan/plan/profile.h"

namespace headspan::plan {

/// Real-valued head dimension and number of heads, H k = D.
struct ContinuousPair {
  double head_dim = 1.0, n_heads = 1.0;
};

/// W(exp(log_x)), the principal branch of Lambert's function, for any finite log_x: large arguments never
/// leave their logarithm. Relative accuracy 1e-14. Throws ArgumentError on what is not finite.
double lambert_w_of_exp(double log_x);

struct ClosedForm {
  ContinuousPair pair;
  bool exact = false;      ///< stationary point of the law less its floor, up to the 1 in growth^k - 1
  std::string assumption;  ///< what it leaves out
};

/// The minimiser of the law in closed form, held within 1 <= k <= D. With lambda the logarithm of the growth
/// and D at most d_model for a frame bound:
///   exponential bias   (g + lambda) k + log(1 + lambda k) = L, L = log(g A0 n D / s2), so that
///                      k = (W(a e^(L + a)) / a - 1) / lambda, a = (g + lambda) / lambda
///   polynomial bias    k = (p / lambda) W((lambda / p) (A0 s n D / (s2 lambda))^(1/p)), p = s + 2, for
///   lambda k
///                      large
/// and, with a common correlation rho > 0 in the limit of many heads,
///   exponential bias   k = log(g A0 n / (lambda s2 rho)) / (g + lambda)
///   polynomial bias    as above with p = s + 1 and n D replaced by n / rho.
/// Empty for other biases, measured correlations and bandwidths chosen per pair. Throws ArgumentError for a
/// budget below 1.
std::optional<ClosedForm> closed_form(const ErrorLaw& law, double budget);

/// The least of the law over real k in [1, D] with H = D/k, by a grid and Brent's method: the law without its
/// cap on the variance. Accuracy about 1e-7 relative. Throws ArgumentError for a budget below 1, and where
/// measured curves have no dimension in [1, D].
ContinuousPair continuous_optimum(const ErrorLaw& law, double budget);

/// A least-squares slope over equal steps of a logarithm.
struct Slope {
  double value = 0.0;
  std::optional<double> limit;             ///< what it tends to, where known
  double from = 0.0, to = 0.0;             ///< range of n, or of the budget
  Index n_points = 0, n_beyond_range = 0;  ///< points, and those whose optimum has growth^k > sqrt(n)
};

/// The least-squares slope of y on x over `n_points` arguments in equal ratios from `from` to `to`, at each
/// of which `point` gives x and y; no limit, none beyond the range. Throws ArgumentError unless 0 < from < to
/// and n_points >= 2.
Slope fit_slope(double from, double to, Index n_points,
                const std::function<std::pair<double, double>(double)>& point);

/// The name of a law and the law in words.
struct Regime {
  std::string name;  ///< e.g. "exponential_fixed": bias, bandwidth, and "_correlated" where diversity ends
  std::string law;
};

Regime regime(const ErrorLaw& law, double budget);

struct ScalingRanges {
  double n_from = 1e3, n_to = 1e12;
  double budget_from = 1e2, budget_to = 1e6;
};

struct Scaling {
  Regime regime;
  std::optional<ClosedForm> closed_form;
  ContinuousPair optimum;           ///< continuous_optimum()
  Slope head_dim_on_log_n;          ///< d k / d log n at the budget
  Slope log_n_heads_on_log_budget;  ///< d log H / d log D at the law's n
};

/// All of it; the slopes follow the closed form where there is one, else the continuous optimum. A measured
/// bias or correlation has slopes too, as far as its curve reaches. Throws ArgumentError as the functions
/// above do and for ranges that are empty or reach n <= 2 or a budget below 1. O(100) optima.
Scaling scaling(const ErrorLaw& law, double budget, const ScalingRanges& ranges = {});

}  // namespace headspan::plan
