#include "headspan/estimator/deviation.h"

#include <limits>

#include "estimator/standardise.h"

namespace headspan::estimator {
namespace {

/// [K] rows that each fold's member did not see, by frequency.
Vector rows_unseen(const Model& model) {
  Vector out = Vector::Zero(std::ssize(model.folds));
  for (std::size_t i = 0; i < model.fold_of_row.size(); ++i)
    out[model.fold_of_row[i]] += model.frequency[static_cast<Index>(i)];
  return out;
}

}  // namespace

Vector predictive_deviation(const Model& model, MatrixView x) {
  const Matrix at = standardised(model, x);
  // One row leaves no residual to judge by.
  if (model.frequency.sum() <= 1.0)
    return Vector::Constant(x.rows(), std::numeric_limits<double>::infinity());
  const Vector& residual = model.folds.empty() ? model.loo_residual : model.fold_residual;
  Vector sum = Vector::Constant(x.rows(), model.frequency.dot(residual.cwiseAbs2()));
  if (!model.folds.empty()) {
    const Vector center = member_prediction(model, model.ensemble, at), unseen = rows_unseen(model);
    for (Index k = 0; k < unseen.size(); ++k) {
      const Member& member = model.folds[static_cast<std::size_t>(k)];
      sum += unseen[k] * (member_prediction(model, member, at) - center).cwiseAbs2();
    }
  }
  return model.target_scale * (sum / model.frequency.sum()).cwiseSqrt();
}

}  // namespace headspan::estimator
