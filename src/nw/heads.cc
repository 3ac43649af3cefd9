#include "headspan/nw/heads.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "headspan/numeric/error.h"
#include "headspan/numeric/parallel.h"
#include "nw/constants.h"
#include "nw/scoring.h"
#include "nw/variances.h"

namespace headspan::nw {
namespace {

constexpr Index kTile = 4 * kGroup;  // queries whose weights in every head stay in the second-level cache
constexpr Index kBlockKeys = 128;

// Rows less `centre`, projected: differences of rows are all that counts, and an offset would take their
// digits. Without a projection estimate() does so itself.
template <class T>
RowMatrix<T> projected(const Eigen::Ref<const RowMatrix<T>>& rows, const Head& head, const Vector& centre) {
  if (head.projection.size() == 0) return rows;
  return ((rows.template cast<double>().rowwise() - centre.transpose()) * head.projection.transpose())
      .template cast<T>();
}

// Scores of softmax are products: they have no origin but their own.
template <class T>
Vector centre_of(const Eigen::Ref<const RowMatrix<T>>& keys, const Kernel& kernel) {
  if (kernel.function == KernelFunction::softmax || keys.rows() == 0) return Vector::Zero(keys.cols());
  return keys.template cast<double>().colwise().mean();
}

// A head's queries and keys, and what turns its scores into weights that sum to one.
template <class T>
struct PreparedHead {
  RowMatrix<T> queries, keys;
  Vector bandwidth;
  Scoring<T> scoring;
  std::vector<T> shift;   // subtracted from scores; of exponential weights of base 2 the normaliser too
  std::vector<T> factor;  // what a weight is multiplied by; 0 where the definition must do
};

// Kernels of product shape have no tile of scores: they are weighed by their definition.
bool has_tiles(const Kernel& kernel, Index d) {
  return kernel.shape == KernelShape::radial || d == 1 || kernel.function == KernelFunction::gaussian ||
         kernel.function == KernelFunction::softmax;
}

template <class T>
PreparedHead<T> prepared_head(const Kernel& kernel, RowMatrix<T> queries, RowMatrix<T> keys, const Head& head,
                              const Estimate<T>& estimate) {
  const Index d = keys.cols(), m = queries.rows();
  PreparedHead<T> out{std::move(queries), std::move(keys), {}, {}, {}, {}};
  out.bandwidth = full_bandwidth(head.bandwidth, d);
  out.scoring = prepare<T>(kernel, {out.queries, out.keys, out.bandwidth});
  out.shift = out.scoring.shift;
  out.factor.assign(static_cast<std::size_t>(m), T(0));
  // A normaliser of another size than its weights' own is beyond the precision of a score.
  const double least = sizeof(T) == 4 ? -60.0 : -400.0;
  for (Index q = 0; q < m; ++q) {
    const auto at = static_cast<std::size_t>(q);
    const double log_normaliser = estimate.log_normaliser[q];
    const bool softmax = kernel.function == KernelFunction::softmax;
    if (!std::isfinite(log_normaliser) || (!softmax && log_normaliser < least) || !has_tiles(kernel, d))
      continue;
    if (out.scoring.weight == TileWeight::exp2) {
      out.shift[at] = static_cast<T>(static_cast<double>(out.shift[at]) + log_normaliser * kLog2E);
      out.factor[at] = T(1);
    } else {
      out.factor[at] = static_cast<T>(std::exp(-log_normaliser));
    }
  }
  return out;
}

template <class T>
class CovarianceTile {
 public:
  CovarianceTile(const std::vector<PreparedHead<T>>& heads, const std::vector<Estimate<T>>& estimates,
                 const HeadsOptions& options)
      : heads_(heads),
        estimates_(estimates),
        options_(options),
        n_heads_(static_cast<Index>(heads.size())),
        weights_(n_heads_ * kTile * kBlockKeys),
        scaled_(n_heads_ * kBlockKeys),
        row_sums_(static_cast<std::size_t>(kTile)) {
    std::fill_n(weights_.data(), weights_.size(), T(0));
    for (const PreparedHead<T>& head : heads) queries_.emplace_back(round_up(kTile, kGroup) * head.scoring.d);
  }

  // [m][H*H] of queries [first, first + m).
  Matrix run(Index first, Index m) {
    const Index n = heads_.front().scoring.n;
    Matrix cross = Matrix::Zero(m, n_heads_ * n_heads_);
    for (Index h = 0; h < n_heads_; ++h) {
      const Scoring<T>& scoring = head(h).scoring;
      pack_queries(scoring.queries.row(first).data(), scoring.queries.outerStride(), m, scoring.d, T(1),
                   queries_[static_cast<std::size_t>(h)].data());
    }
    for (Index key = 0; key < n; key += kBlockKeys)
      add_block(key, std::min(kBlockKeys, n - key), first, m, cross);
    for (Index q = 0; q < m; ++q) finish(first + q, cross.row(q).data());
    return cross;
  }

