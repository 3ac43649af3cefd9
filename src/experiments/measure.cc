#include "experiments/measure.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "headspan/numeric/error.h"

namespace headspan::experiments {
namespace {

/// Sums over the replicates that reach a point, from which one replicate is easily taken out. With m agents
/// there, S the sum of their errors and S2 that of the squares, about any centre mu
///   own   = S2/m - 2 mu S/m + mu^2                    the mean square of an error,
///   cross = (S^2 - S2)/(m(m-1)) - 2 mu S/m + mu^2     the mean product of two, where m > 1.
struct Totals {
  Vector reached, mean, mean_square, own;         // 1, S/m, (S/m)^2, S2/m
  Vector inverse, mean_inverse, own_inverse;      // the same but the square, each by m once more
  Vector paired, paired_mean, paired_own, cross;  // where m > 1: 1, S/m, S2/m, (S^2 - S2)/(m(m-1))

  explicit Totals(Index n_points)
      : reached(Vector::Zero(n_points)),
        mean(reached),
        mean_square(reached),
        own(reached),
        inverse(reached),
        mean_inverse(reached),
        own_inverse(reached),
        paired(reached),
        paired_mean(reached),
        paired_own(reached),
        cross(reached) {}

  void add(const ErrorSums& errors, Index replicate, double sign) {
    for (Index p = 0; p < reached.size(); ++p) {
      const double m = errors.count(replicate, p);
      if (m == 0.0) continue;
      const double s = errors.sum(replicate, p), s2 = errors.square(replicate, p);
      reached[p] += sign;
      mean[p] += sign * s / m;
      mean_square[p] += sign * s * s / (m * m);
      own[p] += sign * s2 / m;
      inverse[p] += sign / m;
      mean_inverse[p] += sign * s / (m * m);
      own_inverse[p] += sign * s2 / (m * m);
      if (m < 2.0) continue;
      paired[p] += sign;
      paired_mean[p] += sign * s / m;
      paired_own[p] += sign * s2 / m;
      cross[p] += sign * (s * s - s2) / (m * (m - 1.0));
    }
  }
};

struct Moments {
  double v = 0.0, rho = 0.0, ensemble = 0.0, inverse = 1.0;
  double law() const { return v * (rho + (1.0 - rho) * inverse); }
};

Moments moments(const Totals& t) {
  double reached = 0.0, paired = 0.0, own = 0.0, own_inverse = 0.0, inverse = 0.0, paired_own = 0.0,
         cross = 0.0;
  double ensemble = 0.0, spent = 0.0;
  for (Index p = 0; p < t.reached.size(); ++p) {
    if (t.reached[p] < 1.5) continue;
    const double mu = t.mean[p] / t.reached[p], square = mu * mu;
    reached += t.reached[p];
    own += t.own[p] - square * t.reached[p];
    inverse += t.inverse[p];
    own_inverse += t.own_inverse[p] - 2.0 * mu * t.mean_inverse[p] + square * t.inverse[p];
    paired += t.paired[p];
    paired_own += t.paired_own[p] - 2.0 * mu * t.paired_mean[p] + square * t.paired[p];
    cross += t.cross[p] - 2.0 * mu * t.paired_mean[p] + square * t.paired[p];
    const double off = t.mean_square[p] - square * t.reached[p];
    ensemble += off;
    // Errors are taken about a mean over replicates, whose own variance is thereby lost to each of the means.
    spent += off / (t.reached[p] - 1.0);
  }
  if (!(paired > 0.0))
    throw ArgumentError(
        "simulate: no point is reached by two agents in two replicates; take more steps or replicates");
  const double lost = spent / reached;
  Moments out;
  out.v = own / reached + lost;
  out.rho = (cross / paired + lost) / (paired_own / paired + lost);
  out.ensemble = ensemble / reached + lost;
  out.inverse = (own_inverse + lost * inverse) / reached / out.v;
  return out;
}

Part with_jackknife(const std::vector<Moments>& without, double whole, double (*member)(const Moments&)) {
  const double count = static_cast<double>(without.size());
  double mean = 0.0, squares = 0.0;
  for (const Moments& one : without) mean += member(one) / count;
  for (const Moments& one : without) squares += (member(one) - mean) * (member(one) - mean);
  return {whole, ensemble::Origin::estimated, std::sqrt(squares * (count - 1.0) / count)};
}

}  // namespace

LawRow measured_law(const ErrorSums& errors) {
  require_at_least("n_replicates", errors.count.rows(), 3);
  Totals totals(errors.count.cols());
  for (Index r = 0; r < errors.count.rows(); ++r) totals.add(errors, r, 1.0);
  std::vector<Moments> without;
  for (Index r = 0; r < errors.count.rows(); ++r) {
    Totals rest = totals;
    rest.add(errors, r, -1.0);
    without.push_back(moments(rest));
  }
  const Moments whole = moments(totals);
  LawRow row;
  row.v = with_jackknife(without, whole.v, [](const Moments& m) { return m.v; });
  row.rho = with_jackknife(without, whole.rho, [](const Moments& m) { return m.rho; });
  row.ensemble_variance =
      with_jackknife(without, whole.ensemble, [](const Moments& m) { return m.ensemble; });
  row.law = with_jackknife(without, whole.law(), [](const Moments& m) { return m.law(); });
  row.inverse_members = whole.inverse;
  return row;
}

void predict(LawRow& row, const Part& rho) {
  row.rho_predicted = rho.value;
  row.law_predicted = row.v.value * (rho.value + (1.0 - rho.value) * row.inverse_members);
  row.rho_predicted_error = rho.standard_error;
  if (rho.standard_error)
    row.law_predicted_error = row.v.value * (1.0 - row.inverse_members) * *rho.standard_error;
}

std::vector<Part> falling_fit(const std::vector<DialPoint>& points) {
  std::vector<std::size_t> order(points.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return points[a].dial < points[b].dial; });
  struct Pool {
    double weight, mean;
    std::size_t size;
  };
  std::vector<Pool> pools;
  for (const std::size_t i : order) {
    const Part& rho = points[i].rho;
    const double error = std::max(rho.standard_error.value_or(1.0), 1e-12);
    pools.push_back({1.0 / (error * error), rho.value, 1});
    while (pools.size() > 1 && pools.back().mean > pools[pools.size() - 2].mean) {
      const Pool last = pools.back();
      pools.pop_back();
      Pool& pool = pools.back();
      pool.mean = (pool.weight * pool.mean + last.weight * last.mean) / (pool.weight + last.weight);
      pool.weight += last.weight;
      pool.size += last.size;
    }
  }
  std::vector<Part> fit(points.size());
  std::size_t at = 0;
  for (const Pool& pool : pools)
    for (std::size_t i = 0; i < pool.size; ++i)
      fit[order[at++]] = {pool.mean, ensemble::Origin::estimated, 1.0 / std::sqrt(pool.weight)};
  return fit;
}

