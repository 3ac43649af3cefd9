#include "headspan/plan/scaling.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/math/special_functions/lambert_w.hpp>
#include <cmath>
#include <set>
#include <vector>

#include "headspan/numeric/error.h"
#include "plan/curve.h"
#include "plan/minimum.h"

namespace headspan::plan {
namespace {

constexpr int kDimensionGrid = 200;
constexpr Index kSlopePoints = 46;

void check_budget(double budget) {
  if (!(budget >= 1.0) || !std::isfinite(budget))
    throw ArgumentError(fmt::format("budget: must be at least 1 and finite, it is {}", budget));
}

/// The logarithm that every closed form depends on: of n D / s2, or n / (s2 rho) where the heads stay
/// correlated.
struct Supply {
  double log = 0.0;
  bool correlated = false;
};

std::optional<Supply> supply_of(const ErrorLaw& law, double budget) {
  const LawOptions& o = law.options();
  const double log_n = std::log(o.n) - std::log(o.noise);
  if (std::holds_alternative<OrthogonalHeads>(o.correlation)) return Supply{log_n + std::log(budget), false};
  if (const auto* frame = std::get_if<FrameBound>(&o.correlation))
    return Supply{log_n + std::log(std::min(budget, frame->d_model)), false};
  const auto* common = std::get_if<CommonCorrelation>(&o.correlation);
  if (!common) return std::nullopt;
  if (common->rho == 0.0) return Supply{log_n + std::log(budget), false};
  return Supply{log_n - std::log(common->rho), true};
}

/// (g + lambda) k + log(1 + lambda k) = level for k; 0 where the level is not positive.
double exponential_root(double rate, double growth, double level) {
  if (!(level > 0.0)) return 0.0;
  if (growth == 0.0) return level / rate;
  const double alpha = (rate + growth) / growth;
  const double w = lambert_w_of_exp(std::log(alpha) + level + alpha);
  double k = (w / alpha - 1.0) / growth;
  // One step of Newton's method brings back what the difference from 1 loses where the growth is small.
  const double slope = rate + growth + growth / (1.0 + growth * k);
  k -= ((rate + growth) * k + std::log1p(growth * k) - level) / slope;
  return k;
}

/// k^power exp(growth k) = exp(level) for k.
double polynomial_root(double power, double growth, double level) {
  if (growth == 0.0) return std::exp(level / power);
  return power / growth * lambert_w_of_exp(std::log(growth / power) + level / power);
}

struct Root {
  double head_dim;
  bool exact;
  std::string assumption;
};

Root exponential_optimum(const ExponentialBias& bias, double growth, const Supply& supply) {
  const double level = std::log(bias.rate) + std::log(bias.scale) + supply.log;
  if (!supply.correlated)
    return {exponential_root(bias.rate, growth, level), true, "growth^k in place of growth^k - 1"};
  return {(level - std::log(growth)) / (bias.rate + growth), false, "many heads, growth^k well above 1"};
}

Root polynomial_optimum(const PolynomialBias& bias, double growth, const Supply& supply) {
  const double power = bias.power + (supply.correlated ? 1.0 : 2.0);
  const double level = std::log(bias.power) + std::log(bias.scale) + supply.log - std::log(growth);
  return {polynomial_root(power, growth, level), false,
          supply.correlated ? "many heads, growth^k well above 1" : "lambda k well above 1"};
}

ClosedForm held_within(const Root& root, double budget, double widest) {
  const double k = std::clamp(root.head_dim, 1.0, std::min(budget, widest));
  return {{k, budget / k}, root.exact, root.assumption};
}

bool is_measured(const LawOptions& options) { return !measured_curves(options).empty(); }

bool has_no_bias(const BiasProfile& bias) { return !measured_bias(bias) && greatest_bias(bias) == 0.0; }

/// Range of k that the law covers within [1, budget], and what ends it on either side.
struct Reach {
  double from = 1.0, to = 1.0;
  Edge first = Edge::one, last = Edge::budget;
};

Reach reach(const ErrorLaw& law, double budget, double widest) {
  Reach out{1.0, std::min(budget, widest), Edge::one, widest < budget ? Edge::width : Edge::budget};
  for (const MeasuredCurve* curve : measured_curves(law.options())) {
    const double from = curve->head_dim[0], to = curve->head_dim[curve->head_dim.size() - 1];
    if (from > out.from) {
      out.from = from;
      out.first = Edge::measured;
    }
    if (to < out.to) {
      out.to = to;
      out.last = Edge::measured;
    }
  }
  if (out.from > out.to)
    throw ArgumentError(
        fmt::format("budget: the measured curves have no dimension from 1 to {}", std::min(budget, widest)));
  return out;
}

constexpr double kOptimumAccuracy = 1e-6;  // relative; a tenth of it is what Brent's method gives

/// Least-squares slope of points that are at no edge.
std::optional<double> slope_of(const std::vector<SlopePoint>& points) {
  const auto size = static_cast<Index>(points.size());
  if (size < 2) return std::nullopt;
  Vector x(size), y(size);
  for (Index i = 0; i < size; ++i) {
    x[i] = points[static_cast<std::size_t>(i)].x;
    y[i] = points[static_cast<std::size_t>(i)].y;
  }
  if (y.maxCoeff() - y.minCoeff() <= kOptimumAccuracy * std::max(1.0, y.cwiseAbs().maxCoeff())) return 0.0;
  const Vector centred = x.array() - x.mean();
  return centred.dot(y) / centred.squaredNorm();
}

bool is_beyond_range(const ErrorLaw& law, const ContinuousPair& pair) {
  return law.at(pair.head_dim, pair.n_heads).beyond_range;
}

/// What d k / d log n tends to.
std::optional<double> dimension_limit(const ErrorLaw& law) {
  const LawOptions& o = law.options();
  if (is_measured(o)) return std::nullopt;
  if (has_no_bias(o.bias) || std::holds_alternative<FiniteBias>(o.bias)) return 0.0;
  const auto* fixed = std::get_if<FixedGrowth>(&o.growth);
  if (!fixed) return 0.0;
  if (const auto* exponential = std::get_if<ExponentialBias>(&o.bias))
    return 1.0 / (exponential->rate + fixed->log_growth);
  if (fixed->log_growth == 0.0) return std::nullopt;
  return 1.0 / fixed->log_growth;
}

std::optional<double> heads_limit(const ErrorLaw& law) {
  const LawOptions& o = law.options();
  if (is_measured(o)) return std::nullopt;
  const auto* fixed = std::get_if<FixedGrowth>(&o.growth);
  if (fixed && fixed->log_growth == 0.0) return std::nullopt;
  return 1.0;
}

std::string growth_words(const BiasProfile& bias, bool is_fixed) {
  const bool exponential = std::holds_alternative<ExponentialBias>(bias);
  if (!is_fixed) return exponential ? "sqrt(log n)" : "log n / log log n";
  return exponential ? "log n / (g + lambda)" : "log n / lambda";
}

/// Of the variance (1 + rho (H - 1)) / H the shared part is the larger one.
bool mostly_shared(double rho, double n_heads) { return rho >= 1.0 || rho * (n_heads - 1.0) >= 1.0; }

}  // namespace

double lambert_w_of_exp(double log_x) {
  if (!std::isfinite(log_x)) throw ArgumentError(fmt::format("log_x: must be finite, it is {}", log_x));
  constexpr double kDirect = 500.0;  // exp() of more than 709 overflows
  if (log_x < kDirect) return boost::math::lambert_w0(std::exp(log_x));
  double w = log_x - std::log(log_x);
  for (int i = 0; i < 4; ++i) w -= (w + std::log(w) - log_x) * w / (w + 1.0);
  return w;
}

const char* to_string(Edge edge) {
  switch (edge) {
    case Edge::none:
      return "";
    case Edge::one:
      return "head_dim 1";
    case Edge::measured:
      return "the head dimensions measured";
    case Edge::budget:
      return "the budget";
    case Edge::width:
      return "d_model";
  }
  return "";
}

Edge edge_at(const ErrorLaw& law, double budget, double head_dim, double widest) {
  const Reach range = reach(law, budget, widest);
  if (head_dim >= range.to * (1.0 - kOptimumAccuracy)) return range.last;
  if (head_dim > range.from * (1.0 + kOptimumAccuracy)) return Edge::none;
  const bool ends_there = range.first == Edge::one && has_no_bias(law.options().bias);
  return ends_there ? Edge::none : range.first;
}

Slope fit_slope(double from, double to, Index n_points, const std::function<SlopePoint(double)>& point) {
  if (!(from > 0.0 && to > from && std::isfinite(to)) || n_points < 2)
    throw ArgumentError(
        fmt::format("fit_slope: a range and two points are wanted, not {} to {} and {}", from, to, n_points));
  Slope slope;
  slope.from = from;
  slope.to = to;
  slope.n_points = n_points;
  std::vector<SlopePoint> free;
  std::set<Edge> edges;
  const double step = (std::log(to) - std::log(from)) / static_cast<double>(n_points - 1);
  for (Index i = 0; i < n_points; ++i) {
    const SlopePoint one = point(std::exp(std::log(from) + step * static_cast<double>(i)));
    slope.n_beyond_range += one.beyond_range ? 1 : 0;
    if (one.edge == Edge::none)
      free.push_back(one);
    else
      edges.insert(one.edge);
  }
  slope.n_at_edge = n_points - static_cast<Index>(free.size());
  slope.edges.assign(edges.begin(), edges.end());
  if (10 * slope.n_at_edge < 9 * n_points) slope.value = slope_of(free);
  return slope;
}

std::optional<ClosedForm> closed_form(const ErrorLaw& law, double budget, double widest) {
  check_budget(budget);
  const LawOptions& o = law.options();
  const auto* fixed = std::get_if<FixedGrowth>(&o.growth);
  const std::optional<Supply> supply = supply_of(law, budget);
  if (!fixed || !supply || has_no_bias(o.bias)) return std::nullopt;
  if (fixed->log_growth == 0.0 && supply->correlated) return std::nullopt;
  std::optional<ClosedForm> form;
  if (const auto* exponential = std::get_if<ExponentialBias>(&o.bias))
    form = held_within(exponential_optimum(*exponential, fixed->log_growth, *supply), budget, widest);
  const auto* polynomial = std::get_if<PolynomialBias>(&o.bias);
  if (polynomial && fixed->log_growth > 0.0)
    form = held_within(polynomial_optimum(*polynomial, fixed->log_growth, *supply), budget, widest);
  // The correlated forms leave out what the heads do not share.
  if (form && supply->correlated &&
      !mostly_shared(std::get<CommonCorrelation>(o.correlation).rho, form->pair.n_heads))
    return std::nullopt;
  return form;
}

ContinuousPair continuous_optimum(const ErrorLaw& law, double budget, double widest) {
  check_budget(budget);
  const Reach range = reach(law, budget, widest);
  const double from = range.from, to = range.to;
  const auto error = [&](double log_k) {
    const double k = std::clamp(std::exp(log_k), from, to);
    return law.excess(k, std::max(1.0, budget / k));
  };
  const double k =
      std::clamp(std::exp(minimum_of(error, std::log(from), std::log(to), kDimensionGrid)), from, to);
  return {k, std::max(1.0, budget / k)};
}

/// D no longer enters the best dimension: heads that stay correlated, or more of them than fit side by side.
namespace {

bool is_saturated(const ErrorLaw& law, double budget) {
  if (const auto* frame = std::get_if<FrameBound>(&law.options().correlation)) return budget > frame->d_model;
  const ContinuousPair best = continuous_optimum(law, budget);
  return mostly_shared(law.at(best.head_dim, best.n_heads).rho, best.n_heads);
}

}  // namespace

Regime regime(const ErrorLaw& law, double budget) {
  check_budget(budget);
  const LawOptions& o = law.options();
  // A correlation that falls with the dimension can make wider heads better by itself.
  if (is_measured(o)) return {"measured", "no law beyond the head dimensions that were measured"};
  if (has_no_bias(o.bias))
    return {"no_bias", "nothing is gained by wider heads: head_dim is 1, n_heads is the budget"};
  if (const auto* finite = std::get_if<FiniteBias>(&o.bias))
    return {
        "intrinsic_dimension",
        fmt::format("head_dim grows with n to the intrinsic dimension {} and stays there; n_heads is linear "
                    "in the budget",
                    finite->dimension)};
  const bool exponential = std::holds_alternative<ExponentialBias>(o.bias);
  const bool fixed = std::holds_alternative<FixedGrowth>(o.growth);
  const bool saturated = is_saturated(law, budget);
  const std::string name = fmt::format("{}_{}{}", exponential ? "exponential" : "polynomial",
                                       fixed ? "fixed" : "optimal", saturated ? "_correlated" : "");
  const std::string words = growth_words(o.bias, fixed);
  if (saturated)
    return {name,
            fmt::format("head_dim grows as {}, whatever the budget; n_heads is linear in the budget", words)};
  return {name,
          fmt::format("head_dim grows as {}, and with the budget D as with n; n_heads is nearly linear in D, "
                      "as D over head_dim",
                      words)};
}

Scaling scaling(const ErrorLaw& law, double budget, const ScalingRanges& ranges, double widest) {
  if (!(ranges.n_from > 2.0 && ranges.n_to > ranges.n_from && std::isfinite(ranges.n_to)))
    throw ArgumentError(
        fmt::format("n_from, n_to: a range above 2 is wanted, it is {} to {}", ranges.n_from, ranges.n_to));
  if (!(ranges.budget_from >= 1.0 && ranges.budget_to > ranges.budget_from &&
        std::isfinite(ranges.budget_to)))
    throw ArgumentError(fmt::format("budget_from, budget_to: a range from 1 is wanted, it is {} to {}",
                                    ranges.budget_from, ranges.budget_to));
  Scaling out;
  out.regime = regime(law, budget);
  out.closed_form = closed_form(law, budget, widest);
  out.optimum = continuous_optimum(law, budget, widest);
  out.optimum_edge = edge_at(law, budget, out.optimum.head_dim, widest);
  // Where the best head dimension lies for another n or budget.
  const auto place = [widest](const ErrorLaw& other, double d, const ContinuousPair& pair) {
    return SlopePoint{0.0, 0.0, edge_at(other, d, pair.head_dim, widest), is_beyond_range(other, pair)};
  };
  out.head_dim_on_log_n = fit_slope(ranges.n_from, ranges.n_to, kSlopePoints, [&](double n) {
    const ErrorLaw other = law.with_n(n);
    const ContinuousPair pair = continuous_optimum(other, budget, widest);
    SlopePoint point = place(other, budget, pair);
    point.x = std::log(n);
    point.y = pair.head_dim;
    return point;
  });
  out.head_dim_on_log_n.limit = dimension_limit(law);
  out.log_n_heads_on_log_budget =
      fit_slope(ranges.budget_from, ranges.budget_to, kSlopePoints, [&](double d) {
        const ContinuousPair pair = continuous_optimum(law, d, widest);
        SlopePoint point = place(law, d, pair);
        point.x = std::log(d);
        point.y = std::log(pair.n_heads);
        return point;
      });
  out.log_n_heads_on_log_budget.limit = heads_limit(law);
  return out;
}

Scaling scaling(const ErrorLaw& law, const PairRules& rules) {
  return scaling(law, static_cast<double>(rules.budget), {},
                 rules.d_model ? static_cast<double>(*rules.d_model) : kAnyWidth);
}

}  // namespace headspan::plan
