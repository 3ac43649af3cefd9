#include "headspan/nw/covariance.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "headspan/numeric/error.h"
#include "headspan/numeric/parallel.h"
#include "nw/attention_plan.h"
#include "nw/attention_tile.h"
#include "nw/constants.h"
#include "nw/variances.h"

namespace headspan::nw {
namespace {

// Queries of a tile: all heads' weights of them and of one block of keys stay in the second-level cache, and
// the more there are the less often keys and values come from beyond it.
Index covariance_tile(Index n_heads) { return n_heads <= 16 ? kMostTileQueries : kAttentionTile; }

template <class T>
class CovarianceTask {
 public:
  CovarianceTask(const AttentionPlan<T>& plan, const CovarianceOptions& options)
      : plan_(plan), options_(options), keys_(attention_block_keys<T>(plan.d, 2)) {
    const Index queries = covariance_tile(plan.n_heads);
    for (Index head = 0; head < plan.n_heads; ++head)
      tiles_.push_back(std::make_unique<AttentionTile<T>>(plan, queries, keys_));
    stacked_.resize(2 * plan.n_heads * keys_);
  }

  // [m][H][H] of queries [first, first + m).
  Matrix run(Index batch, Index first, Index m, const AttentionOutput<T>& output) {
    const Index h = plan_.n_heads;
    Matrix cross = Matrix::Zero(m, h * h);
    KeyRange range{plan_.n, 0};
    for (Index head = 0; head < h; ++head) {
      tile(head).start(batch, head, first, m);
      range.first = std::min(range.first, tile(head).range().first);
      range.last = std::max(range.last, tile(head).range().last);
    }
    for (Index key = range.first / keys_ * keys_; key < range.last; key += keys_)
      add_block({key, std::min(keys_, plan_.n - key)}, m, static_cast<bool>(output.output), cross);
    finish(batch, first, m, cross);
    for (Index head = 0; head < h; ++head) tile(head).finish(output);
    return cross;
  }

  /// After run(): whether every head sees a key from query q of the tile.
  bool every_head_sees_a_key(Index q) const {
    return std::none_of(tiles_.begin(), tiles_.end(), [q](const auto& head) { return head->sees_no_key(q); });
  }

 private:
  AttentionTile<T>& tile(Index head) { return *tiles_[static_cast<std::size_t>(head)]; }

  void add_block(const KeyBlock& block, Index m, bool values, Matrix& cross) {
    std::vector<bool> seen(tiles_.size());
    for (std::size_t head = 0; head < tiles_.size(); ++head) {
      seen[head] = tiles_[head]->weigh(block);
      if (seen[head] && values) tiles_[head]->add_values(block);
    }
    if (std::find(seen.begin(), seen.end(), true) == seen.end()) return;
    for (Index q = 0; q < m; ++q) add_query(block, q, seen, cross.row(q).data());
  }

  // The weights of every head, one row each; a head that sees nothing of the block has zeros.
  void add_query(const KeyBlock& block, Index q, const std::vector<bool>& seen, double* cross) {
    const Index h = plan_.n_heads, width = round_up(block.n, 2 * kPanel<T>);
    for (Index a = 0; a < h; ++a) {
      T* row = stacked_.data() + a * keys_;
      if (!seen[static_cast<std::size_t>(a)]) {
        std::fill_n(row, width, T(0));
        continue;
      }
      std::copy_n(tile(a).weights() + q * tile(a).stride(), width, row);
      const double factor = tile(a).rescale(q);
      if (factor == 1.0) continue;
      for (Index b = 0; b < h; ++b) {
        cross[std::max(a, b) * h + std::min(a, b)] *= factor;
        if (a == b) cross[a * h + a] *= factor;
      }
    }
    if (options_.noise_variance.size() <= 1) {
      cross_sums(stacked_.data(), keys_, h, width, cross);
      return;
    }
    T* scaled = stacked_.data() + h * keys_;
    for (Index a = 0; a < h; ++a)
      for (Index i = 0; i < width; ++i)
        scaled[a * keys_ + i] =
            i < block.n ? stacked_[a * keys_ + i] * static_cast<T>(options_.noise_variance[block.first + i])
                        : T(0);
    cross_sums(stacked_.data(), scaled, keys_, h, width, cross);
  }

  void finish(Index batch, Index first, Index m, Matrix& cross) {
    const Index h = plan_.n_heads;
    // Unequal ones are in the sums already.
    const double variance = options_.noise_variance.size() == 1 ? options_.noise_variance[0] : 1.0;
    for (Index q = 0; q < m; ++q) {
      Eigen::Map<Matrix> c(cross.row(q).data(), h, h);
      for (Index a = 0; a < h; ++a)
        for (Index b = 0; b <= a; ++b) {
          c(a, b) = tile(a).needs_definition(q) || tile(b).needs_definition(q)
                        ? by_definition(batch, a, b, first + q)
                        : normalised(variance * c(a, b), tile(a).total(q) * tile(b).total(q));
          c(b, a) = c(a, b);
        }
      if (options_.centred) c.array() -= grand_mean_variance(batch, first + q);
    }
  }

