#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "headspan/numeric/error.h"
#include "headspan/numeric/parallel.h"
#include "headspan/nw/category.h"
#include "nw/constants.h"
#include "nw/estimate_parts.h"
#include "nw/log_weights.h"

namespace headspan::nw {
namespace {

constexpr Index kQueriesPerBlock = 16;

using Codes = RowMatrix<std::int32_t>;

struct Places {
  MatrixView numbers;                      ///< [m, d]
  std::vector<std::vector<Index>> levels;  ///< [c][m]

  QueryPlace at(Index query) const {
    QueryPlace place{numbers.row(query).transpose(), {}};
    for (const std::vector<Index>& ranks : levels)
      place.levels.push_back(ranks[static_cast<std::size_t>(query)]);
    return place;
  }
};

std::vector<std::vector<Index>> query_levels(const std::vector<CategoryFactor>& factors, const Codes& codes,
                                             Index m) {
  const Index c = std::ssize(factors);
  if (codes.cols() != c || codes.rows() != m)
    throw ArgumentError(fmt::format("categories: the queries' codes are [{}, {}], wanted are [{}, {}]",
                                    codes.rows(), codes.cols(), m, c));
  std::vector<std::vector<Index>> levels;
  for (Index k = 0; k < c; ++k) {
    const CategoryFactor& factor = factors[static_cast<std::size_t>(k)];
    std::vector<Index>& ranks = levels.emplace_back();
    for (Index q = 0; q < m; ++q) {
      ranks.push_back(level_of(factor, codes(q, k)));
      if (ranks.back() < 0 && is_ordered(factor.kernel))
        throw ArgumentError(fmt::format(
            "categories: column {} of query {} has level {}, which is none of the keys'; "
            "levels in order are compared by their places, so leave such queries out, or name all levels",
            k, q, codes(q, k)));
    }
  }
  return levels;
}

/// The sums at every query, weights relative to its largest. O(n) memory per thread.
Accumulated sums_at(const KeyColumns& keys, const Places& places, MatrixView values, bool own_key_out) {
  const Index m = places.numbers.rows(), n = values.rows();
  Accumulated out{{Vector::Zero(m), Vector::Zero(m), Matrix::Zero(m, values.cols())}, Vector::Zero(m)};
  parallel_for((m + kQueriesPerBlock - 1) / kQueriesPerBlock, [&](Index block) {
    Row row(n);
    const Index end = std::min(m, (block + 1) * kQueriesPerBlock);
    for (Index q = block * kQueriesPerBlock; q < end; ++q) {
      fill_log_weights(keys, places.at(q), row);
      out.log_shift[q] = exponentiate(row, own_key_out ? q : -1);
      out.sums.weight[q] = row.sum();
      out.sums.squares[q] = row.square().sum();
      for (Index j = 0; j < values.cols(); ++j) out.sums.values(q, j) = (row * values.col(j).array()).sum();
    }
  });
  return out;
}

/// Among the keys whose categories are the most like the query's, the nearest.
Index nearest_alike(const KeyColumns& keys, const Places& places, const Inputs<double>& inputs, Index query,
                    bool own_key_out) {
  Row alike = Row::Zero(inputs.keys.rows());
  add_log_categories(keys, places.at(query), alike);
  const auto takes_part = [&](Index i) { return !own_key_out || i != query; };
  double most = -kInfinity;
  for (Index i = 0; i < alike.size(); ++i)
    if (takes_part(i)) most = std::max(most, alike[i]);
  return nearest_key<double>(inputs, query, [&](Index i) { return takes_part(i) && alike[i] == most; });
}

}  // namespace

Estimate<double> estimate(MatrixView queries, MatrixView keys, MatrixView values,
                          const EstimateOptions& options, const EstimateCategories& categories) {
  if (categories.keys.kernels.empty() && categories.keys.codes.cols() == 0)
    return estimate<double>(queries, keys, values, options);
  check_estimate<double>(queries, keys, values, options);
  const Vector bandwidth = full_bandwidth(options.bandwidth, keys.cols());
  std::vector<CategoryFactor> factors = category_factors(categories.keys, keys.rows());
  set_lambdas(factors, categories.lambda);
  const Matrix numbers = keys.transpose();
  const KeyColumns columns{options.kernel, numbers, bandwidth, factors};
  const Places places{queries, query_levels(factors, categories.queries, queries.rows())};
  const Inputs<double> inputs{queries, keys, bandwidth};
  const bool own_key_out = options.leave_one_out;
  Estimate<double> found =
      finish<double>(inputs, values, options, sums_at(columns, places, values, own_key_out),
                     [&](Index query) { return nearest_alike(columns, places, inputs, query, own_key_out); });
  // The sums are relative to equal categories, whose own value is 1 - lambda under two of the kernels.
  for (std::size_t k = 0; k < factors.size(); ++k)
    found.log_normaliser.array() += std::log(
        category_value(factors[k].kernel, 0, factors[k].n_levels, categories.lambda[static_cast<Index>(k)]));
  return found;
}

}  // namespace headspan::nw
