#include "headspan/estimator/fit.h"

#include <algorithm>

#include "estimator/folds.h"
#include "estimator/multi_head.h"
#include "estimator/prepare.h"
#include "estimator/standardise.h"

namespace headspan::estimator {
namespace {

struct FittedMember {
  Member member;
  Vector loo_residual;
  Index n_evaluations;
};

FittedMember fit_member(const Model& model, std::vector<Index> rows, const FitOptions& options) {
  const Matrix x = model.keys(rows, Eigen::all);
  const Vector y = model.target(rows), frequency = model.frequency(rows);
  FittedMultiHead fit = fit_multi_head({x, frequency}, y, options.recipe,
                                       {options.seed, options.learn_rows, options.relative_error});
  FittedMember out{{std::move(rows), {}}, std::move(fit.loo_residual), fit.n_evaluations};
  out.member.estimates.push_back(std::move(fit.estimate));
  return out;
}

void fit_folds(const FitOptions& options, FitResult& result) {
  Model& model = result.model;
  model.fold_of_row = folds(model.target.size(), options.n_folds, options.seed);
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
  FitResult result = prepare(x, y, row_weight);
  Model& model = result.model;
  const Index n = model.target.size();
  FittedMember fitted = fit_member(model, all_rows(n), options);
  model.ensemble = std::move(fitted.member);
  model.loo_residual = std::move(fitted.loo_residual);
  result.n_evaluations = fitted.n_evaluations;
  if (options.n_folds > 0 && n >= kFewestForFolds) fit_folds(options, result);
  return result;
}

}  // namespace headspan::estimator
