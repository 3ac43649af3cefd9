#include "nw/line.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "headspan/numeric/parallel.h"

namespace headspan::nw {
namespace {

// A run's width in bandwidths.
constexpr double kWidth = 0.5;

// exp(-(s-t)^2/2) = exp(-s^2/2) sum_k s^k (exp(-t^2/2) t^k / k!), with s and t the distances of query and key
// from the run's middle in bandwidths. Cut after `terms` the rest is at most |st|^terms/terms! e^(2|st|) of
// the weight.
class LineTransform {
 public:
  LineTransform(VectorView keys, MatrixView values, double bandwidth, double relative_error)
      : bandwidth_(bandwidth), columns_(1 + values.cols()), n_(keys.size()), share_(0.5 * relative_error) {
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

 private:
  static constexpr Index kMostTerms = 60;

  double middle(Index run) const { return middles_[static_cast<std::size_t>(run)]; }

  void cut_into_runs(VectorView keys, MatrixView values) {
    std::vector<Index> order(static_cast<std::size_t>(n_));
    std::iota(order.begin(), order.end(), Index{0});
    std::sort(order.begin(), order.end(),
              [&](Index a, Index b) { return keys[a] != keys[b] ? keys[a] < keys[b] : a < b; });
    for (std::size_t first = 0; first < order.size();) {
      std::size_t last = first;
      const double start = keys[order[first]];
      while (last < order.size() && keys[order[last]] - start <= kWidth * bandwidth_) ++last;
      middles_.push_back(0.5 * (start + keys[order[last - 1]]));
      moments_.resize(moments_.size() + static_cast<std::size_t>(columns_ * terms_), 0.0);
      for (; first < last; ++first)
        add_key((keys[order[first]] - middles_.back()) / bandwidth_, order[first], values);
    }
  }

  void add_key(double t, Index row, MatrixView values) {
    double* moments = moments_.data() + moments_.size() - static_cast<std::size_t>(columns_ * terms_);
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

}  // namespace

Sums sum_on_line(VectorView queries, VectorView keys, MatrixView values, double bandwidth,
                 double relative_error) {
  const LineTransform plain(keys, values, bandwidth, relative_error);
  // The square of a gaussian is one of a bandwidth narrower by the root of 2.
  const LineTransform squared(keys, Matrix(keys.size(), 0), bandwidth / std::sqrt(2.0), relative_error);
  const Index m = queries.size();
  Sums sums{Vector::Zero(m), Vector::Zero(m), Matrix::Zero(m, values.cols())};
  constexpr Index kBatch = 1024;
  parallel_for((m + kBatch - 1) / kBatch, [&](Index batch) {
    std::vector<double> row(static_cast<std::size_t>(plain.columns()));
    for (Index q = batch * kBatch; q < std::min(m, (batch + 1) * kBatch); ++q) {
      double squares = 0.0;
      if (!plain.sums_at(queries[q], row.data()) || !squared.sums_at(queries[q], &squares)) continue;
      sums.weight[q] = row[0];
      sums.squares[q] = squares;
      for (Index c = 0; c < values.cols(); ++c) sums.values(q, c) = row[static_cast<std::size_t>(1 + c)];
    }
  });
  return sums;
}

}  // namespace headspan::nw
