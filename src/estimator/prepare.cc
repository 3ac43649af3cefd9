#include "estimator/prepare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "estimator/spread.h"
#include "estimator/standardise.h"
#include "headspan/numeric/error.h"

namespace headspan::estimator {
namespace {

void check_spread(double spread, const std::string& what) {
  if (!std::isfinite(spread))
    throw ArgumentError(what +
                        ": its values lie further apart than double can say; divide them by a constant");
}

void standardise_inputs(const Matrix& x, Model& model) {
  const Index p = x.cols();
  model.input_center.resize(p);
  model.input_scale = Vector::Zero(p);
  for (Index j = 0; j < p; ++j) {
    model.input_center[j] = weighted_mean(x.col(j), model.frequency);
    if (!(x.col(j).minCoeff() < x.col(j).maxCoeff())) continue;
    model.input_scale[j] = weighted_deviation(x.col(j), model.frequency);
    check_spread(model.input_scale[j], fmt::format("x: column {}", j));
    // Values so close that their spread is lost in rounding cannot be told apart.
    if (model.input_scale[j] > 0.0) model.inputs.push_back(j);
  }
  model.keys = standardised(model, x);
}

void standardise_target(const Vector& y, Model& model) {
  const bool constant = !(y.minCoeff() < y.maxCoeff());
  model.target_center = constant ? y[0] : weighted_mean(y, model.frequency);
  const double spread = constant ? 0.0 : weighted_deviation(y, model.frequency);
  check_spread(spread, "y");
  model.target_scale = spread > 0.0 ? spread : 1.0;
  model.target = (y.array() - model.target_center) / model.target_scale;
}

}  // namespace

FitResult prepare(MatrixView x, VectorView y, VectorView row_weight) {
  CanonicalRows rows = canonical_rows(x, y, row_weight);
  FitResult result{{}, std::move(rows.place), 0};
  result.model.frequency = std::move(rows.frequency);
  standardise_inputs(rows.x, result.model);
  standardise_target(rows.y, result.model);
  return result;
}

std::vector<Index> all_rows(Index n) {
  std::vector<Index> rows(static_cast<std::size_t>(n));
  std::iota(rows.begin(), rows.end(), Index{0});
  return rows;
}

std::vector<Index> sampled_rows(Index n, Index count, RandomStream random) {
  std::vector<Index> rows = all_rows(n);
  if (n <= count) return rows;
  for (Index i = 0; i < count; ++i) {
    const Index j = i + static_cast<Index>(random.uniform() * static_cast<double>(n - i));
    std::swap(rows[static_cast<std::size_t>(i)], rows[static_cast<std::size_t>(j)]);
  }
  rows.resize(static_cast<std::size_t>(count));
  std::sort(rows.begin(), rows.end());
  return rows;
}

}  // namespace headspan::estimator
