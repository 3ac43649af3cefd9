#include "estimator/canonical_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "headspan/numeric/error.h"

namespace headspan::estimator {
namespace {

void check_table(MatrixView x, VectorView y, VectorView row_weight) {
  if (x.rows() != y.size())
    throw ArgumentError(fmt::format("y: has {} values for {} rows of x", y.size(), x.rows()));
  if (x.cols() < 1) throw ArgumentError("x: has no column, wants at least one");
  if (!x.allFinite()) throw ArgumentError("x: holds NaN or infinity; fill or leave out missing values first");
  if (!y.allFinite()) throw ArgumentError("y: holds NaN or infinity; leave out rows without a target first");
  if (row_weight.size() == 0) return;
  if (row_weight.size() != x.rows())
    throw ArgumentError(
        fmt::format("row_weight: has {} values for {} rows of x", row_weight.size(), x.rows()));
  if (!row_weight.allFinite() || (row_weight.array() < 0.0).any())
    throw ArgumentError("row_weight: must be finite and not negative");
}

/// Below 0, 0 or above 0 as row a of the table comes before, with or after row b.
int compare(const Matrix& table, Index a, Index b) {
  for (Index j = 0; j < table.cols(); ++j) {
    if (table(a, j) < table(b, j)) return -1;
    if (table(a, j) > table(b, j)) return 1;
  }
  return 0;
}

}  // namespace

CanonicalRows canonical_rows(MatrixView x, VectorView y, VectorView row_weight) {
  check_table(x, y, row_weight);
  const Index p = x.cols();
  Matrix table(x.rows(), p + 1);
  table << x, y;
  table.array() += 0.0;  // -0 and 0 are the same number, and should leave the same bits
  const auto weight = [&](Index i) { return row_weight.size() == 0 ? 1.0 : row_weight[i]; };
  std::vector<Index> order;
  for (Index i = 0; i < x.rows(); ++i)
    if (weight(i) > 0.0) order.push_back(i);
  if (order.empty()) throw ArgumentError("x: has no row of positive weight");
  std::sort(order.begin(), order.end(), [&](Index a, Index b) {
    const int side = compare(table, a, b);
    return side != 0 ? side < 0 : weight(a) < weight(b);
  });
  CanonicalRows out{{}, {}, {}, std::vector<Index>(static_cast<std::size_t>(x.rows()), -1)};
  std::vector<Index> first;
  std::vector<double> frequency;
  for (const Index i : order) {
    if (first.empty() || compare(table, first.back(), i) != 0) {
      first.push_back(i);
      frequency.push_back(0.0);
    }
    frequency.back() += weight(i);
    out.place[static_cast<std::size_t>(i)] = std::ssize(first) - 1;
  }
  out.x = table(first, Eigen::seqN(0, p));
  out.y = table(first, p);
  out.frequency = Eigen::Map<const Vector>(frequency.data(), std::ssize(frequency));
  return out;
}

}  // namespace headspan::estimator