 private:
  const PreparedHead<T>& head(Index h) const { return heads_[static_cast<std::size_t>(h)]; }

  void weigh(Index h, Index key, Index n, Index first, Index m) {
    const Scoring<T>& scoring = head(h).scoring;
    T* rows = weights_.data() + h * kTile * kBlockKeys;
    score_tile(scoring.how, ScoreTile<T>{queries_[static_cast<std::size_t>(h)].data(), scoring.key_block(key),
                                         scoring.bias.data() + key, scoring.scale.data(), m, n, scoring.d,
                                         rows, kBlockKeys});
    weigh_rows(scoring.weight, head(h).shift.data() + first,
               {rows, kBlockKeys, m, round_up(n, 2 * kPanel<T>)}, row_sums_.data());
    for (Index q = 0; q < m; ++q) {
      T* row = rows + q * kBlockKeys;
      const auto at = static_cast<std::size_t>(first + q);
      const T factor = head(h).factor[at];
      for (Index i = 0; i < n && factor != T(1); ++i) row[i] *= factor;
      const Index own = options_.leave_one_out ? first + q - key : Index{-1};
      if (own >= 0 && own < n) row[own] = T(0);
    }
  }

  void add_block(Index key, Index n, Index first, Index m, Matrix& cross) {
    for (Index h = 0; h < n_heads_; ++h) weigh(h, key, n, first, m);
    const Index width = round_up(n, 2 * kPanel<T>), stride = kTile * kBlockKeys;
    for (Index q = 0; q < m; ++q) {
      const T* rows = weights_.data() + q * kBlockKeys;
      if (options_.noise_variance.size() <= 1) {
        cross_sums(rows, stride, n_heads_, width, cross.row(q).data());
        continue;
      }
      for (Index h = 0; h < n_heads_; ++h)
        for (Index i = 0; i < width; ++i)
          scaled_[h * kBlockKeys + i] =
              i < n ? rows[h * stride + i] * static_cast<T>(options_.noise_variance[key + i]) : T(0);
      cross_sums_of_two(rows, stride, width, cross.row(q).data());
    }
  }

  // The scaled rows lie closer together than the tile's.
  void cross_sums_of_two(const T* rows, Index stride, Index width, double* cross) {
    for (Index h = 0; h < n_heads_; ++h) std::copy_n(rows + h * stride, width, gathered(h));
    cross_sums(gathered(0), scaled_.data(), kBlockKeys, n_heads_, width, cross);
  }
  T* gathered(Index h) {
    gathered_.resize(n_heads_ * kBlockKeys);
    return gathered_.data() + h * kBlockKeys;
  }

  void finish(Index query, double* cross) const {
    const auto at = static_cast<std::size_t>(query);
    const double variance = options_.noise_variance.size() == 1 ? options_.noise_variance[0] : 1.0;
    const double shared = options_.centred ? grand_mean_variance(query) : 0.0;
    for (Index a = 0; a < n_heads_; ++a)
      for (Index b = 0; b <= a; ++b) {
        double& value = cross[a * n_heads_ + b];
        const bool tiles = head(a).factor[at] != T(0) && head(b).factor[at] != T(0);
        value = (tiles ? variance * value : by_definition(a, b, query)) - shared;
        cross[b * n_heads_ + a] = value;
      }
  }

  double grand_mean_variance(Index query) const {
    double precision = 0.0;
    for (Index i = 0; i < head(0).scoring.n; ++i)
      if (!options_.leave_one_out || i != query) precision += 1.0 / variance_of(options_.noise_variance, i);
    return 1.0 / precision;
  }

  // Weights of head h at the query, summing to one; NaN without a neighbour.
  Vector weights(Index h, Index query) const {
    const PreparedHead<T>& one = head(h);
    const Vector q = one.queries.row(query).transpose().template cast<double>();
    Vector w(one.keys.rows());
    for (Index i = 0; i < w.size(); ++i)
      w[i] = options_.leave_one_out && i == query
                 ? -std::numeric_limits<double>::infinity()
                 : log_weight(options_.kernel, q, one.keys.row(i).transpose().template cast<double>(),
                              one.bandwidth);
    w = (w.array() - w.maxCoeff()).exp();
    return w / w.sum();
  }

