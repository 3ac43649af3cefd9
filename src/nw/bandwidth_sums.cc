#include "nw/bandwidth_sums.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "headspan/numeric/error.h"
#include "headspan/numeric/parallel.h"
#include "nw/constants.h"
#include "nw/log_weights.h"

namespace headspan::nw {
namespace {

constexpr Index kRowsPerBlock = 16;
// Below this, weights that underflow, or whose squares do, could be missed: 2^-500.
constexpr double kSmallestSum = 0x1p-500;

PairKernel pair_kernel(const Kernel& kernel) {
  const bool product = kernel.shape == KernelShape::product;
  switch (kernel.function) {
    case KernelFunction::gaussian:
    case KernelFunction::softmax:
      return PairKernel::gaussian;
    case KernelFunction::laplace:
      return product ? PairKernel::laplace_product : PairKernel::laplace;
    case KernelFunction::epanechnikov:
      return product ? PairKernel::epanechnikov_product : PairKernel::epanechnikov;
    case KernelFunction::biweight:
      return product ? PairKernel::biweight_product : PairKernel::biweight;
    case KernelFunction::triweight:
      return product ? PairKernel::triweight_product : PairKernel::triweight;
    case KernelFunction::tricube:
      return product ? PairKernel::tricube_product : PairKernel::tricube;
    case KernelFunction::uniform:
      return product ? PairKernel::uniform_product : PairKernel::uniform;
  }
  throw ArgumentError("kernel function: not one of the enumeration");
}

KeyColumns keys_of(const SmootherData& data) {
  return {data.kernel, data.points.columns, data.points.bandwidth, data.categories};
}

/// Weights of all other points at point i, relative to the largest, whose logarithm is returned.
double fill_row(const SmootherData& data, Index i, Row& row) {
  const KeyColumns keys = keys_of(data);
  fill_log_weights(keys, place_of_key(keys, i), row);
  return exponentiate(row, i);
}

/// The sums of row i with weights relative to the largest.
void sum_shifted_row(const SmootherData& data, Index i, Row& row, OtherSums& sums) {
  sums.shift[i] = fill_row(data, i, row);
  sums.weight[i] = row.sum();
  sums.value[i] = (row * data.points.values.array()).sum();
  if (sums.square.size() > 0) sums.square[i] = row.square().sum();
}

/// True where the vectorised pairs cannot serve.
bool row_by_row(const SmootherData& data) {
  return data.kernel.function == KernelFunction::softmax || !data.categories.empty();
}

/// Rows that need a shift: all of softmax and of categories; of gaussian and laplace, those far from every
/// other point.
std::vector<Index> rows_to_shift(const SmootherData& data, const OtherSums& sums) {
  std::vector<Index> rows;
  for (Index i = 0; i < sums.weight.size(); ++i)
    if (row_by_row(data) || sums.weight[i] < kSmallestSum) rows.push_back(i);
  return rows;
}

/// Scaled differences of coordinate k from point i.
Row scaled_differences(const SmootherData& data, Index i, Index k) {
  const Matrix& columns = data.points.columns;
  return (columns.row(k).transpose().array() - columns(k, i)) / data.points.bandwidth[k];
}

/// What row i, whose sums are relative to its own shift, contributes to derivatives: w_ij (p + q values_j).
void fill_shifted_coefficients(const SmootherData& data, Index i, double p, double q, Row& row) {
  fill_row(data, i, row);
  row *= p + q * data.points.values.array();
}

/// Coefficients as derivatives by numbers need them: of laplace, over the length of the scaled difference.
Row over_length(const SmootherData& data, Index i, const Row& row) {
  if (data.points.kernel != PairKernel::laplace) return row;
  Row squares = Row::Zero(row.size());
  for (Index k = 0; k < data.points.columns.rows(); ++k) squares += scaled_differences(data, i, k).square();
  return (squares > 0.0).select(row / squares.sqrt(), 0.0);
}

void add_shifted_slopes(const SmootherData& data, Index i, const Row& row, Vector& slopes) {
  for (Index k = 0; k < data.points.columns.rows(); ++k) {
    const Row u = scaled_differences(data, i, k);
    slopes[k] +=
        (row * (data.points.kernel == PairKernel::laplace_product ? Row(u.abs()) : u.square())).sum();
  }
}

/// The rest of `slopes`: log lambdas of categories.
void add_category_slopes(const SmootherData& data, Index i, const Row& row, Vector& slopes) {
  Index k = data.points.columns.rows();
  for (const CategoryFactor& factor : data.categories) {
    double sum = 0.0;
    const std::vector<Index>& level = factor.level;
    for (std::size_t j = 0; j < level.size() && !factor.log_value.empty(); ++j)
      sum += row[static_cast<Index>(j)] *
             factor.slope[distance_of(factor, level[static_cast<std::size_t>(i)], level[j])];
    slopes[k++] += sum;
  }
}

void add_shifted_gradient(const SmootherData& data, Index i, const Row& row, Matrix& gradient) {
  for (Index k = 0; k < gradient.rows(); ++k) {
    const Row u = scaled_differences(data, i, k);
    const Row pull = row * (data.points.kernel == PairKernel::laplace_product ? Row(u.sign()) : u) /
                     data.points.bandwidth[k];
    gradient.row(k) -= pull.matrix().transpose();
    gradient(k, i) += pull.sum();
  }
}

/// Calls add(i, coefficients) for every row with a shift, and leaves these rows out of p and q.
template <class Add>
void for_shifted_rows(const SmootherData& data, const OtherSums& sums, Vector& p, Vector& q, const Add& add) {
  if (!has_slopes(data)) throw ArgumentError("derivatives of this kernel are not offered");
  Row row(p.size());
  for (Index i = 0; i < p.size(); ++i) {
    if (sums.shift[i] == 0.0 && !row_by_row(data)) continue;
    if (sums.shift[i] > -kInfinity) {
      fill_shifted_coefficients(data, i, p[i], q[i], row);
      add(i, row);
    }
    p[i] = q[i] = 0.0;
  }
}

}  // namespace

SmootherData smoother_data(const Kernel& kernel, MatrixView x, VectorView bandwidth, VectorView values) {
  return {kernel, {pair_kernel(kernel), x.transpose(), bandwidth, values}, {}};
}

double self_log_weight(const SmootherData& data, Index i) {
  if (data.kernel.function != KernelFunction::softmax) return 0.0;
  return data.points.columns.col(i).cwiseQuotient(data.points.bandwidth).squaredNorm();
}

OtherSums other_sums(const SmootherData& data, bool with_squares) {
  const Index n = data.points.values.size();
  OtherSums sums{Vector::Zero(n), Vector::Zero(n), Vector::Zero(n), Vector::Zero(with_squares ? n : 0)};
  if (!row_by_row(data)) {
    PairSums plain = pair_sums(data.points, with_squares);
    sums.weight = std::move(plain.weight);
    sums.value = std::move(plain.value);
    sums.square = std::move(plain.square);
  }
  if (is_compact(data.kernel.function) && !row_by_row(data)) {
    sums.shift = (sums.weight.array() > 0.0).select(0.0, Vector::Constant(n, -kInfinity));
    return sums;
  }
  const std::vector<Index> rows = rows_to_shift(data, sums);
  const Index count = std::ssize(rows);
  parallel_for((count + kRowsPerBlock - 1) / kRowsPerBlock, [&](Index block) {
    Row row(n);
    const Index end = std::min(count, (block + 1) * kRowsPerBlock);
    for (Index i = block * kRowsPerBlock; i < end; ++i)
      sum_shifted_row(data, rows[static_cast<std::size_t>(i)], row, sums);
  });
  return sums;
}

bool has_slopes(const SmootherData& data) {
  return data.kernel.function != KernelFunction::softmax && has_slopes(data.points.kernel);
}

Vector other_slopes(const SmootherData& data, const OtherSums& sums, Vector p, Vector q) {
  const Index d = data.points.columns.rows();
  Vector slopes = Vector::Zero(d + std::ssize(data.categories));
  for_shifted_rows(data, sums, p, q, [&](Index i, const Row& row) {
    add_shifted_slopes(data, i, over_length(data, i, row), slopes);
    add_category_slopes(data, i, row, slopes);
  });
  if (!row_by_row(data)) slopes += pair_slopes(data.points, p, q);
  return slopes;
}

Matrix other_gradient(const SmootherData& data, const OtherSums& sums, Vector p, Vector q) {
  if (!data.categories.empty()) throw ArgumentError("derivatives by inputs: not offered beside categories");
  Matrix gradient = Matrix::Zero(data.points.columns.rows(), p.size());
  for_shifted_rows(data, sums, p, q, [&](Index i, const Row& row) {
    add_shifted_gradient(data, i, over_length(data, i, row), gradient);
  });
  return gradient + pair_gradient(data.points, p, q);
}

RowScore row_score(const OtherSums& sums, Index i, double self_log) {
  const double shift = sums.shift[i];
  if (shift == -kInfinity) return {kNaN, 1.0, 0.0, 1.0, true};
  const double top = std::max(shift, self_log);
  const double self = std::exp(self_log - top), scale = std::exp(shift - top);
  const double others = sums.weight[i] * scale;
  const double squares = sums.square.size() > 0 ? sums.square[i] * scale * scale : kNaN;
  const double total = self + others;
  return {sums.value[i] / sums.weight[i], self / total, others / total,
          total * total / (self * self + squares), false};
}

}  // namespace headspan::nw
