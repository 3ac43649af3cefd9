#include "headspan/estimator/fit.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "estimator/canonical_rows.h"
#include "estimator/folds.h"
#include "estimator/multi_head.h"
#include "estimator/standardise.h"

namespace headspan::estimator {
namespace {

constexpr std::uint64_t kFoldSeed = 0x666f6c64;  // "fold": folds do not follow the stream of the heads

double weighted_mean(VectorView values, VectorView frequency) {
  return frequency.dot(values) / frequency.sum();
}

double weighted_deviation(VectorView values, VectorView frequency, double mean) {
  return std::sqrt(frequency.dot((values.array() - mean).square().matrix()) / frequency.sum());
}

void standardise_inputs(const Matrix& x, Model& model) {
  const Index p = x.cols();
  model.input_center.resize(p);
  model.input_scale = Vector::Zero(p);
  for (Index j = 0; j < p; ++j) {
    model.input_center[j] = weighted_mean(x.col(j), model.frequency);
    if (!(x.col(j).minCoeff() < x.col(j).maxCoeff())) continue;
    model.input_scale[j] = weighted_deviation(x.col(j), model.frequency, model.input_center[j]);
    // Values so close that their spread is lost in rounding cannot be told apart.
    if (model.input_scale[j] > 0.0) model.inputs.push_back(j);
  }
  model.keys = standardised(model, x);
}

void standardise_target(const Vector& y, Model& model) {
  const bool constant = !(y.minCoeff() < y.maxCoeff());
  model.target_center = constant ? y[0] : weighted_mean(y, model.frequency);
  const double spread = constant ? 0.0 : weighted_deviation(y, model.frequency, model.target_center);
  model.target_scale = spread > 0.0 ? spread : 1.0;
  model.target = (y.array() - model.target_center) / model.target_scale;
}

struct FittedMember {
  Member member;
  Vector loo_residual;
  Index n_evaluations;
};

FittedMember fit_member(const Model& model, std::vector<Index> rows, const FitOptions& options) {
  const Matrix x = model.keys(rows, Eigen::all);
  const Vector y = model.target(rows), frequency = model.frequency(rows);
  FittedMultiHead fit = fit_multi_head({x, frequency}, y, options.recipe, {options.seed, options.learn_rows});
  FittedMember out{{std::move(rows), {}}, std::move(fit.loo_residual), fit.n_evaluations};
  out.member.estimates.push_back(std::move(fit.estimate));
  return out;
}

void fit_folds(const FitOptions& options, FitResult& result) {
  Model& model = result.model;
  model.fold_of_row = folds(model.target.size(), options.n_folds, options.seed ^ kFoldSeed);
  model.fold_residual.resize(model.target.size());
  const Index n_folds = 1 + *std::max_element(model.fold_of_row.begin(), model.fold_of_row.end());
  for (Index k = 0; k < n_folds; ++k) {
    const FoldRows split = rows_of_fold(model.fold_of_row, k);
    FittedMember fitted = fit_member(model, split.seen, options);
    const Vector held_out = member_prediction(model, fitted.member, model.keys(split.held_out, Eigen::all));
    model.fold_residual(split.held_out) = model.target(split.held_out) - held_out;
    model.folds.push_back(std::move(fitted.member));
    result.n_evaluations += fitted.n_evaluations;
  }
}

}  // namespace

FitResult fit(MatrixView x, VectorView y, VectorView row_weight, const FitOptions& options) {
  check(options);
  CanonicalRows rows = canonical_rows(x, y, row_weight);
  FitResult result{{}, std::move(rows.place), 0};
  Model& model = result.model;
  model.frequency = std::move(rows.frequency);
  standardise_inputs(rows.x, model);
  standardise_target(rows.y, model);
  std::vector<Index> all(static_cast<std::size_t>(rows.y.size()));
  std::iota(all.begin(), all.end(), Index{0});
  FittedMember fitted = fit_member(model, std::move(all), options);
  model.ensemble = std::move(fitted.member);
  model.loo_residual = std::move(fitted.loo_residual);
  result.n_evaluations = fitted.n_evaluations;
  if (options.n_folds > 0 && rows.y.size() >= 4) fit_folds(options, result);
  return result;
}

}  // namespace headspan::estimator