  static double normalised(double sum, double total) { return total > 0.0 ? sum / total : 0.0; }

  double weight_of(const AttentionRow& row, Index batch, Index head, Index query, Index key) const {
    return row.weight(score_of(plan_, batch, head, query, key, ScoreStage::weights));
  }

  double by_definition(Index batch, Index a, Index b, Index query) const {
    const AttentionRow of_a = row_of(plan_, batch, a, query), of_b = row_of(plan_, batch, b, query);
    double sum = 0.0;
    for (Index key = 0; key < plan_.n; ++key)
      sum += variance_of(options_.noise_variance, key) * weight_of(of_a, batch, a, query, key) *
             weight_of(of_b, batch, b, query, key);
    return sum;
  }

  // 1 / sum_i 1/s2_i over the keys that some head sees; a sink, or no such key, leaves weights short of one,
  // and then it is no part of the covariance.
  double grand_mean_variance(Index batch, Index query) const {
    if (!plan_.options.sinks.empty()) return kNaN;
    const KeyRange range = plan_.range(batch, query);
    double precision = 0.0;
    for (Index key = range.first; key < range.last; ++key)
      if (seen_by_some_head(batch, query, key)) precision += 1.0 / variance_of(options_.noise_variance, key);
    return precision > 0.0 ? 1.0 / precision : kNaN;
  }

  bool seen_by_some_head(Index batch, Index query, Index key) const {
    if (!plan_.has_masks()) return true;
    for (Index head = 0; head < plan_.n_heads; ++head)
      if (score_of(plan_, batch, head, query, key, ScoreStage::masked) != kSeesNothing) return true;
    return false;
  }

  const AttentionPlan<T>& plan_;
  const CovarianceOptions& options_;
  Index keys_;
  std::vector<std::unique_ptr<AttentionTile<T>>> tiles_;
  AlignedArray<T> stacked_;
};

// Over the queries that see a key in every head.
struct Mean {
  Vector sum;
  double count = 0.0;
};

template <class T>
Mean mean_of(const CovarianceTask<T>& task, const Matrix& cross) {
  Mean mean{Vector::Zero(cross.cols()), 0.0};
  for (Index q = 0; q < cross.rows(); ++q) {
    if (!task.every_head_sees_a_key(q)) continue;
    mean.sum += cross.row(q);
    mean.count += 1.0;
  }
  return mean;
}

}  // namespace

template <class T>
void attention_covariance(const AttentionInput<T>& input, const CovarianceOptions& options,
                          const AttentionOutput<T>& output, double* result) {
  const AttentionPlan<T> plan(input, options.attention);
  check_variances(options.noise_variance, plan.n);
  if (options.attention.cap_after_mask && options.attention.soft_cap > 0.0)
    throw ArgumentError("cap_after_mask: gives hidden keys weight, for which there is no covariance here");
  if (output.scores) throw ArgumentError("scores: are not computed here; call attention()");
  const Index size = plan.n_heads * plan.n_heads;
  const Index queries = covariance_tile(plan.n_heads), per_batch = (plan.m + queries - 1) / queries;
  std::vector<Mean> parts(static_cast<std::size_t>(options.average ? plan.n_batch * per_batch : 0));
  // A run of tiles shares the memory of one task.
  constexpr Index kRun = 2;
  const Index runs = (per_batch + kRun - 1) / kRun;
  parallel_for(plan.n_batch * runs, [&](Index i) {
    CovarianceTask<T> task(plan, options);
    const Index batch = i / runs;
    for (Index tile = i % runs * kRun; tile < std::min(per_batch, (i % runs + 1) * kRun); ++tile) {
      const Index first = tile * queries, m = std::min(queries, plan.m - first);
      const Matrix cross = task.run(batch, first, m, output);
      if (options.average)
        parts[static_cast<std::size_t>(batch * per_batch + tile)] = mean_of(task, cross);
      else
        std::copy_n(cross.data(), m * size, result + (batch * plan.m + first) * size);
    }
  });
  if (!options.average) return;
  for (Index batch = 0; batch < plan.n_batch; ++batch) {
    Mean mean{Vector::Zero(size), 0.0};
    for (Index tile = 0; tile < per_batch; ++tile) {
      const Mean& part = parts[static_cast<std::size_t>(batch * per_batch + tile)];
      mean.sum += part.sum;
      mean.count += part.count;
    }
    // NaN where no query counts.
    Eigen::Map<Vector>(result + batch * size, size) = mean.sum / mean.count;
  }
}

template void attention_covariance(const AttentionInput<float>&, const CovarianceOptions&,
                                   const AttentionOutput<float>&, double*);
template void attention_covariance(const AttentionInput<double>&, const CovarianceOptions&,
                                   const AttentionOutput<double>&, double*);

}  // namespace headspan::nw
