#include "estimator/smooth.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "headspan/nw/estimate.h"

namespace headspan::estimator {
namespace {

bool all_ones(VectorView frequency) { return (frequency.array() == 1.0).all(); }

nw::EstimateOptions unit_gaussian(const SmoothOptions& options, bool left_out) {
  nw::EstimateOptions out;
  out.bandwidth = Vector::Ones(1);
  out.leave_one_out = left_out;
  out.relative_error = options.relative_error;
  return out;
}

/// The engine knows no frequencies: it smooths c v and c, whose quotient is the mean with them.
Matrix with_frequencies(MatrixView values, VectorView frequency) {
  Matrix out(values.rows(), values.cols() + 1);
  out.leftCols(values.cols()) = frequency.asDiagonal() * values;
  out.col(values.cols()) = frequency;
  return out;
}

/// Divides by the smoothed frequencies, the last column.
Smoothed quotient(const nw::Estimate<double>& estimate) {
  const Index c = estimate.output.cols() - 1;
  const Vector count = estimate.output.col(c);
  return {count.cwiseInverse().asDiagonal() * estimate.output.leftCols(c),
          estimate.log_normaliser + count.array().log().matrix(), Vector()};
}

/// sum c k^2 comes from the same kernel at a bandwidth smaller by sqrt 2.
Vector weighted_n_eff(const Matrix& queries, const Matrix& keys, VectorView frequency,
                      const Smoothed& smoothed) {
  const double root2 = std::numbers::sqrt2;
  const nw::Estimate<double> squares =
      nw::estimate<double>(root2 * queries, root2 * keys, Matrix(frequency), unit_gaussian({}, false));
  const Vector log_squares = squares.log_normaliser + squares.output.col(0).array().log().matrix();
  return (2.0 * smoothed.log_normaliser - log_squares).array().exp();
}

/// Puts the other copies of every row, at distance 0 and so of weight 1 each, back into its mean.
void add_own_copies(MatrixView values, VectorView frequency, Smoothed& smoothed) {
  for (Index i = 0; i < frequency.size(); ++i) {
    if (!(frequency[i] > 1.0)) continue;
    const double own = std::log(frequency[i] - 1.0), others = smoothed.log_normaliser[i];
    const double top = std::max(own, others), sum = std::exp(own - top) + std::exp(others - top);
    const double share = std::exp(own - top) / sum;
    smoothed.value.row(i) += share * (values.row(i) - smoothed.value.row(i));
    smoothed.log_normaliser[i] = top + std::log(sum);
  }
}

}  // namespace

Smoothed smooth(const SmoothedRows& rows, const Matrix& projection, MatrixView queries, MatrixView values,
                const SmoothOptions& options) {
  const Matrix at = queries * projection.transpose(), keys = rows.x * projection.transpose();
  if (all_ones(rows.frequency)) {
    nw::Estimate<double> estimate = nw::estimate<double>(at, keys, values, unit_gaussian(options, false));
    return {std::move(estimate.output), std::move(estimate.log_normaliser), std::move(estimate.n_eff)};
  }
  Smoothed out = quotient(nw::estimate<double>(at, keys, with_frequencies(values, rows.frequency),
                                               unit_gaussian(options, false)));
  if (options.n_eff) out.n_eff = weighted_n_eff(at, keys, rows.frequency, out);
  return out;
}

Smoothed smooth_left_out(const SmoothedRows& rows, const Matrix& projection, MatrixView values,
                         const SmoothOptions& options) {
  const Matrix keys = rows.x * projection.transpose();
  const nw::EstimateOptions how = unit_gaussian(options, true);
  if (all_ones(rows.frequency)) {
    nw::Estimate<double> estimate = nw::estimate<double>(keys, keys, values, how);
    return {std::move(estimate.output), std::move(estimate.log_normaliser), Vector()};
  }
  Smoothed out = quotient(nw::estimate<double>(keys, keys, with_frequencies(values, rows.frequency), how));
  add_own_copies(values, rows.frequency, out);
  return out;
}

}  // namespace headspan::estimator
