#include "estimator/smooth_adjoint.h"

#include <algorithm>
#include <cmath>

#include "headspan/numeric/parallel.h"

namespace headspan::estimator {
namespace {

constexpr Index kQueriesPerTile = 64, kKeysPerTile = 128;

/// Weights of queries, as the head sees them.
class WeightTiles {
 public:
  WeightTiles(const SmoothedRows& rows, const Matrix& projection, MatrixView queries,
              VectorView log_normaliser, bool left_out)
      : at_(queries * projection.transpose()),
        keys_(projection * rows.x.transpose()),
        frequency_(rows.frequency),
        log_frequency_(rows.frequency.array().log()),
        log_normaliser_(log_normaliser),
        left_out_(left_out) {}

  Index n_queries() const { return at_.rows(); }
  Index n_keys() const { return keys_.cols(); }

  /// Relative to the normaliser in the exponent, so that a query far from every key has weights too.
  void fill(Index first_query, Index first_key, Matrix& weights) const {
    const Index count = weights.cols();
    Eigen::RowVectorXd log_weight(count);
    for (Index i = 0; i < weights.rows(); ++i) {
      const Index query = first_query + i;
      log_weight = log_frequency_.segment(first_key, count).transpose();
      for (Index c = 0; c < keys_.rows(); ++c)
        log_weight.array() -= 0.5 * (keys_.row(c).segment(first_key, count).array() - at_(query, c)).square();
      weights.row(i) = (log_weight.array() - log_normaliser_[query]).exp();
      if (left_out_ && query >= first_key && query < first_key + count)
        weights(i, query - first_key) = own_copies(query);
    }
  }

 private:
  /// Far from all other rows the normaliser alone would leave double.
  double own_copies(Index query) const {
    const double others = frequency_[query] - 1.0;
    return others > 0.0 ? std::exp(std::log(others) - log_normaliser_[query]) : 0.0;
  }

  Matrix at_, keys_;  // [m, k], [k, n]
  Vector frequency_, log_frequency_, log_normaliser_;
  bool left_out_;
};

Matrix adjoint(const WeightTiles& tiles, MatrixView g) {
  const Index m = tiles.n_queries(), n = tiles.n_keys();
  Matrix out(g.rows(), n);
  parallel_for((n + kKeysPerTile - 1) / kKeysPerTile, [&](Index block) {
    const Index first_key = block * kKeysPerTile, n_keys = std::min(kKeysPerTile, n - first_key);
    Matrix sum = Matrix::Zero(g.rows(), n_keys), weights;
    for (Index first = 0; first < m; first += kQueriesPerTile) {
      const Index n_queries = std::min(kQueriesPerTile, m - first);
      weights.resize(n_queries, n_keys);
      tiles.fill(first, first_key, weights);
      sum.noalias() += g.middleCols(first, n_queries) * weights;
    }
    out.middleCols(first_key, n_keys) = sum;
  });
  return out;
}

}  // namespace

Matrix smooth_adjoint(const SmoothedRows& rows, const Matrix& projection, MatrixView queries,
                      VectorView log_normaliser, MatrixView g) {
  return adjoint(WeightTiles(rows, projection, queries, log_normaliser, false), g);
}

Matrix smooth_left_out_adjoint(const SmoothedRows& rows, const Matrix& projection, VectorView log_normaliser,
                               MatrixView g) {
  return adjoint(WeightTiles(rows, projection, rows.x, log_normaliser, true), g);
}

}  // namespace headspan::estimator
