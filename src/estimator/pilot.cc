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
  positive("n_weighted", options.n_weighted);
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

void put(HeadProducts& into, Index i, const MeanProducts& means) {
  into.own[i] = means.own;
  into.within[i] = means.within;
  into.across[i] = means.across;
}

/// Left-out residuals of the heads on `frames`; with `weight` the products of their weights go there.
Matrix residuals_on(const Matrix& x, VectorView y, const Matrix& frames, const PilotDimension& dimension,
                    double bandwidth, HeadProducts* weight) {
  nw::HeadsOptions options;
  options.leave_one_out = true;
  options.covariance = weight != nullptr;
  const Matrix values = y;
  const auto heads = heads_on(frames, dimension.head_dim, bandwidth);
  const auto estimate = nw::estimate_heads<double>(x, x, values, heads, options);
  const auto n_heads = static_cast<Index>(heads.size());
  if (weight)
    for (Index i = 0; i < y.size(); ++i)
      put(*weight, i,
          mean_products(Eigen::Map<const Matrix>(estimate.covariance.row(i).data(), n_heads, n_heads),
                        dimension.per_basis));
  return left_out_residuals(estimate, y);
}

PilotCell measured_cell(const Matrix& x, VectorView y, const Matrix& frames, const PilotDimension& dimension,
                        Index n_weighted, double bandwidth) {
  const Index m = y.size(), n_heads = dimension.n_heads;
  const HeadProducts none{Vector(m), Vector(m), Vector(m)};
  PilotCell cell{bandwidth, none, none, {}};
  Matrix residual(m, n_heads);
  const Index first = std::min(n_weighted, n_heads), others = n_heads - first;
  residual.leftCols(first) =
      residuals_on(x, y, frames.topRows(first * dimension.head_dim), dimension, bandwidth, &cell.weight);
  if (others > 0)
    residual.rightCols(others) =
        residuals_on(x, y, frames.bottomRows(others * dimension.head_dim), dimension, bandwidth, nullptr);
  cell.moments = residual.transpose() * residual / static_cast<double>(m);
  for (Index i = 0; i < m; ++i)
    put(cell.residual, i, mean_products(residual.row(i).transpose() * residual.row(i), dimension.per_basis));
  return cell;
}

/// Several bases, so that leaving one out says what the draw is worth, and two heads of some where they fit.
constexpr Index kFewestBases = 8;

Matrix frames_of(const PilotDimension& dimension, Index d, const PilotOptions& options) {
  return projection_blocks(dimension.n_heads, dimension.head_dim, d,
                           options.seed + static_cast<std::uint64_t>(dimension.head_dim),
                           dimension.per_basis);
}

PilotDimension measured_dimension(const Matrix& x, VectorView y, const plan::Pair& pair,
                                  const PilotOptions& options) {
  PilotDimension out;
  out.head_dim = pair.head_dim;
  // As many as asked for even where the budget has fewer: one draw says little of what heads do on average.
  out.n_heads = pair.head_dim == x.cols() ? 1 : options.n_heads;
  out.per_basis = std::min(x.cols() / pair.head_dim, std::max<Index>(2, out.n_heads / kFewestBases));
  const Matrix frames = frames_of(out, x.cols(), options);
  for (const double bandwidth : pilot_bandwidths(pair.head_dim))
    out.cells.push_back(measured_cell(x, y, frames, out, options.n_weighted, bandwidth));
  return out;
}

/// Mean squared leave-one-out residual of the mean of the weighted heads of a cell.
double loo_of(const PilotCell& cell, Index n_weighted) {
  const Index n = std::min(n_weighted, cell.moments.rows());
  return cell.moments.topLeftCorner(n, n).mean();
}

/// A cell and the dimension it is of.
struct Place {
  const PilotDimension* dimension;
  const PilotCell* cell;
};

/// All cells, those of least leave-one-out error first.
std::vector<Place> by_error(const Pilot& pilot, Index n_weighted) {
  std::vector<Place> places;
  for (const PilotDimension& dimension : pilot.dimensions)
    for (const PilotCell& cell : dimension.cells) places.push_back({&dimension, &cell});
  std::stable_sort(places.begin(), places.end(), [&](const Place& a, const Place& b) {
    return loo_of(*a.cell, n_weighted) < loo_of(*b.cell, n_weighted);
  });
  return places;
}

/// Degrees of freedom left for the noise, as a share of the rows: below it an estimate is a ratio of two
/// roundings.
constexpr double kLeastFreedom = 0.1;

/// The residual noise estimate of the ensemble of weighted heads of least leave-one-out error that leaves
/// degrees of freedom; of the widest heads some are always left.
ensemble::Part residual_noise(const Matrix& x, VectorView y, const Pilot& pilot,
                              const PilotOptions& options) {
  nw::HeadsOptions heads_options;
  heads_options.covariance = true;
  heads_options.average = true;
  const Matrix values = y;
  const double n = static_cast<double>(y.size());
  const std::vector<Place> places = by_error(pilot, options.n_weighted);
  for (const Place& place : places) {
    const PilotDimension& dimension = *place.dimension;
    const Matrix frames = frames_of(dimension, x.cols(), options)
                              .topRows(std::min(options.n_weighted, dimension.n_heads) * dimension.head_dim);
    const auto estimate = nw::estimate_heads<double>(
        x, x, values, heads_on(frames, dimension.head_dim, place.cell->bandwidth), heads_options);
    double trace = 0.0;
    for (const auto& head : estimate.heads)
      trace += (-head.log_normaliser).array().exp().sum();  // k(x, x) = 1
    const double h = static_cast<double>(estimate.heads.size());
    const double trace_wwt = n * estimate.covariance.sum() / (h * h);
    if (n - 2.0 * trace / h + trace_wwt < kLeastFreedom * n && &place != &places.back()) continue;
    const Vector residual = left_out_residuals(estimate, y).rowwise().mean();
    return ensemble::residual_noise_variance(residual, trace / h, trace_wwt);
  }
  throw ArgumentError("pilot: no head dimension was measured");
}

/// Both estimates err upwards by what the regression function does. Where they agree within two standard
/// errors of their difference it does nothing they could tell, and the smaller of two would err downwards.
double noise_of(const ensemble::Part& residual, const ensemble::Part& neighbour) {
  const double error =
      std::hypot(residual.standard_error.value_or(0.0), neighbour.standard_error.value_or(0.0));
  if (std::abs(residual.value - neighbour.value) <= 2.0 * error)
    return 0.5 * (residual.value + neighbour.value);
  return std::min(residual.value, neighbour.value);
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
  out.noise = std::max(least, noise_of(out.residual_noise, out.neighbour_noise));
  return out;
}

}  // namespace headspan::estimator
