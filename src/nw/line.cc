#include "nw/line.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <tuple>
#include <utility>
#include <vector>

#include "headspan/numeric/parallel.h"

namespace headspan::nw {
namespace {

// A run's width in bandwidths.
constexpr double kWidth = 0.5;
constexpr Index kSortedAtOnce = Index{1} << 16;

// exp(-(s-t)^2/2) = exp(-s^2/2) sum_k s^k (exp(-t^2/2) t^k / k!), with s and t the distances of query and key
// from the run's middle in bandwidths. Cut after `terms` the rest is at most |st|^terms/terms! e^(2|st|) of
// the weight.
class LineTransform {
 public:
  // `keys` rise, and `values` go with them.
  LineTransform(VectorView keys, MatrixView values, double bandwidth, double share)
      : bandwidth_(bandwidth), columns_(1 + values.cols()), n_(keys.size()), share_(share) {
    // Where n keys at that distance weigh less than the share of one key on top of the query.
    reach_ = std::sqrt(2.0 * std::log(static_cast<double>(n_) / share_)) + 1.0;
    const double largest = (reach_ + kWidth) * 0.5 * kWidth;
    double rest = std::exp(2.0 * largest);
    for (terms_ = 0; rest > share_ && terms_ < kMostTerms; ++terms_)
      rest *= largest / static_cast<double>(terms_ + 1);
    terms_ = std::max<Index>(terms_, 1);
    cut_into_runs(keys, values);
  }

  // Adds to sums[0] the weights and to sums[1...] the weighted values; false where the query is too far.
  bool sums_at(double query, double* sums) const {
    const auto from = std::lower_bound(middles_.begin(), middles_.end(), query) - middles_.begin();
    auto right = static_cast<Index>(from), left = right - 1;
    const auto n_runs = static_cast<Index>(middles_.size());
    std::fill_n(sums, columns_, 0.0);
    while (left >= 0 || right < n_runs) {
      const bool go_left = right >= n_runs || (left >= 0 && query - middle(left) <= middle(right) - query);
      const Index run = go_left ? left-- : right++;
      const double s = (query - middle(run)) / bandwidth_;
      const double nearest = std::max(0.0, std::abs(s) - 0.5 * kWidth);
      if (static_cast<double>(n_) * std::exp(-0.5 * nearest * nearest) <= share_ * sums[0]) return true;
      if (std::abs(s) > reach_) return false;
      add_run(run, s, sums);
    }
    return sums[0] > 0.0;
  }

  Index columns() const { return columns_; }
  double reach() const { return reach_; }

 private:
  static constexpr Index kMostTerms = 60;

  double middle(Index run) const { return middles_[static_cast<std::size_t>(run)]; }

  void cut_into_runs(VectorView keys, MatrixView values) {
    std::vector<Index> starts;
    for (Index i = 0; i < n_; ++i)
      if (starts.empty() || keys[i] - keys[starts.back()] > kWidth * bandwidth_) starts.push_back(i);
    starts.push_back(n_);
    const std::size_t n_runs = starts.size() - 1;
    middles_.resize(n_runs);
    moments_.resize(n_runs * static_cast<std::size_t>(columns_ * terms_), 0.0);
    parallel_for(static_cast<Index>(n_runs), [&](Index run) {
      const Index first = starts[static_cast<std::size_t>(run)],
                  last = starts[static_cast<std::size_t>(run) + 1];
      const double middle = middles_[static_cast<std::size_t>(run)] = 0.5 * (keys[first] + keys[last - 1]);
      double* moments = moments_.data() + run * columns_ * terms_;
      for (Index i = first; i < last; ++i) add_key((keys[i] - middle) / bandwidth_, i, values, moments);
    });
  }

  void add_key(double t, Index row, MatrixView values, double* moments) const {
    double power = std::exp(-0.5 * t * t);
    for (Index k = 0; k < terms_; ++k, power *= t / static_cast<double>(k)) {
      moments[k] += power;
      for (Index c = 1; c < columns_; ++c) moments[c * terms_ + k] += power * values(row, c - 1);
    }
  }

  void add_run(Index run, double s, double* sums) const {
    const double* moments = moments_.data() + run * columns_ * terms_;
    const double factor = std::exp(-0.5 * s * s);
    for (Index c = 0; c < columns_; ++c, moments += terms_) {
      double series = moments[terms_ - 1];
      for (Index k = terms_ - 1; k-- > 0;) series = series * s + moments[k];
      sums[c] += factor * series;
    }
  }

  double bandwidth_;
  Index columns_, n_;
  double share_, reach_ = 0.0;
  Index terms_ = 0;
  std::vector<double> middles_, moments_;
};

// The polynomial through values at Chebyshev points of an interval, in barycentric form [berrut2004].
class Interpolant {
 public:
  Interpolant(double low, double high, Index n_points, Index columns)
      : points_(n_points), values_(n_points, columns) {
    for (Index j = 0; j < n_points; ++j)
      points_[j] = 0.5 * (low + high) - 0.5 * (high - low) *
                                            std::cos(std::numbers::pi * static_cast<double>(j) /
                                                     static_cast<double>(n_points - 1));
  }
  double point(Index j) const { return points_[j]; }
  double* values(Index j) { return values_.row(j).data(); }
  void at(double x, double* out) const {
    const Index n = points_.size(), columns = values_.cols();
    std::fill_n(out, columns, 0.0);
    double total = 0.0;
    for (Index j = 0; j < n; ++j) {
      const double gap = x - points_[j];
      if (gap == 0.0) {
        std::copy_n(values_.row(j).data(), columns, out);
        return;
      }
      const double weight = (j % 2 == 0 ? 1.0 : -1.0) * (j == 0 || j == n - 1 ? 0.5 : 1.0) / gap;
      total += weight;
      for (Index c = 0; c < columns; ++c) out[c] += weight * values_(j, c);
    }
    for (Index c = 0; c < columns; ++c) out[c] /= total;
  }

