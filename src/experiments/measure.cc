#include "experiments/measure.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "headspan/numeric/error.h"

namespace headspan::experiments {
namespace {

/// Sums over replicates at every point, from which one replicate is easily taken out. With m agents, S the
/// sum of their errors and S2 that of the squares:
struct Totals {
  Vector agents, error, square;                // m, S, S2
  Vector pairs, product, paired_error;         // m(m-1), S^2 - S2, (m-1) S
  Vector reached, mean, mean_square, inverse;  // m > 0, S/m, (S/m)^2, 1/m

  explicit Totals(Index n_points)
      : agents(Vector::Zero(n_points)),
        error(agents),
        square(agents),
        pairs(agents),
        product(agents),
        paired_error(agents),
        reached(agents),
        mean(agents),
        mean_square(agents),
        inverse(agents) {}

  void add(const ErrorSums& errors, Index replicate, double sign) {
    for (Index p = 0; p < agents.size(); ++p) {
      const double m = errors.count(replicate, p), s = errors.sum(replicate, p),
                   s2 = errors.square(replicate, p);
      if (m == 0.0) continue;
      agents[p] += sign * m;
      error[p] += sign * s;
      square[p] += sign * s2;
      pairs[p] += sign * m * (m - 1.0);
      product[p] += sign * (s * s - s2);
      paired_error[p] += sign * (m - 1.0) * s;
      reached[p] += sign;
      mean[p] += sign * s / m;
      mean_square[p] += sign * s * s / (m * m);
      inverse[p] += sign / m;
    }
  }
};

struct Moments {
  double v = 0.0, covariance = 0.0, ensemble = 0.0, inverse = 1.0;
  double rho() const { return covariance / v; }
  double law() const { return covariance + (v - covariance) * inverse; }
};

Moments moments(const Totals& t) {
  double v = 0.0, agents = 0.0, c = 0.0, pairs = 0.0, f = 0.0, reached = 0.0, spent = 0.0, inverse = 0.0;
  for (Index p = 0; p < t.agents.size(); ++p) {
    if (t.reached[p] < 1.5) continue;
    const double mu = t.error[p] / t.agents[p];
    v += t.square[p] - mu * t.error[p];
    agents += t.agents[p];
    c += t.product[p] - 2.0 * mu * t.paired_error[p] + mu * mu * t.pairs[p];
    pairs += t.pairs[p];
    const double off = t.mean_square[p] - t.mean[p] * t.mean[p] / t.reached[p];
    f += off;
    reached += t.reached[p];
    // A mean over R replicates takes the variance of that mean out of v, covariance and ensemble alike.
    spent += off / (t.reached[p] - 1.0);
    inverse += t.inverse[p];
  }
  if (!(pairs > 0.0))
    throw ArgumentError(
        "simulate: no point is reached by two agents in two replicates; take more steps or replicates");
  return {v / agents + spent / reached, c / pairs + spent / reached, (f + spent) / reached,
          inverse / reached};
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
  row.rho = with_jackknife(without, whole.rho(), [](const Moments& m) { return m.rho(); });
  row.ensemble_variance =
      with_jackknife(without, whole.ensemble, [](const Moments& m) { return m.ensemble; });
  row.law = with_jackknife(without, whole.law(), [](const Moments& m) { return m.law(); });
  row.inverse_members = whole.inverse;
  return row;
}

void predict(LawRow& row, double rho) {
  row.rho_predicted = rho;
  row.law_predicted = row.v.value * (rho + (1.0 - rho) * row.inverse_members);
}

void predict_falling(const std::vector<LawRow*>& rows) {
  std::vector<LawRow*> order = rows;
  std::sort(order.begin(), order.end(), [](const LawRow* a, const LawRow* b) { return a->dial < b->dial; });
  struct Pool {
    double weight, mean;
    std::size_t size;
  };
  std::vector<Pool> pools;
  for (const LawRow* row : order) {
    const double error = std::max(row->rho.standard_error.value_or(1.0), 1e-12);
    pools.push_back({1.0 / (error * error), row->rho.value, 1});
    while (pools.size() > 1 && pools.back().mean > pools[pools.size() - 2].mean) {
      const Pool last = pools.back();
      pools.pop_back();
      Pool& pool = pools.back();
      pool.mean = (pool.weight * pool.mean + last.weight * last.mean) / (pool.weight + last.weight);
      pool.weight += last.weight;
      pool.size += last.size;
    }
  }
  std::size_t at = 0;
  for (const Pool& pool : pools)
    for (std::size_t i = 0; i < pool.size; ++i) predict(*order[at++], pool.mean);
}

Trend trend_between(const Part& smallest, const Part& greatest) {
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
