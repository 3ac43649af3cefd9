#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>

#include "estimator/pilot_heads.h"
#include "headspan/estimator/pilot.h"
#include "headspan/numeric/error.h"
#include "headspan/numeric/parallel.h"
#include "headspan/numeric/random.h"

namespace headspan::estimator {
namespace {

constexpr Index kSlopePoints = 17;

/// Products of the heads of one cell under weights of the points.
struct Means {
  MeanProducts residual, weight;
};

/// Per dimension and cell.
using Table = std::vector<std::vector<Means>>;

MeanProducts under(const HeadProducts& products, const Vector& weights) {
  return {products.own.dot(weights), products.within.dot(weights), products.across.dot(weights)};
}

/// `weights` [m] sum to one.
Table means_of(const Pilot& pilot, const Vector& weights) {
  Table out;
  for (const PilotDimension& dimension : pilot.dimensions) {
    std::vector<Means> row;
    for (const PilotCell& cell : dimension.cells)
      row.push_back({under(cell.residual, weights), under(cell.weight, weights)});
    out.push_back(std::move(row));
  }
  return out;
}

/// The share of the noise in a variance, carried from m points to n: 1/m becomes 1/n, and 1 stays 1.
double carried(double share, double m, double n) {
  if (m == n || share >= 1.0) return share;
  const double odds = share / (1.0 - share) * (m - 1.0) / (n - 1.0);
  return odds / (1.0 + odds);
}

/// One cell in the terms of a law for n points.
struct Terms {
  double own_bias, shared_bias, variance, covariance;
  double mse(double n_heads) const {
    const double shared = shared_bias + covariance;
    return shared + (own_bias + variance - shared) / n_heads;
  }
  double log_variance(double floor) const { return std::log(std::max(variance / floor, 1.0 + 1e-12)); }
  double rho(double floor) const {
    return std::clamp((covariance - floor) / std::max(variance - floor, 1e-12 * floor), -1.0, 1.0);
  }
};

/// Of two heads of `n_heads`, of which so many are in one basis as a share says.
double mixed(const MeanProducts& products, double share) {
  return share * products.within + (1.0 - share) * products.across;
}

/// What the cells of one head dimension are read for.
struct Ensemble {
  double n_heads, share;  ///< share of the pairs that are of one basis
};

Ensemble ensemble_of(const Pilot& pilot, Index head_dim, double n_heads) {
  return {n_heads, share_within(n_heads, static_cast<double>(pilot.d / head_dim))};
}

Terms terms_of(const Means& means, const Pilot& pilot, double n, const Ensemble& ensemble) {
  const double m = static_cast<double>(pilot.n_used), s2 = pilot.noise;
  const double covariance = mixed(means.weight, ensemble.share);
  return {means.residual.own - s2 * (1.0 + means.weight.own),
          mixed(means.residual, ensemble.share) - s2 * (1.0 + covariance),
          s2 * carried(means.weight.own, m - 1.0, n - 1.0), s2 * carried(covariance, m - 1.0, n - 1.0)};
}

/// The cell of least predicted error for such an ensemble.
std::size_t best_cell(const std::vector<Means>& cells, const Pilot& pilot, double n,
                      const Ensemble& ensemble) {
  std::size_t best = 0;
  double least = 0.0;
  for (std::size_t j = 0; j < cells.size(); ++j) {
    const double mse = terms_of(cells[j], pilot, n, ensemble).mse(ensemble.n_heads);
    if (j > 0 && !(mse < least)) continue;
    least = mse;
    best = j;
  }
  return best;
}

double heads_of(const plan::PairRules& rules, Index head_dim) {
  return static_cast<double>(
      std::max<Index>(1, rules.budget / head_dim / rules.n_kv_heads * rules.n_kv_heads));
}

std::size_t cell_of(const PilotDimension& dimension, double bandwidth) {
  const auto& cells = dimension.cells;
  const auto found = std::find_if(cells.begin(), cells.end(),
                                  [&](const PilotCell& cell) { return cell.bandwidth == bandwidth; });
  return static_cast<std::size_t>(found - cells.begin());
}

/// Of the i-th head dimension at one of its cells, with as many heads as the budget buys.
Terms terms_of_plan(const Pilot& pilot, const Table& table, std::size_t i, std::size_t cell,
                    const plan::PairRules& rules, double n) {
  const Index head_dim = pilot.dimensions[i].head_dim;
  return terms_of(table[i][cell], pilot, n, ensemble_of(pilot, head_dim, heads_of(rules, head_dim)));
}

/// A law and the cells it was read off.
struct Reading {
  plan::LawOptions law;
  std::vector<std::size_t> cells;
};

Reading read(const Pilot& pilot, const Table& table, double n, const std::function<double(Index)>& n_heads) {
  const auto size = static_cast<Index>(pilot.dimensions.size());
  plan::MeasuredCurve shared{Vector(size), Vector(size), {}};
  plan::MeasuredCurve log_variance = shared, rho = shared;
  plan::MeasuredBias bias{{}, Vector(size)};
  Reading out;
  const double floor = pilot.noise / n;
  for (Index i = 0; i < size; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const Index head_dim = pilot.dimensions[at].head_dim;
    const Ensemble ensemble = ensemble_of(pilot, head_dim, n_heads(head_dim));
    out.cells.push_back(best_cell(table[at], pilot, n, ensemble));
    const Terms terms = terms_of(table[at][out.cells.back()], pilot, n, ensemble);
    shared.head_dim[i] = log_variance.head_dim[i] = rho.head_dim[i] = static_cast<double>(head_dim);
    shared.value[i] = terms.shared_bias;
    bias.own[i] = terms.own_bias;
    log_variance.value[i] = terms.log_variance(floor);
    rho.value[i] = terms.rho(floor);
  }
  bias.shared = std::move(shared);
  out.law = {std::move(bias), plan::MeasuredGrowth{std::move(log_variance)}, std::move(rho), pilot.noise, n};
  return out;
}

/// Straight line between measured dimensions through the logarithms of the chosen bandwidths.
double bandwidth_at(const Pilot& pilot, const std::vector<std::size_t>& cells, Index head_dim) {
  const auto chosen = [&](std::size_t i) { return pilot.dimensions[i].cells[cells[i]].bandwidth; };
  std::size_t right = 0;
  while (pilot.dimensions[right].head_dim < head_dim) ++right;
  if (pilot.dimensions[right].head_dim == head_dim) return chosen(right);
  const double from = static_cast<double>(pilot.dimensions[right - 1].head_dim);
  const double share =
      (static_cast<double>(head_dim) - from) / (static_cast<double>(pilot.dimensions[right].head_dim) - from);
  return chosen(right - 1) * std::pow(chosen(right) / chosen(right - 1), share);
}

/// Least-squares slope of log variance on head dimension at the bandwidths nearest to `bandwidth`, where they
/// are within a quarter octave of it.
double growth_slope(const Pilot& pilot, const Table& table, double bandwidth) {
  std::vector<std::pair<double, double>> points;
  for (std::size_t i = 0; i < table.size(); ++i)
    for (std::size_t j = 0; j < table[i].size(); ++j) {
      const PilotCell& cell = pilot.dimensions[i].cells[j];
      if (std::abs(std::log2(cell.bandwidth / bandwidth)) > 0.25 + 1e-9) continue;
      points.emplace_back(static_cast<double>(pilot.dimensions[i].head_dim),
                          std::log(table[i][j].weight.own));
      break;
    }
  double x = 0.0, y = 0.0, xx = 0.0, xy = 0.0;
  for (const auto& [at, value] : points) {
    x += at / static_cast<double>(points.size());
    y += value / static_cast<double>(points.size());
  }
  for (const auto& [at, value] : points) {
    xx += (at - x) * (at - x);
    xy += (at - x) * (value - y);
  }
  return xx > 0.0 ? xy / xx : std::numeric_limits<double>::quiet_NaN();
}

/// Standard error, for the projections drawn, of the error that the heads of a cell predict for an ensemble:
/// the jackknife over bases. 0 where one head sees all inputs, and where fewer than three bases were drawn.
double projection_error(const Matrix& moments, Index per_basis, const Ensemble& ensemble) {
  const Index drawn = moments.rows(), n_bases = (drawn + per_basis - 1) / per_basis;
  if (n_bases < 3) return 0.0;
  Vector without(n_bases);
  for (Index basis = 0; basis < n_bases; ++basis) {
    std::vector<Index> kept;
    for (Index h = 0; h < drawn; ++h)
      if (h / per_basis != basis) kept.push_back(h);
    const MeanProducts means = mean_products(Matrix(moments(kept, kept)), per_basis);
    const double shared = mixed(means, ensemble.share);
    without[basis] = shared + (means.own - shared) / ensemble.n_heads;
  }
  const double b = static_cast<double>(n_bases);
  return std::sqrt((b - 1.0) / b * (without.array() - without.mean()).square().sum());
}

/// The same for every pair of the curve; between measured dimensions that of the next one.
Vector projection_errors(const Pilot& pilot, const PilotPlan& plan) {
  const auto& curve = plan.allocation.curve;
  Vector out(static_cast<Index>(curve.size()));
  std::size_t i = 0;
  for (Index pair = 0; pair < out.size(); ++pair) {
    const plan::Pair& at = curve[static_cast<std::size_t>(pair)].pair;
    while (pilot.dimensions[i].head_dim < at.head_dim) ++i;
    const PilotDimension& dimension = pilot.dimensions[i];
    const PilotCell& cell = dimension.cells[cell_of(dimension, plan.estimates[i].bandwidth)];
    out[pair] = projection_error(cell.moments, dimension.per_basis,
                                 ensemble_of(pilot, at.head_dim, static_cast<double>(at.n_heads)));
  }
  return out;
}

/// Weights of one resample of m points: how often each was drawn, over m.
Vector resample(Index m, std::uint64_t seed, std::uint64_t stream) {
  RandomStream random(seed, stream);
  Vector weights = Vector::Zero(m);
  for (Index i = 0; i < m; ++i)
    weights[static_cast<Index>(random.uniform() * static_cast<double>(m))] += 1.0 / static_cast<double>(m);
  return weights;
}

/// What varies from resample to resample, one column of `values` per quantity.
class Bootstrap {
 public:
  Bootstrap(Index n_resamples, Index n_quantities) : values_(n_resamples, n_quantities) {}
  Matrix& values() { return values_; }
  double standard_error(Index quantity) const {
    const Vector centred = values_.col(quantity).array() - values_.col(quantity).mean();
    return std::sqrt(centred.squaredNorm() / static_cast<double>(std::max<Index>(1, values_.rows() - 1)));
  }

