#pragma once
// How the best head dimension grows with data and budget: closed forms, the continuous optimum, slopes, and
// the regime that says which law holds.

#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "headspan/plan/allocate.h"
#include "headspan/plan/profile.h"

namespace headspan::plan {

/// Real-valued head dimension and number of heads, H k = D.
struct ContinuousPair {
  double head_dim = 1.0, n_heads = 1.0;
};

/// Heads of any width: no d_model bounds them.
inline constexpr double kAnyWidth = std::numeric_limits<double>::infinity();

/// W(exp(log_x)), the principal branch of Lambert's function, for any finite log_x: large arguments never
/// leave their logarithm. Relative accuracy 1e-14. Throws ArgumentError on what is not finite.
double lambert_w_of_exp(double log_x);

struct ClosedForm {
  ContinuousPair pair;
  bool exact = false;      ///< stationary point of the law less its floor, up to the 1 in growth^k - 1
  std::string assumption;  ///< what it leaves out
};

/// The minimiser of the law in closed form, held within 1 <= k <= D, and k <= widest. With lambda the
/// logarithm of the growth and D at most d_model for a frame bound:
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
std::optional<ClosedForm> closed_form(const ErrorLaw& law, double budget, double widest = kAnyWidth);

/// The least of the law over real k in [1, D], at most `widest`, with H = D/k, by a grid and Brent's method:
/// the law without its cap on the variance. Accuracy about 1e-7 relative. Throws ArgumentError for a budget
/// below 1, and where measured curves have no dimension in [1, D].
ContinuousPair continuous_optimum(const ErrorLaw& law, double budget, double widest = kAnyWidth);

/// What holds a best head dimension fast: it would be smaller or larger without.
enum class Edge {
  none,
  one,       ///< head_dim 1
  measured,  ///< the least or the greatest dimension that every measured curve has
  budget,    ///< one head that spends it all
  width,     ///< d_model
};

/// "the budget"; empty for none.
const char* to_string(Edge edge);

/// The edge that `head_dim`, a best one, lies at. Without a bias there is no edge at 1: the law itself ends
/// there.
Edge edge_at(const ErrorLaw& law, double budget, double head_dim, double widest = kAnyWidth);

/// A least-squares slope over equal steps of a logarithm.
struct Slope {
  /// Over the points that lie at no edge; empty where nine in ten do: it would be that of the edge.
  std::optional<double> value;
  std::optional<double> limit;             ///< what it tends to, where known
  double from = 0.0, to = 0.0;             ///< range of n, or of the budget
  Index n_points = 0, n_beyond_range = 0;  ///< points, and those whose optimum has growth^k > sqrt(n)
  Index n_at_edge = 0;                     ///< points whose optimum is held fast
  std::vector<Edge> edges{};               ///< by what, each once, in the order of `Edge`
};

struct SlopePoint {
  double x = 0.0, y = 0.0;
  Edge edge = Edge::none;
  bool beyond_range = false;
};

/// The least-squares slope of y on x over `n_points` arguments in equal ratios from `from` to `to`, each
/// with its `point`; no limit. What differs by no more than optima are known to, 1e-6, has slope 0. Throws
/// ArgumentError unless 0 < from < to and n_points >= 2.
Slope fit_slope(double from, double to, Index n_points, const std::function<SlopePoint(double)>& point);

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
  Edge optimum_edge = Edge::none;   ///< where it lies
  Slope head_dim_on_log_n;          ///< d k / d log n at the budget
  Slope log_n_heads_on_log_budget;  ///< d log H / d log D at the law's n
};

/// All of it for heads no wider than `widest`; the slopes are those of the continuous optimum,
/// which a closed form may only approach. A measured bias or correlation has slopes too, as far as its curve
/// reaches. Throws ArgumentError as the functions above do and for ranges that are empty or reach n <= 2 or a
/// budget below 1. O(100) optima.
Scaling scaling(const ErrorLaw& law, double budget, const ScalingRanges& ranges = {},
                double widest = kAnyWidth);
/// For the budget and the widest head of `rules`.
Scaling scaling(const ErrorLaw& law, const PairRules& rules);

}  // namespace headspan::plan