  double by_definition(Index a, Index b, Index query) const {
    for (const Index h : {a, b})
      if (estimates_[static_cast<std::size_t>(h)].status[static_cast<std::size_t>(query)] != PointStatus::ok)
        return std::numeric_limits<double>::quiet_NaN();
    const Vector wa = weights(a, query), wb = weights(b, query);
    double sum = 0.0;
    for (Index i = 0; i < wa.size(); ++i) sum += variance_of(options_.noise_variance, i) * wa[i] * wb[i];
    return sum;
  }

  const std::vector<PreparedHead<T>>& heads_;
  const std::vector<Estimate<T>>& estimates_;
  const HeadsOptions& options_;
  Index n_heads_;
  AlignedArray<T> weights_, scaled_, gathered_;
  std::vector<RowSums<T>> row_sums_;
  std::vector<AlignedArray<T>> queries_;
};

Matrix mean_of_finite_rows(const Matrix& rows) {
  Matrix mean = Matrix::Zero(1, rows.cols());
  Index count = 0;
  for (Index i = 0; i < rows.rows(); ++i) {
    if (!rows.row(i).allFinite()) continue;
    mean += rows.row(i);
    ++count;
  }
  return mean / static_cast<double>(count);
}

template <class T>
Matrix covariance(const std::vector<PreparedHead<T>>& prepared, const std::vector<Estimate<T>>& estimates,
                  const HeadsOptions& options) {
  const Index m = prepared.front().queries.rows(), h = static_cast<Index>(prepared.size());
  Matrix out(m, h * h);
  constexpr Index kRun = 8 * kTile;
  parallel_for((m + kRun - 1) / kRun, [&](Index run) {
    CovarianceTile<T> tile(prepared, estimates, options);
    for (Index first = run * kRun; first < std::min(m, (run + 1) * kRun); first += kTile) {
      const Index count = std::min(kTile, m - first);
      out.middleRows(first, count) = tile.run(first, count);
    }
  });
  return options.average ? mean_of_finite_rows(out) : out;
}

void check_heads(const std::vector<Head>& heads, Index d) {
  if (heads.empty()) throw ArgumentError("heads: there is none");
  for (std::size_t h = 0; h < heads.size(); ++h) {
    const Matrix& projection = heads[h].projection;
    if (projection.size() != 0 && projection.cols() != d)
      throw ArgumentError(fmt::format("heads: projection of head {} has {} columns, the inputs {} dimensions",
                                      h, projection.cols(), d));
    if (!projection.allFinite())
      throw ArgumentError(fmt::format("heads: projection of head {} has a value that is not finite", h));
  }
}

}  // namespace

template <class T>
HeadsEstimate<T> estimate_heads(const Eigen::Ref<const RowMatrix<T>>& queries,
                                const Eigen::Ref<const RowMatrix<T>>& keys,
                                const Eigen::Ref<const RowMatrix<T>>& values, const std::vector<Head>& heads,
                                const HeadsOptions& options) {
  check_heads(heads, keys.cols());
  if (queries.cols() != keys.cols())
    throw ArgumentError(fmt::format("queries: have {} dimensions, the keys {}", queries.cols(), keys.cols()));
  check_variances(options.noise_variance, keys.rows());
  HeadsEstimate<T> out;
  std::vector<PreparedHead<T>> prepared;
  const Vector centre = centre_of<T>(keys, options.kernel);
  for (const Head& head : heads) {
    RowMatrix<T> q = projected<T>(queries, head, centre), k = projected<T>(keys, head, centre);
    EstimateOptions one;
    one.kernel = options.kernel;
    one.bandwidth = head.bandwidth;
    one.leave_one_out = options.leave_one_out;
    out.heads.push_back(estimate<T>(q, k, values, one));
    if (options.covariance)
      prepared.push_back(prepared_head(options.kernel, std::move(q), std::move(k), head, out.heads.back()));
  }
  if (options.covariance) out.covariance = covariance(prepared, out.heads, options);
  return out;
}

template HeadsEstimate<float> estimate_heads(const Eigen::Ref<const RowMatrix<float>>&,
                                             const Eigen::Ref<const RowMatrix<float>>&,
                                             const Eigen::Ref<const RowMatrix<float>>&,
                                             const std::vector<Head>&, const HeadsOptions&);
template HeadsEstimate<double> estimate_heads(const Eigen::Ref<const RowMatrix<double>>&,
                                              const Eigen::Ref<const RowMatrix<double>>&,
                                              const Eigen::Ref<const RowMatrix<double>>&,
                                              const std::vector<Head>&, const HeadsOptions&);

}  // namespace headspan::nw
