#pragma once
// Sums of weights and weighted values over all keys, for every query: what an estimate is made of.

#include <limits>
#include <vector>

#include "headspan/numeric/matrix.h"
#include "nw/scoring.h"
#include "nw/tree.h"

namespace headspan::nw {

/// Sums over the keys of w_i, w_i^2 and w_i v_i, w_i relative to the query's shift; in double, so that n
/// equal weights add up to n.
struct Sums {
  Vector weight;   ///< [m]
  Vector squares;  ///< [m]
  Matrix values;   ///< [m, value_dim]
};

/// Row `to` of `all` becomes row `from` of `some`.
inline void put_row(const Sums& some, Index from, Index to, Sums& all) {
  all.weight[to] = some.weight[from];
  all.squares[to] = some.squares[from];
  all.values.row(to) = some.values.row(from);
}

struct SumOptions {
  bool own_key_out = false;  ///< query i leaves out key i
  bool squares = true;
};

/// Sums of a radial kernel. `scoring.shift` is what weights are relative to.
template <class T>
Sums sum_over_keys(const Scoring<T>& scoring, const Eigen::Ref<const RowMatrix<T>>& values,
                   const SumOptions& options);

/// What a sum over near keys may leave out. Queries and keys of the scoring lie in the order of their trees.
struct Pruning {
  const Kernel& kernel;
  const KeyTree& queries;
  const KeyTree& keys;
  double
      relative_error;  ///< weights left out of a sum, at most this share of those in it; 0: only weights of 0
};

/// The same as sum_over_keys() without the blocks of keys that cannot matter.
template <class T>
Sums sum_over_near_keys(const Scoring<T>& scoring, const Eigen::Ref<const RowMatrix<T>>& values,
                        const SumOptions& options, const Pruning& pruning);

/// Largest score of every query, its own key left out where asked for: a shift that no weight underflows
/// from.
template <class T>
std::vector<T> largest_scores(const Scoring<T>& scoring, bool own_key_out);

/// Sums of a product kernel: one factor per dimension.
template <class T>
Sums sum_over_keys_of_product(KernelFunction function, const Inputs<T>& inputs,
                              const Eigen::Ref<const RowMatrix<T>>& values, const SumOptions& options);

}  // namespace headspan::nw