 private:
  Vector points_;
  Matrix values_;
};

// Sums at queries, those of one cell, half a bandwidth wide, interpolated between a few points where that is
// fewer.
class LineSums {
 public:
  LineSums(VectorView keys, MatrixView values, double bandwidth, double relative_error)
      : plain_(keys, values, bandwidth, relative_error / kMargin),
        // The square of a gaussian is one of a bandwidth narrower by the root of 2.
        squared_(keys, Matrix(keys.size(), 0), bandwidth / std::sqrt(2.0), relative_error / kMargin) {
    // Interpolating exp(-s^2/2) over a width of 1/2 errs by at most 2.2 (1/8)^p / sqrt(p!) exp(-s^2/4);
    // squares see a width larger by the root of 2.
    const double reach = plain_.reach() + kWidth;
    double error = 2.2 * std::exp(0.25 * reach * reach);
    while (error > relative_error / kMargin || n_points_ < 4)
      error *= kWidth * std::sqrt(2.0) / 4.0 / std::sqrt(static_cast<double>(++n_points_));
  }

  Index columns() const { return 1 + plain_.columns(); }

  // sums[0] weights, sums[1] squares, then values; false where the query is too far.
  bool direct(double query, double* sums) const {
    std::vector<double> row(static_cast<std::size_t>(plain_.columns()));
    if (!plain_.sums_at(query, row.data()) || !squared_.sums_at(query, sums + 1)) return false;
    sums[0] = row[0];
    std::copy(row.begin() + 1, row.end(), sums + 2);
    return true;
  }

  // Queries [first, last) of a cell. write(i, sums) of each that is not too far.
  template <class Write>
  void cell(VectorView queries, Index first, Index last, const Write& write) const {
    std::vector<double> sums(static_cast<std::size_t>(columns()));
    if (last - first > 2 * n_points_ && queries[first] < queries[last - 1]) {
      Interpolant between(queries[first], queries[last - 1], n_points_, columns());
      bool reached = true;
      for (Index j = 0; j < n_points_ && reached; ++j) reached = direct(between.point(j), between.values(j));
      if (reached) {
        for (Index i = first; i < last; ++i) {
          between.at(queries[i], sums.data());
          write(i, sums.data());
        }
        return;
      }
    }
    for (Index i = first; i < last; ++i)
      if (direct(queries[i], sums.data())) write(i, sums.data());
  }

 private:
  // What a share left out at the points may grow to between them: the interpolation's own factor, times how
  // much the sum of weights can vary within a cell.
  static constexpr double kMargin = 500.0;
  LineTransform plain_, squared_;
  Index n_points_ = 0;
};

}  // namespace

RisingPoints rising(VectorView points) {
  using Keyed = std::pair<double, Index>;
  const Index n = points.size();
  std::vector<Keyed> keyed(static_cast<std::size_t>(n));
  const auto at = [&](Index i) { return keyed.begin() + std::min(i, n); };
  parallel_for((n + kSortedAtOnce - 1) / kSortedAtOnce, [&](Index part) {
    const Index first = part * kSortedAtOnce;
    for (Index i = first; i < std::min(n, first + kSortedAtOnce); ++i)
      keyed[static_cast<std::size_t>(i)] = {points[i], i};
    std::sort(at(first), at(first + kSortedAtOnce));
  });
  for (Index width = kSortedAtOnce; width < n; width *= 2)
    parallel_for((n + 2 * width - 1) / (2 * width), [&](Index pair) {
      const Index first = pair * 2 * width;
      std::inplace_merge(at(first), at(first + width), at(first + 2 * width));
    });
  RisingPoints out{Vector(n), std::vector<Index>(keyed.size())};
  for (Index i = 0; i < n; ++i)
    std::tie(out.points[i], out.order[static_cast<std::size_t>(i)]) = keyed[static_cast<std::size_t>(i)];
  return out;
}

Sums sum_on_line(VectorView queries, VectorView keys, MatrixView values, double bandwidth,
                 double relative_error) {
  const RisingPoints sorted_keys = rising(keys), sorted = rising(queries);
  const LineSums line(sorted_keys.points, values(sorted_keys.order, Eigen::all), bandwidth, relative_error);
  const Index m = queries.size();
  std::vector<Index> cells{0};
  for (Index i = 0; i < m; ++i)
    if (sorted.points[i] - sorted.points[cells.back()] > kWidth * bandwidth) cells.push_back(i);
  cells.push_back(m);
  Sums sums{Vector::Zero(m), Vector::Zero(m), Matrix::Zero(m, values.cols())};
  parallel_for(static_cast<Index>(cells.size()) - 1, [&](Index i) {
    const Index first = cells[static_cast<std::size_t>(i)], last = cells[static_cast<std::size_t>(i) + 1];
    line.cell(sorted.points, first, last, [&](Index at, const double* row) {
      const Index q = sorted.order[static_cast<std::size_t>(at)];
      sums.weight[q] = row[0];
      sums.squares[q] = row[1];
      for (Index c = 0; c < values.cols(); ++c) sums.values(q, c) = row[2 + c];
    });
  });
  return sums;
}

}  // namespace headspan::nw