 private:
  Matrix values_;
};

constexpr std::uint64_t kResampleStream = std::uint64_t{1} << 40;

/// The plan before its standard errors.
PilotPlan point_plan(const Pilot& pilot, const Table& table, const plan::PairRules& rules, double n) {
  PilotPlan out;
  out.n = n;
  const Reading reading = read(pilot, table, n, [&](Index k) { return heads_of(rules, k); });
  out.law = reading.law;
  out.allocation = plan::allocate(plan::ErrorLaw(out.law), rules);
  for (const plan::PlanPoint& point : out.allocation.curve)
    out.bandwidth.push_back(bandwidth_at(pilot, reading.cells, point.pair.head_dim));
  const double floor = pilot.noise / n;
  for (std::size_t i = 0; i < table.size(); ++i) {
    const PilotCell& cell = pilot.dimensions[i].cells[reading.cells[i]];
    const Terms terms = terms_of_plan(pilot, table, i, reading.cells[i], rules, n);
    const auto part = [](double value) { return ensemble::Part{value, ensemble::Origin::estimated, {}}; };
    out.estimates.push_back({pilot.dimensions[i].head_dim, cell.bandwidth, part(terms.shared_bias),
                             part(terms.own_bias), part(terms.variance), part(terms.rho(floor))});
  }
  const double bandwidth = out.bandwidth[out.allocation.best];
  out.log_growth = {growth_slope(pilot, table, bandwidth), ensemble::Origin::estimated, {}};
  out.theory_log_growth = plan::log_growth(bandwidth);
  return out;
}

/// Quantities of one resample: per estimate its four parts at the chosen cell, the growth, and per pair the
/// difference of its error from that of the plan's best.
Vector quantities(const Pilot& pilot, const Table& table, const plan::PairRules& rules, const PilotPlan& plan,
                  std::size_t& best) {
  const PilotPlan again = point_plan(pilot, table, rules, plan.n);
  best = again.allocation.best;
  std::vector<double> values;
  for (std::size_t i = 0; i < table.size(); ++i) {
    const std::size_t cell = cell_of(pilot.dimensions[i], plan.estimates[i].bandwidth);
    const Terms terms = terms_of_plan(pilot, table, i, cell, rules, plan.n);
    values.insert(values.end(),
                  {terms.shared_bias, terms.own_bias, terms.variance, terms.rho(pilot.noise / plan.n)});
  }
  values.push_back(growth_slope(pilot, table, plan.bandwidth[plan.allocation.best]));
  const auto& curve = again.allocation.curve;
  for (const plan::PlanPoint& point : curve)
    values.push_back(point.error.mse - curve[plan.allocation.best].error.mse);
  return Eigen::Map<const Vector>(values.data(), static_cast<Index>(values.size()));
}

void add_standard_errors(const Pilot& pilot, const plan::PairRules& rules, const PilotOptions& options,
                         PilotPlan& plan) {
  const auto n_dimensions = static_cast<Index>(plan.estimates.size());
  const auto n_pairs = static_cast<Index>(plan.allocation.curve.size());
  const Index first_pair = 4 * n_dimensions + 1;
  Bootstrap bootstrap(options.n_bootstrap, first_pair + n_pairs);
  std::vector<std::size_t> best(static_cast<std::size_t>(options.n_bootstrap));
  parallel_for(options.n_bootstrap, [&](Index b) {
    const Vector weights =
        resample(pilot.n_used, options.seed, kResampleStream + static_cast<std::uint64_t>(b));
    bootstrap.values().row(b) =
        quantities(pilot, means_of(pilot, weights), rules, plan, best[static_cast<std::size_t>(b)])
            .transpose();
  });
  for (Index i = 0; i < n_dimensions; ++i) {
    PilotEstimate& estimate = plan.estimates[static_cast<std::size_t>(i)];
    Index quantity = 4 * i;
    for (ensemble::Part* part :
         {&estimate.squared_bias, &estimate.own_bias, &estimate.variance, &estimate.rho})
      part->standard_error = bootstrap.standard_error(quantity++);
  }
  plan.log_growth.standard_error = bootstrap.standard_error(4 * n_dimensions);
  const Vector drawn = projection_errors(pilot, plan);
  const auto best_pair = static_cast<Index>(plan.allocation.best);
  for (Index i = 0; i < n_pairs; ++i) {
    const double of_projections = i == best_pair ? 0.0 : std::hypot(drawn[i], drawn[best_pair]);
    plan.difference_error.push_back(std::hypot(bootstrap.standard_error(first_pair + i), of_projections));
    const auto chosen = std::count(best.begin(), best.end(), static_cast<std::size_t>(i));
    plan.chosen_share.push_back(static_cast<double>(chosen) / static_cast<double>(options.n_bootstrap));
  }
}

void find_near_ties(PilotPlan& plan) {
  plan::Allocation& found = plan.allocation;
  const double least = found.curve[found.best].error.mse;
  found.near_ties.clear();
  for (std::size_t i = 0; i < found.curve.size(); ++i)
    if (found.curve[i].error.mse - least <= plan.difference_error[i]) found.near_ties.push_back(i);
  found.has_standard_error = true;
  found.tie_margin = 0.0;
  for (const std::size_t i : found.near_ties)
    found.tie_margin = std::max(found.tie_margin, plan.difference_error[i]);
}

constexpr double kFar = 10.0;  // times the rows measured

/// Bias and bandwidths are those of the rows measured, however many points a plan is for.
void note_reach(const Pilot& pilot, PilotPlan& plan) {
  const double factor = plan.n / static_cast<double>(pilot.n);
  if (factor < kFar) return;
  plan.allocation.notes.push_back(fmt::format(
      "n {:.6g} is {:.3g} times the rows measured: the bias of every bandwidth is that of {} rows, "
      "and no smaller bandwidth than theirs was tried",
      plan.n, factor, pilot.n));
}

/// Slopes of the measured best dimension over a hundredfold range of n from the pilot's own, and of the
/// number of heads over budgets from a quarter to four times the one asked for.
plan::Scaling measured_scaling(const Pilot& pilot, const Table& table, const plan::PairRules& rules,
                               const PilotPlan& plan) {
  plan::Edge edge = plan::Edge::none;
  const auto optimum = [&](double n, double budget) {
    const Reading reading =
        read(pilot, table, n, [&](Index k) { return std::max(1.0, budget / static_cast<double>(k)); });
    const plan::ErrorLaw law(reading.law);
    const plan::ContinuousPair pair = plan::continuous_optimum(law, budget);
    edge = plan::edge_at(law, budget, pair.head_dim);
    return pair;
  };
  plan::Scaling out;
  const double budget = static_cast<double>(rules.budget),
               widest = static_cast<double>(pilot.dimensions.front().head_dim);
  out.regime = plan::regime(plan::ErrorLaw(plan.law), budget);
  out.optimum = optimum(plan.n, budget);
  out.optimum_edge = edge;
  const double n = static_cast<double>(pilot.n);
  out.head_dim_on_log_n = plan::fit_slope(n, 100.0 * n, kSlopePoints, [&](double at) {
    const double head_dim = optimum(at, budget).head_dim;
    return plan::SlopePoint{std::log(at), head_dim, edge};
  });
  out.log_n_heads_on_log_budget =
      plan::fit_slope(std::max(widest, 0.25 * budget), 4.0 * budget, kSlopePoints, [&](double at) {
        const double n_heads = optimum(plan.n, at).n_heads;
        return plan::SlopePoint{std::log(at), std::log(n_heads), edge};
      });
  return out;
}

}  // namespace

PilotPlan plan_from(const Pilot& pilot, const plan::PairRules& rules, double n, const PilotOptions& options) {
  if (!(n > 2.0) || !std::isfinite(n))
    throw ArgumentError(fmt::format("n: must be above 2 and finite, it is {}", n));
  if (pilot.dimensions.empty())
    throw ArgumentError("pilot: has no head dimension; measure one with run_pilot");
  plan::PairRules bounded = rules;
  bounded.d_model = std::min(rules.d_model.value_or(pilot.d), pilot.d);
  const Table table =
      means_of(pilot, Vector::Constant(pilot.n_used, 1.0 / static_cast<double>(pilot.n_used)));
  PilotPlan out = point_plan(pilot, table, bounded, n);
  add_standard_errors(pilot, bounded, options, out);
  find_near_ties(out);
  note_reach(pilot, out);
  out.scaling = measured_scaling(pilot, table, bounded, out);
  return out;
}

}  // namespace headspan::estimator