void predict_from(const std::vector<DialPoint>& fitted, const std::vector<LawRow*>& rows) {
  const std::vector<Part> fit = falling_fit(fitted);
  for (std::size_t i = 0; i < rows.size(); ++i) predict(*rows[i], fit[i]);
}

Trend trend_between(const Part& smallest, const Part& greatest) {
  if (&smallest == &greatest) return {};  // one row: a change without an error, which is none
  const double change = greatest.value - smallest.value;
  const double error =
      std::hypot(smallest.standard_error.value_or(0.0), greatest.standard_error.value_or(0.0));
  Trend trend{{change, ensemble::Origin::estimated, error}, 0};
  if (std::abs(change) > 3.0 * error) trend.direction = change > 0.0 ? 1 : -1;
  return trend;
}

Part mean_of(VectorView values) {
  const double count = static_cast<double>(values.size());
  const double mean = values.mean();
  const double squares = (values.array() - mean).square().sum();
  return {mean, ensemble::Origin::estimated, std::sqrt(squares / (count * (count - 1.0)))};
}

Part jackknifed(MatrixView rows, const std::function<double(const Vector& means)>& function) {
  const double count = static_cast<double>(rows.rows());
  const Vector sum = rows.colwise().sum().transpose();
  Vector without(rows.rows());
  for (Index r = 0; r < rows.rows(); ++r)
    without[r] = function((sum - rows.row(r).transpose()) / (count - 1.0));
  const double squares = (without.array() - without.mean()).square().sum();
  return {function(sum / count), ensemble::Origin::estimated, std::sqrt(squares * (count - 1.0) / count)};
}

std::uint64_t stream_of(Index row, Index replicate, Index part) {
  return (static_cast<std::uint64_t>(row) << 52) | (static_cast<std::uint64_t>(replicate) << 24) |
         static_cast<std::uint64_t>(part);
}

void require_at_least(std::string_view option, Index value, Index least) {
  if (value < least)
    throw ArgumentError(fmt::format("{}: must be at least {}, not {}", option, least, value));
}

void require_positive(std::string_view option, double value) {
  if (!(value > 0.0) || !std::isfinite(value))
    throw ArgumentError(fmt::format("{}: must be positive and finite, not {}", option, value));
}

void require_within(std::string_view option, double value, double low, double high) {
  if (!(value >= low && value <= high))
    throw ArgumentError(fmt::format("{}: must lie between {} and {}, not {}", option, low, high, value));
}

void require_some(std::string_view option, std::size_t n_values) {
  if (n_values == 0) throw ArgumentError(fmt::format("{}: at least one value is wanted", option));
}

}  // namespace headspan::experiments
