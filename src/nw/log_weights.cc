#include "nw/log_weights.h"

#include <cmath>

#include "nw/constants.h"

namespace headspan::nw {
namespace {

/// Adds the logarithms of the kernels of numbers.
void add_log_kernels(const KeyColumns& keys, const Vector& query, Row& row) {
  const KernelFunction function = keys.kernel.function;
  const bool product = keys.kernel.shape == KernelShape::product && function != KernelFunction::gaussian;
  const auto log_kernel = [&](double u) {
    if (function == KernelFunction::gaussian) return -0.5 * u * u;
    return function == KernelFunction::laplace ? -u : std::log(kernel_value(function, u));
  };
  Row squares = Row::Zero(row.size());
  for (Index k = 0; k < query.size(); ++k) {
    const double h = keys.bandwidth[k];
    const auto column = keys.numbers.row(k).transpose().array();
    if (function == KernelFunction::softmax)
      row += column * (query[k] / h / h);
    else if (product)
      row += ((column - query[k]).abs() / h).unaryExpr(log_kernel);
    else
      squares += ((column - query[k]) / h).square();
  }
  if (!product && function != KernelFunction::softmax) row += squares.sqrt().unaryExpr(log_kernel);
}

}  // namespace

QueryPlace place_of_key(const KeyColumns& keys, Index i) {
  QueryPlace place{keys.numbers.col(i), {}};
  for (const CategoryFactor& factor : keys.categories)
    place.levels.push_back(factor.level[static_cast<std::size_t>(i)]);
  return place;
}

void add_log_categories(const KeyColumns& keys, const QueryPlace& query, Row& row) {
  for (std::size_t k = 0; k < keys.categories.size(); ++k) {
    const CategoryFactor& factor = keys.categories[k];
    if (factor.log_value.empty()) continue;
    for (std::size_t j = 0; j < factor.level.size(); ++j)
      row[static_cast<Index>(j)] += factor.log_value[distance_of(factor, query.levels[k], factor.level[j])];
  }
}

void fill_log_weights(const KeyColumns& keys, const QueryPlace& query, Row& row) {
  row.setZero();
  if (query.numbers.size() > 0) add_log_kernels(keys, query.numbers, row);
  add_log_categories(keys, query, row);
}

double exponentiate(Row& row, Index left_out) {
  if (left_out >= 0) row[left_out] = -kInfinity;
  const double shift = row.maxCoeff();
  if (shift == -kInfinity)
    row.setZero();
  else
    row = (row - shift).exp();
  return shift;
}

}  // namespace headspan::nw
