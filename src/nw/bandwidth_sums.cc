#include "nw/bandwidth_sums.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "headspan/numeric/parallel.h"

namespace headspan::nw {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr Index kRowsPerBlock = 64;

using Row = Eigen::ArrayXd;

/// The weights of a compact kernel, or the logarithms of the others, of all points at point i.
void fill_row(const SmootherData& data, Index i, Row& row) {
  const auto& [kernel, columns, inverse, values] = data;
  const bool compact = is_compact(kernel.function);
  const bool product = kernel.shape == KernelShape::product && kernel.function != KernelFunction::gaussian &&
                       kernel.function != KernelFunction::softmax;
  row.setConstant(product && compact ? 1.0 : 0.0);
  for (Index k = 0; k < columns.rows(); ++k) {
    const auto column = columns.row(k).transpose().array();
    if (kernel.function == KernelFunction::softmax) {
      row += column * (columns(k, i) * inverse[k] * inverse[k]);
      continue;
    }
    const auto u = (column - columns(k, i)).abs() * inverse[k];
    if (!product)
      row += u.square();
    else if (!compact)
      row -= u;
    else
      row *= u.unaryExpr([&](double one) { return kernel_value(kernel.function, one); });
  }
  if (product || kernel.function == KernelFunction::softmax) return;
  if (kernel.function == KernelFunction::gaussian)
    row *= -0.5;
  else if (!compact)
    row = -row.sqrt();
  else
    row = row.sqrt().unaryExpr([&](double one) { return kernel_value(kernel.function, one); });
}

/// Turns logarithms into weights relative to the largest one of another point, which is returned.
double exponentiate(Row& row, Index i) {
  row[i] = -kInfinity;
  const double shift = row.maxCoeff();
  if (shift == -kInfinity)
    row.setZero();
  else
    row = (row - shift).exp();
  return shift;
}

void sum_row(const SmootherData& data, Index i, Row& row, OtherSums& sums) {
  fill_row(data, i, row);
  const bool compact = is_compact(data.kernel.function);
  sums.shift[i] = compact ? 0.0 : exponentiate(row, i);
  row[i] = 0.0;
  sums.weight[i] = row.sum();
  sums.value[i] = (row * data.values.array()).sum();
  sums.square[i] = row.square().sum();
  if (sums.weight[i] == 0.0) sums.shift[i] = -kInfinity;
}

}  // namespace

double self_log_weight(const SmootherData& data, Index i) {
  if (data.kernel.function != KernelFunction::softmax) return 0.0;
  return data.columns.col(i).cwiseProduct(data.inverse_bandwidth).squaredNorm();
}

OtherSums other_sums(const SmootherData& data) {
  const Index n = data.values.size();
  OtherSums sums{Vector(n), Vector(n), Vector(n), Vector(n)};
  parallel_for((n + kRowsPerBlock - 1) / kRowsPerBlock, [&](Index block) {
    Row row(n);
    const Index end = std::min(n, (block + 1) * kRowsPerBlock);
    for (Index i = block * kRowsPerBlock; i < end; ++i) sum_row(data, i, row, sums);
  });
  return sums;
}

RowScore row_score(const OtherSums& sums, Index i, double self_log) {
  const double shift = sums.shift[i];
  if (shift == -kInfinity) return {std::numeric_limits<double>::quiet_NaN(), 1.0, 0.0, 1.0, true};
  const double top = std::max(shift, self_log);
  const double self = std::exp(self_log - top), scale = std::exp(shift - top);
  const double others = sums.weight[i] * scale, squares = sums.square[i] * scale * scale;
  const double total = self + others;
  return {sums.value[i] / sums.weight[i], self / total, others / total,
          total * total / (self * self + squares), false};
}

}  // namespace headspan::nw
