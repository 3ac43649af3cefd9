#include "headspan/estimator/pilot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "estimator/pilot_heads.h"
#include "estimator/prepare.h"
#include "headspan/numeric/error.h"
#include "headspan/numeric/random.h"

namespace headspan::estimator {
namespace {

constexpr std::uint64_t kRowStream = 0x726f7773;  // apart from the streams of bases and resamples

void check_options(const PilotOptions& options) {
  const auto positive = [](const char* name, Index value) {
    if (value < 1) throw ArgumentError(fmt::format("{}: must be at least 1, it is {}", name, value));
  };
  positive("n_heads", options.n_heads);
  positive("n_dimensions", options.n_dimensions);
  positive("most_rows", options.most_rows);
  positive("n_bootstrap", options.n_bootstrap);
}

/// At most `most` of the places, the first and the last among them, in roughly equal ratios.
std::vector<plan::Pair> spread(const std::vector<plan::Pair>& pairs, Index most) {
  const auto size = static_cast<Index>(pairs.size());
  if (size <= most) return pairs;
  std::vector<plan::Pair> out;
  const double least = static_cast<double>(pairs.front().head_dim),
               ratio = static_cast<double>(pairs.back().head_dim) / least;
  for (Index i = 0; i < most; ++i) {
    const double share = most > 1 ? static_cast<double>(i) / static_cast<double>(most - 1) : 0.0;
    const double wanted = least * std::pow(ratio, share) * (1.0 - 1e-12);
    const auto next = std::find_if(pairs.begin(), pairs.end(), [&](const plan::Pair& pair) {
      return static_cast<double>(pair.head_dim) >= wanted;
    });
    if (out.empty() || next->head_dim > out.back().head_dim) out.push_back(*next);
  }
  return out;
}

PilotCell measured_cell(const Matrix& x, VectorView y, const Matrix& frames, Index head_dim,
                        double bandwidth) {
  nw::HeadsOptions options;
  options.leave_one_out = true;
  options.covariance = true;
  const Matrix values = y;
  const auto estimate =
      nw::estimate_heads<double>(x, x, values, heads_on(frames, head_dim, bandwidth), options);
  const Matrix residual = left_out_residuals(estimate, y);
  const Index m = residual.rows(), n_heads = residual.cols();
  const double h = static_cast<double>(n_heads), pairs = h * (h - 1.0);
  PilotCell cell{bandwidth, Vector(m), Vector(m), Vector(m), Vector(m), {}};
  cell.moments = residual.transpose() * residual / static_cast<double>(m);
  for (Index i = 0; i < m; ++i) {
    const Eigen::Map<const Matrix> c(estimate.covariance.row(i).data(), n_heads, n_heads);
    const double squares = residual.row(i).squaredNorm(), sum = residual.row(i).sum();
    cell.own[i] = squares / h;
    cell.variance[i] = c.trace() / h;
    cell.shared[i] = n_heads > 1 ? (sum * sum - squares) / pairs : cell.own[i];
    cell.covariance[i] = n_heads > 1 ? (c.sum() - c.trace()) / pairs : cell.variance[i];
  }
  return cell;
}

PilotDimension measured_dimension(const Matrix& x, VectorView y, const plan::Pair& pair,
                                  const PilotOptions& options) {
  PilotDimension out;
  out.head_dim = pair.head_dim;
  // As many as asked for even where the budget has fewer: one draw says little of what heads do on average.
  out.n_heads = pair.head_dim == x.cols() ? 1 : options.n_heads;
  const Matrix frames = projection_blocks(out.n_heads, pair.head_dim, x.cols(),
                                          options.seed + static_cast<std::uint64_t>(pair.head_dim));
  for (const double bandwidth : pilot_bandwidths(pair.head_dim))
    out.cells.push_back(measured_cell(x, y, frames, pair.head_dim, bandwidth));
  return out;
}

/// Mean squared leave-one-out residual of the heads of a cell, as many as were drawn.
double loo_of(const PilotDimension& dimension, const PilotCell& cell) {
  const double shared = cell.shared.mean();
  return shared + (cell.own.mean() - shared) / static_cast<double>(dimension.n_heads);
}

/// The residual noise estimate of the ensemble of least leave-one-out error.
ensemble::Part residual_noise(const Matrix& x, VectorView y, const Pilot& pilot,
                              const PilotOptions& options) {
  const PilotDimension* best = nullptr;
  const PilotCell* cell = nullptr;
  for (const PilotDimension& dimension : pilot.dimensions)
    for (const PilotCell& tried : dimension.cells)
      if (!cell || loo_of(dimension, tried) < loo_of(*best, *cell)) {
        best = &dimension;
        cell = &tried;
      }
  const Matrix frames = projection_blocks(best->n_heads, best->head_dim, x.cols(),
                                          options.seed + static_cast<std::uint64_t>(best->head_dim));
  nw::HeadsOptions heads_options;
  heads_options.covariance = true;
  heads_options.average = true;
  const Matrix values = y;
  const auto estimate = nw::estimate_heads<double>(
      x, x, values, heads_on(frames, best->head_dim, cell->bandwidth), heads_options);
  double trace = 0.0;
  for (const auto& head : estimate.heads) trace += (-head.log_normaliser).array().exp().sum();  // k(x, x) = 1
  const double h = static_cast<double>(estimate.heads.size());
  const double trace_wwt = static_cast<double>(y.size()) * estimate.covariance.sum() / (h * h);
  const Vector residual = left_out_residuals(estimate, y).rowwise().mean();
  return ensemble::residual_noise_variance(residual, trace / h, trace_wwt);
}

}  // namespace

Pilot run_pilot(MatrixView x, VectorView y, const plan::PairRules& rules, const PilotOptions& options) {
  check_options(options);
  const PilotInputs inputs = pilot_inputs(x, y);
  Pilot out;
  out.n = y.size();
  out.d = inputs.x.cols();
  out.constant_inputs = inputs.constant;
  plan::PairRules bounded = rules;
  bounded.d_model = std::min(rules.d_model.value_or(out.d), out.d);
  const std::vector<plan::Pair> pairs = spread(plan::admissible_pairs(bounded), options.n_dimensions);
  const std::vector<Index> rows =
      sampled_rows(out.n, options.most_rows, RandomStream(options.seed, kRowStream));
  out.n_used = static_cast<Index>(rows.size());
  const Matrix used = inputs.x(rows, Eigen::all);
  const Vector target = y(rows);
  if (target.minCoeff() == target.maxCoeff())
    throw ArgumentError("y: is the same in every row drawn for the pilot; raise most_rows");
  out.y_variance = (target.array() - target.mean()).square().mean();
  for (const plan::Pair& pair : pairs)
    out.dimensions.push_back(measured_dimension(used, target, pair, options));
  out.residual_noise = residual_noise(used, target, out, options);
  out.neighbour_noise = ensemble::neighbour_noise_variance(used, target);
  // Duplicated rows with equal y leave a neighbour estimate of 0, which cannot divide a budget.
  const double least = 1e-6 * out.y_variance;
  out.noise = std::max(least, std::min(out.residual_noise.value, out.neighbour_noise.value));
  return out;
}

}  // namespace headspan::estimator
