#include <fmt/format.h>

#include <algorithm>
#include <boost/math/tools/minima.hpp>
#include <cmath>
#include <numeric>
#include <vector>

#include "headspan/numeric/error.h"
#include "headspan/numeric/optimize.h"
#include "headspan/numeric/random.h"
#include "nw/bandwidth_objective.h"
#include "nw/bandwidth_scores.h"
#include "nw/bandwidth_starts.h"

namespace headspan::nw {
namespace {

constexpr Index kSampledRows = 1024;     // that starts are tried on, of twice as many or more
constexpr std::size_t kMostSampled = 3;  // valleys of the sample that all rows go on from
/// Every local minimum along coordinate k, the others held: bracketed on a grid, refined by Brent's method;
/// last the column left out, if that is no worse than all of them.
std::vector<Candidate> line_minima(BandwidthObjective& objective, const Vector& theta, Index k) {
  const auto along = [&](double t) { return objective.value(with(theta, k, t)); };
  const Vector at = bandwidth_grid(objective.lower()[k], objective.upper()[k]);
  const Vector value = at.unaryExpr(along);
  std::vector<Candidate> minima;
  double best = kInfinity;
  const Index last = at.size() - 1;
  for (Index i = 0; i <= last; ++i) {
    const bool falls = i == 0 || better(value[i], value[i - 1]);
    const bool rises = i == last || no_worse(value[i], value[i + 1]);
    if (!falls || !rises || value[i] == kInfinity) continue;
    const auto [t, v] = boost::math::tools::brent_find_minima(along, at[std::max<Index>(i - 1, 0)],
                                                              at[std::min(i + 1, last)], 28);
    minima.push_back(v < value[i] ? Candidate{with(theta, k, t), v}
                                  : Candidate{with(theta, k, at[i]), value[i]});
    best = std::min(best, minima.back().value);
  }
  const double without = along(kInfinity);
  if (without < kInfinity && no_worse(without, best))
    minima.push_back({with(theta, k, kInfinity), std::min(without, best)});
  return minima;
}

std::vector<Index> columns_in(const Vector& theta) {
  std::vector<Index> in;
  for (Index k = 0; k < theta.size(); ++k)
    if (std::isfinite(theta[k])) in.push_back(k);
  return in;
}

MinimizeOptions search_options(const BandwidthObjective& objective, Index n_coordinates) {
  if (objective.has_gradient()) return {.method = MinimizeMethod::quasi_newton};
  const bool model = objective.is_smooth() && n_coordinates > 1;
  return {.method = model ? MinimizeMethod::quadratic_model : MinimizeMethod::subplex,
          .x_tolerance = 1e-6,
          .value_tolerance = 1e-11,
          .max_evaluations = 1000};
}

/// Local minimum over the columns that are not left out.
Candidate descend(BandwidthObjective& objective, Candidate from) {
  const std::vector<Index> in = columns_in(from.theta);
  if (in.empty()) return from;
  Vector theta = from.theta;
  const auto value = [&](const Vector& part, Vector* slopes) {
    theta(in) = part;
    Vector all(theta.size());
    const double at = objective.value(theta, slopes ? &all : nullptr);
    if (slopes) *slopes = all(in);
    return at;
  };
  const Vector start = from.theta(in), lower = objective.lower()(in), upper = objective.upper()(in);
  const Minimum found = minimize(value, start, lower, upper, search_options(objective, std::ssize(in)));
  if (!(found.value < from.value)) return from;
  theta(in) = found.at;
  return {theta, found.value};
}

/// Leaves out every column without which the criterion is no worse, one after the other.
Candidate simplify(BandwidthObjective& objective, Candidate from) {
  bool changed = true;
  while (changed) {
    from = descend(objective, from);
    changed = false;
    for (const Index k : columns_in(from.theta)) {
      const Vector theta = with(from.theta, k, kInfinity);
      const double value = objective.value(theta);
      if (!no_worse(value, from.value)) continue;
      from = {theta, value};
      changed = true;
    }
  }
  return from;
}

/// Looks along every coordinate, far and left out, for a better valley until there is none.
Candidate settle(BandwidthObjective& objective, Candidate from) {
  const Index d = from.theta.size();
  for (Index k = 0, quiet = 0; quiet < d; k = (k + 1) % d, ++quiet) {
    Candidate best = from;
    for (const double t : {0.03, 0.1, 0.3, 1.0, 3.0, kInfinity}) {
      const Vector theta = with(from.theta, k, coordinate(objective, k, t));
      const double value = objective.value(theta);
      if (better(value, best.value)) best = {theta, value};
    }
    if (!better(best.value, from.value)) continue;
    from = simplify(objective, best);
    quiet = -1;
  }
  return from;
}

bool same_place(const Vector& a, const Vector& b) {
  for (Index k = 0; k < a.size(); ++k) {
    const bool out_a = !std::isfinite(a[k]), out_b = !std::isfinite(b[k]);
    if (out_a != out_b || (!out_a && std::abs(a[k] - b[k]) > 1e-3)) return false;
  }
  return true;
}

/// Best first, each place once.
std::vector<Candidate> distinct(std::vector<Candidate> all) {
  const auto n_left_out = [](const Candidate& one) { return -std::ssize(columns_in(one.theta)); };
  std::sort(all.begin(), all.end(), [&](const Candidate& a, const Candidate& b) {
    return a.value != b.value ? a.value < b.value : n_left_out(a) > n_left_out(b);
  });
  std::vector<Candidate> kept;
  for (const Candidate& one : all)
    if (std::none_of(kept.begin(), kept.end(),
                     [&](const Candidate& other) { return same_place(one.theta, other.theta); }))
      kept.push_back(one);
  return kept;
}

/// Where the descents from every start end, each place once, best first.
std::vector<Candidate> valleys(BandwidthObjective& objective, const SelectionOptions& options) {
  std::vector<Candidate> found;
  for (const Candidate& start : bandwidth_starts(objective, options))
    if (start.value < kInfinity) found.push_back(descend(objective, start));
  return distinct(std::move(found));
}

/// The valleys of a random sample of the rows, whose pairs cost a small part of all: where to start from with
/// all rows. Nothing is decided on the sample: columns are left out by all rows only.
std::vector<Candidate> sampled_valleys(BandwidthObjective& objective, MatrixView x, VectorView y,
                                       const SelectionOptions& options) {
  std::vector<Index> rows(static_cast<std::size_t>(x.rows()));
  std::iota(rows.begin(), rows.end(), Index{0});
  RandomStream random(options.seed, 1);
  std::shuffle(rows.begin(), rows.end(), random);
  rows.resize(kSampledRows);
  const Matrix some = x(rows, Eigen::all);
  if ((some.colwise().maxCoeff() - some.colwise().minCoeff()).minCoeff() == 0.0)
    return valleys(objective, options);
  BandwidthObjective sampled(some, y(rows), options, {});
  std::vector<Candidate> found = valleys(sampled, options);
  // Coordinates are in units of each set of rows' own spread.
  for (Candidate& one : found) {
    const Vector h = sampled.bandwidth(one.theta);
    one.theta = (h.array().log() - objective.bandwidth(Vector::Zero(h.size())).array().log()).matrix();
    one.theta = one.theta.cwiseMax(objective.lower()).cwiseMin(Vector::Constant(h.size(), std::log(4.0)));
    one.value = objective.value(one.theta);
  }
  found = distinct(found);
  found.resize(std::min(found.size(), kMostSampled));
  return found;
}

std::vector<Candidate> search(BandwidthObjective& objective, MatrixView x, VectorView y,
                              const SelectionOptions& options) {
  const Index d = objective.lower().size();
  if (d == 1) return distinct(line_minima(objective, Vector::Zero(1), 0));
  std::vector<Candidate> found;
  const bool sampled = x.rows() >= 2 * kSampledRows && d == objective.n_bandwidths();
  for (const Candidate& valley :
       sampled ? sampled_valleys(objective, x, y, options) : valleys(objective, options))
    if (valley.value < kInfinity) found.push_back(simplify(objective, valley));
  found = distinct(found);
  // Every end by itself, so that more starts never end higher; of large tables the best end alone.
  const std::size_t n_ends = sampled ? std::min<std::size_t>(1, found.size()) : found.size();
  for (std::size_t i = 0; i < n_ends; ++i) found.push_back(settle(objective, found[i]));
  return distinct(found);
}

/// Whether leaving column k out costs no more than one standard error of the paired differences of squared
/// leave-one-out residuals.
bool within_noise(BandwidthObjective& objective, const Vector& theta, Index k, const Vector& squares) {
  const Vector rise = objective.squared_residuals(with(theta, k, kInfinity)) - squares;
  const double n = static_cast<double>(rise.size()), mean = rise.mean();
  const double variance = (rise.array() - mean).square().sum() / std::max(1.0, n - 1.0);
  return mean <= std::sqrt(variance / n);
}

/// Adds what is told of the best minimum, column by column.
void describe(BandwidthObjective& objective, const Vector& theta, BandwidthSelection& selection) {
  const Vector squares = objective.squared_residuals(theta), lower = objective.lower(),
               upper = objective.upper();
  std::vector<bool> irrelevant;
  for (Index k = 0; k < theta.size(); ++k)
    irrelevant.push_back(!std::isfinite(theta[k]) || within_noise(objective, theta, k, squares));
  const Index n_bandwidths = objective.n_bandwidths();
  selection.irrelevant_category.assign(irrelevant.begin() + n_bandwidths, irrelevant.end());
  for (Index column = 0; column < selection.bandwidth.size(); ++column) {
    const Index k = n_bandwidths == 1 ? 0 : column;
    const bool out = !std::isfinite(theta[k]);
    selection.irrelevant.push_back(irrelevant[static_cast<std::size_t>(k)]);
    selection.at_edge.push_back(!out && (theta[k] - lower[k] < 1e-3 || upper[k] - theta[k] < 1e-3));
  }
}

double in_units(double value, Criterion criterion, double unit) {
  return criterion == Criterion::aicc ? value + 2.0 * std::log(unit) : value * unit * unit;
}

}  // namespace

BandwidthSelection select_bandwidth(MatrixView x, VectorView y, const SelectionOptions& options) {
  return select_bandwidth(x, y, options, {});
}

BandwidthSelection select_bandwidth(MatrixView x, VectorView y, const SelectionOptions& options,
                                    const Categories& categories) {
  check_smoother_data(x, y);
  check_some_column(x, categories);
  if (options.n_starts < 1)
    throw ArgumentError(fmt::format("n_starts: is {}, wants at least 1", options.n_starts));
  BandwidthObjective objective(x, y, options, categories);
  const std::vector<Candidate> found = search(objective, x, y, options);
  if (found.empty())
    throw ArgumentError(fmt::format("criterion {}: undefined at every bandwidth of these {} rows; use loo",
                                    to_string(options.criterion), x.rows()));
  BandwidthSelection selection;
  for (const Candidate& one : found)
    selection.minima.push_back({objective.bandwidth(one.theta), objective.lambda(one.theta),
                                in_units(one.value, options.criterion, objective.value_unit())});
  selection.bandwidth = selection.minima.front().bandwidth;
  selection.lambda = selection.minima.front().lambda;
  selection.value = selection.minima.front().value;
  describe(objective, found.front().theta, selection);
  selection.n_evaluations = objective.n_evaluations();
  return selection;
}

}  // namespace headspan::nw
