#include "headspan/estimator/predict.h"

#include <fmt/format.h>

#include <cmath>

#include "estimator/multi_head.h"
#include "estimator/standardise.h"
#include "headspan/numeric/error.h"

namespace headspan::estimator {
namespace {

/// Rows of a member, kept alive for as long as they are smoothed.
struct MemberRows {
  Matrix x;
  Vector frequency;
  SmoothedRows view() const { return {x, frequency}; }
};

MemberRows rows_of(const Model& model, const Member& member) {
  return {model.keys(member.rows, Eigen::all), model.frequency(member.rows)};
}

/// What heads say of the points themselves, summed over the heads by weight.
struct Support {
  Vector inverse_n_eff, lonely;
  double weight = 0.0;
};

void add_head(const FittedHead& head, double share, const Smoothed& smoothed, Support& support) {
  const double weight = std::abs(share * head.weight);
  support.weight += weight;
  support.inverse_n_eff += weight * smoothed.n_eff.cwiseInverse();
  support.lonely += weight * (smoothed.log_normaliser.array() < head.loneliest).cast<double>().matrix();
}

}  // namespace

Matrix standardised(const Model& model, MatrixView x) {
  if (x.cols() != model.input_center.size())
    throw ArgumentError(
        fmt::format("x: has {} columns, the model was fitted to {}", x.cols(), model.input_center.size()));
  if (!x.allFinite()) throw ArgumentError("x: holds NaN or infinity; fill missing values as for the fit");
  Matrix out(x.rows(), std::ssize(model.inputs));
  for (Index j = 0; j < out.cols(); ++j) {
    const Index from = model.inputs[static_cast<std::size_t>(j)];
    out.col(j) = (x.col(from).array() - model.input_center[from]) / model.input_scale[from];
    if (!out.col(j).allFinite())
      throw ArgumentError(
          fmt::format("x: a value of column {} is so far from the rows of the fit that its distance, in "
                      "their standard deviations, "
                      "is beyond double; leave the row out",
                      from));
  }
  return out;
}

Vector member_prediction(const Model& model, const Member& member, MatrixView standard_x) {
  const MemberRows rows = rows_of(model, member);
  Vector out = Vector::Zero(standard_x.rows());
  for (const MultiHead& estimate : member.estimates)
    out += estimate.weight * contributions(estimate, rows.view(), standard_x).rowwise().sum();
  return out;
}

Predictions predict(const Model& model, MatrixView x) {
  const Matrix at = standardised(model, x);
  const MemberRows rows = rows_of(model, model.ensemble);
  Vector value = Vector::Zero(x.rows());
  Support support{Vector::Zero(x.rows()), Vector::Zero(x.rows())};
  for (const MultiHead& estimate : model.ensemble.estimates) {
    value += estimate.weight * ((at * estimate.trend).array() + estimate.intercept).matrix();
    for (Index h = 0; h < std::ssize(estimate.heads); ++h) {
      const FittedHead& head = estimate.heads[static_cast<std::size_t>(h)];
      const Smoothed smoothed = smooth(rows.view(), head.projection, at, Matrix(estimate.values.col(h)));
      value += estimate.weight * head.weight * within_bounds(head, smoothed);
      add_head(head, estimate.weight, smoothed, support);
    }
  }
  Predictions out{model.target_center + model.target_scale * value.array(), Vector::Zero(x.rows()),
                  std::vector<bool>(static_cast<std::size_t>(x.rows()))};
  if (support.weight == 0.0) return out;
  out.n_eff = support.weight * support.inverse_n_eff.cwiseInverse();
  for (Index i = 0; i < x.rows(); ++i)
    out.extrapolated[static_cast<std::size_t>(i)] = support.lonely[i] > 0.5 * support.weight;
  return out;
}

Matrix predict_parts(const Model& model, MatrixView x) {
  const Matrix at = standardised(model, x);
  const MemberRows rows = rows_of(model, model.ensemble);
  Index n_heads = 0, next = 1;
  for (const MultiHead& estimate : model.ensemble.estimates) n_heads += std::ssize(estimate.heads);
  Matrix out = Matrix::Zero(x.rows(), 1 + n_heads);
  for (const MultiHead& estimate : model.ensemble.estimates) {
    const Matrix parts = model.target_scale * estimate.weight * contributions(estimate, rows.view(), at);
    out.col(0) += parts.col(0);
    out.middleCols(next, parts.cols() - 1) = parts.rightCols(parts.cols() - 1);
    next += parts.cols() - 1;
  }
  return out;
}

Vector left_out_predictions(const Model& model) {
  return model.target_center + model.target_scale * (model.target - model.loo_residual).array();
}

}  // namespace headspan::estimator
