#pragma once
// A row of weights written out, for kernels that no vectorised pair loop serves: one query beside every key.

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "headspan/numeric/matrix.h"
#include "headspan/nw/kernel.h"
#include "nw/category_factor.h"

namespace headspan::nw {

using Row = Eigen::ArrayXd;

/// The keys of a row, by columns.
struct KeyColumns {
  const Kernel& kernel;
  const Matrix& numbers;    ///< [d, n]
  const Vector& bandwidth;  ///< [d], positive; +inf leaves a column out
  const std::vector<CategoryFactor>& categories;
};

/// Where a row is taken.
struct QueryPlace {
  Vector numbers;             ///< [d]
  std::vector<Index> levels;  ///< [c] ranks among the keys' levels; below 0: a level that no key has
};

/// Place i of the keys themselves.
QueryPlace place_of_key(const KeyColumns& keys, Index i);

/// Where log_value and slope of two levels stand.
inline std::size_t distance_of(const CategoryFactor& factor, Index level, Index other) {
  return std::min(static_cast<std::size_t>(std::abs(level - other)), factor.log_value.size() - 1);
}

/// Sums of log_value over the columns of categories, of every key; -inf where lambda = 0 parts them.
void add_log_categories(const KeyColumns& keys, const QueryPlace& query, Row& row);

/// Logarithms of the weights of all keys at the query, categories relative to equal ones. O(n (d + c)).
void fill_log_weights(const KeyColumns& keys, const QueryPlace& query, Row& row);

/// Turns logarithms into weights relative to the largest one, whose logarithm is returned; key `left_out`
/// gets none. All weights are 0 where that is -inf.
double exponentiate(Row& row, Index left_out = -1);

}  // namespace headspan::nw
