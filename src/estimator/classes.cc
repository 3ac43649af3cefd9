#include "headspan/estimator/classes.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "headspan/estimator/predict.h"
#include "headspan/numeric/error.h"

namespace headspan::estimator {
namespace {

void check_labels(const std::vector<Index>& label, Index n_classes, Index n_rows) {
  if (n_classes < 1) throw ArgumentError(fmt::format("n_classes: is {}, must be at least 1", n_classes));
  if (std::ssize(label) != n_rows)
    throw ArgumentError(fmt::format("label: has {} values for {} rows of x", label.size(), n_rows));
  for (const Index one : label)
    if (one < 0 || one >= n_classes)
      throw ArgumentError(fmt::format("label: is {}, must be from 0 to {}", one, n_classes - 1));
}

Vector indicator(const std::vector<Index>& label, Index wanted) {
  Vector out(std::ssize(label));
  for (Index i = 0; i < out.size(); ++i) out[i] = label[static_cast<std::size_t>(i)] == wanted ? 1.0 : 0.0;
  return out;
}

/// [K] The sorted weights leave the same bits for any order of the rows.
Vector weight_of_classes(const std::vector<Index>& label, Index n_classes, VectorView row_weight) {
  std::vector<std::pair<Index, double>> sorted;
  for (std::size_t i = 0; i < label.size(); ++i)
    sorted.emplace_back(label[i], row_weight.size() == 0 ? 1.0 : row_weight[static_cast<Index>(i)]);
  std::sort(sorted.begin(), sorted.end());
  Vector out = Vector::Zero(n_classes);
  for (const auto& [one, weight] : sorted) out[one] += weight;
  return out;
}

/// [m, K] what the regressions say, before it is a probability.
Matrix outputs(const ClassModel& model, MatrixView x) {
  const Index n_classes = model.share.size();
  Matrix out = Matrix::Ones(x.rows(), n_classes);
  if (n_classes == 2) {
    out.col(1) = predict(model.indicators.front(), x).value;
    out.col(0) -= out.col(1);
  } else {
    for (Index k = 0; k < std::ssize(model.indicators); ++k)
      out.col(k) = predict(model.indicators[static_cast<std::size_t>(k)], x).value;
  }
  return out;
}

/// The nearest point of the simplex: one number is taken from all entries, and what would turn negative is 0.
Vector nearest_probabilities(const Vector& values) {
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end(), std::greater<>());
  double sum = 0.0, taken = 0.0;
  for (std::size_t k = 0; k < sorted.size(); ++k) {
    sum += sorted[k];
    const double level = (sum - 1.0) / static_cast<double>(k + 1);
    if (sorted[k] > level) taken = level;
  }
  return (values.array() - taken).max(0.0);
}

/// fit_one(y) fits one indicator.
ClassModel fit_each(MatrixView x, const std::vector<Index>& label, Index n_classes, VectorView row_weight,
                    const std::function<FitResult(const Vector& y)>& fit_one) {
  check_labels(label, n_classes, x.rows());
  ClassModel out;
  for (Index k = n_classes == 2 ? 1 : 0; k < n_classes; ++k) {
    FitResult fitted = fit_one(indicator(label, k));
    out.n_evaluations += fitted.n_evaluations;
    out.indicators.push_back(std::move(fitted.model));
  }
  const Vector weight = weight_of_classes(label, n_classes, row_weight);
  out.n_rows = weight.sum();
  if (!(out.n_rows > 0.0)) throw ArgumentError("x: has no row of positive weight");
  out.share = weight / out.n_rows;
  return out;
}

}  // namespace

ClassModel fit_classes(MatrixView x, const std::vector<Index>& label, Index n_classes, VectorView row_weight,
                       const FitOptions& options) {
  return fit_each(x, label, n_classes, row_weight,
                  [&](const Vector& y) { return fit(x, y, row_weight, options); });
}

ClassModel fit_classes(MatrixView x, const std::vector<Index>& label, Index n_classes, VectorView row_weight,
                       const AutoOptions& options) {
  return fit_each(x, label, n_classes, row_weight, [&](const Vector& y) {
    FitResult found = fit_auto(x, y, row_weight, options).fit;
    found.model.folds.clear();
    found.model.fold_of_row.clear();
    found.model.fold_residual.resize(0);
    return found;
  });
}

Matrix predict_probabilities(const ClassModel& model, MatrixView x) {
  Matrix out = outputs(model, x);
  for (Index i = 0; i < out.rows(); ++i)
    out.row(i) = (model.n_rows * nearest_probabilities(out.row(i)) + model.share) / (model.n_rows + 1.0);
  return out;
}

}  // namespace headspan::estimator
