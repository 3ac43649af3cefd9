#include "headspan/estimator/intervals.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "estimator/standardise.h"
#include "headspan/numeric/error.h"
#include "headspan/numeric/parallel.h"

namespace headspan::estimator {
namespace {

constexpr Index kPointsPerBlock = 16;

/// The least value that at least `count` rows, by frequency, do not exceed; +inf where there are not so many.
double smallest(std::vector<std::pair<double, double>>& value_and_count, double count) {
  std::sort(value_and_count.begin(), value_and_count.end());
  double seen = 0.0;
  for (const auto& [value, frequency] : value_and_count) {
    seen += frequency;
    if (seen >= count) return value;
  }
  return std::numeric_limits<double>::infinity();
}

/// [m, K] predictions of every fold's member, in standard units.
Matrix fold_predictions(const Model& model, MatrixView standard_x) {
  Matrix out(standard_x.rows(), std::ssize(model.folds));
  for (Index k = 0; k < out.cols(); ++k)
    out.col(k) = member_prediction(model, model.folds[static_cast<std::size_t>(k)], standard_x);
  return out;
}

}  // namespace

Intervals predict_intervals(const Model& model, MatrixView x, double coverage) {
  if (!(coverage > 0.0 && coverage < 1.0))
    throw ArgumentError(fmt::format("coverage: is {}, must lie between 0 and 1", coverage));
  if (model.folds.empty())
    throw ArgumentError(
        "model: was fitted without folds, so it has no residuals of rows unseen; fit with n_folds");
  const Matrix by_fold = fold_predictions(model, standardised(model, x));
  const Index n = model.fold_residual.size();
  // The k-th smallest from below is minus the k-th smallest of the mirrored values, so both ends are one
  // rule.
  const double rank = std::ceil(coverage * (model.frequency.sum() + 1.0) - 1e-9);
  Intervals out{Vector(x.rows()), Vector(x.rows())};
  parallel_for((x.rows() + kPointsPerBlock - 1) / kPointsPerBlock, [&](Index block) {
    std::vector<std::pair<double, double>> up(static_cast<std::size_t>(n)), down(up.size());
    const Index end = std::min(x.rows(), (block + 1) * kPointsPerBlock);
    for (Index q = block * kPointsPerBlock; q < end; ++q) {
      for (Index i = 0; i < n; ++i) {
        const auto at = static_cast<std::size_t>(i);
        const double center = by_fold(q, model.fold_of_row[at]), reach = std::abs(model.fold_residual[i]);
        up[at] = {center + reach, model.frequency[i]};
        down[at] = {reach - center, model.frequency[i]};
      }
      out.upper[q] = model.target_center + model.target_scale * smallest(up, rank);
      out.lower[q] = model.target_center - model.target_scale * smallest(down, rank);
    }
  });
  return out;
}

}  // namespace headspan::estimator
