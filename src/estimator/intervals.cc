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

double in_units(const Model& model, double standard) {
  return model.target_center + model.target_scale * standard;
}

Intervals around_folds(const Model& model, const Matrix& standard_x, double rank) {
  const Matrix by_fold = fold_predictions(model, standard_x);
  const Index m = standard_x.rows(), n = model.fold_residual.size();
  Intervals out{Vector(m), Vector(m)};
  parallel_for((m + kPointsPerBlock - 1) / kPointsPerBlock, [&](Index block) {
    std::vector<std::pair<double, double>> up(static_cast<std::size_t>(n)), down(up.size());
    const Index end = std::min(m, (block + 1) * kPointsPerBlock);
    for (Index q = block * kPointsPerBlock; q < end; ++q) {
      for (Index i = 0; i < n; ++i) {
        const auto at = static_cast<std::size_t>(i);
        const double center = by_fold(q, model.fold_of_row[at]), reach = std::abs(model.fold_residual[i]);
        up[at] = {center + reach, model.frequency[i]};
        down[at] = {reach - center, model.frequency[i]};
      }
      out.upper[q] = in_units(model, smallest(up, rank));
      out.lower[q] = in_units(model, -smallest(down, rank));
    }
  });
  return out;
}

/// Without members of folds: one reach, of the leave-one-out residuals, around the prediction.
Intervals around_prediction(const Model& model, const Matrix& standard_x, double rank) {
  std::vector<std::pair<double, double>> reach;
  for (Index i = 0; i < model.loo_residual.size(); ++i)
    reach.emplace_back(std::abs(model.loo_residual[i]), model.frequency[i]);
  const double width = smallest(reach, rank);
  const Vector center = member_prediction(model, model.ensemble, standard_x);
  Intervals out{Vector(center.size()), Vector(center.size())};
  for (Index q = 0; q < center.size(); ++q) {
    out.lower[q] = in_units(model, center[q] - width);
    out.upper[q] = in_units(model, center[q] + width);
  }
  return out;
}

}  // namespace

Intervals predict_intervals(const Model& model, MatrixView x, double coverage) {
  if (!(coverage > 0.0 && coverage < 1.0))
    throw ArgumentError(fmt::format("coverage: is {}, must lie between 0 and 1", coverage));
  const Matrix standard_x = standardised(model, x);
  // The k-th smallest from below is minus the k-th smallest of the mirrored values, so both ends are one
  // rule.
  const double rank = std::ceil(coverage * (model.frequency.sum() + 1.0) - 1e-9);
  return model.folds.empty() ? around_prediction(model, standard_x, rank)
                             : around_folds(model, standard_x, rank);
}

}  // namespace headspan::estimator
