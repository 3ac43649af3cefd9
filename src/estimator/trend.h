#pragma once
// A linear trend by ridge regression, its penalty chosen by exact leave-one-out residuals.

#include "headspan/numeric/decompose.h"
#include "headspan/numeric/matrix.h"

namespace headspan::estimator {

/// Ridge regressions on the same rows, of any targets and penalties: minimises
/// sum_i c_i (y_i - a - b.x_i)^2 + ridge N |b|^2, N = sum c. One decomposition, O(n p min(n, p)).
class RidgeRows {
 public:
  /// `x` [n, p], `frequency` [n].
  RidgeRows(MatrixView x, VectorView frequency);

  /// [n, c] y_i minus the prediction without one copy of row i, (y_i - fit_i) / (1 - leverage_i), for every
  /// column of `targets` [n, c]. An infinite ridge leaves the mean.
  Matrix left_out(MatrixView targets, double ridge) const;
  /// [p + 1, c] slopes, and the intercept in the last row.
  Matrix coefficients(MatrixView targets, double ridge) const;
  /// [m, n] what every target weighs in the ridge regression at `at` [m, p].
  Matrix weights_at(MatrixView at, double ridge) const;
  /// [b, n] left_out() run backwards: `g` [b, n] says how much each residual counts, the result how much each
  /// target does.
  Matrix left_out_adjoint(MatrixView g, double ridge) const;

 private:
  Vector kept(double ridge) const;
  Matrix centred(MatrixView targets) const;
  Matrix centred_adjoint(const Matrix& g) const;
  Vector left(const Vector& keep) const;

  Vector frequency_, root_;
  double total_;
  Eigen::RowVectorXd center_;
  ThinSvd svd_;  // of sqrt(c_i) (x_i - center), without null directions
};

struct Trend {
  double intercept = 0.0;
  Vector slope;  ///< [p]
  double ridge = 0.0;
  Vector loo_residual;  ///< [n]
};

/// The ridge of least weighted squared leave-one-out residual, on a grid from 1e-6 to 1e2.
Trend fit_trend(MatrixView x, VectorView y, VectorView frequency);

}  // namespace headspan::estimator
