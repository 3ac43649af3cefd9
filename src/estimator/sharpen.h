#pragma once
// Heads that smooth sharpened values: a share of their own bias is given back.

#include "estimator/smooth.h"
#include "headspan/estimator/learn.h"

namespace headspan::estimator {

/// A head and its sharpness t.
struct SharpHead {
  Matrix projection;
  double sharpness = 1.0;
};

struct Sharpened {
  Vector values;  ///< [n] v = y + t (y - W v) = (1 + t) (I + t W)^-1 y, W the head's weights of all rows
  Vector loo_residual;  ///< [n] (y_i - f_i) / (1 - leverage_i) of one copy of the row
};

/// `y` [n] sharpened for a head on `rows`. t = 0 is y, and with t the head goes from Nadaraya-Watson towards
/// interpolation, as kernel ridge regression does; constants stay. W is similar to a symmetric matrix of
/// eigenvalues in [0, 1], so the system is as well-conditioned as 1 + t. O(n^3) time, three matrices [n, n].
/// Throws ArgumentError beyond kMostSharpRows.
Sharpened sharpen(const SmoothedRows& rows, const SharpHead& head, VectorView y);

/// [b, n] sharpen() run backwards: `by_values` and `by_residual` [b, n] say how much each of the values and
/// of the left-out residuals counts, the result how much each entry of `y` does. Both are linear in `y`. Cost
/// as sharpen(), and O(b n^2).
Matrix sharpen_adjoint(const SmoothedRows& rows, const SharpHead& head, MatrixView by_values,
                       MatrixView by_residual);

inline constexpr Index kMostSharpRows = 20000;  // 3.2 GB a matrix

/// A learned head's error and gradient cost the cube of the rows, so of more rows a random sample learns.
inline constexpr Index kMostSharpLearningRows = 700;

/// Mean squared left-out residual of a sharpened head, in units of the variance of `y`, and its derivatives.
struct SharpError {
  double value = 0.0;
  Matrix by_projection;
  double by_log_sharpness = 0.0;
};
SharpError sharp_error(const SmoothedRows& rows, const SharpHead& head, VectorView y, bool with_gradient);

struct LearnedSharpHead {
  SharpHead head;
  Index n_evaluations = 0;
};

/// The sharpness, and what `freedom` allows of the projection, of least leave-one-out error: the best of a
/// coarse grid of common bandwidths and sharpnesses, then at most `max_evaluations` of L-BFGS. Deterministic.
LearnedSharpHead learn_sharp_head(const SmoothedRows& rows, VectorView y, const Matrix& start,
                                  Freedom freedom, int max_evaluations);

}  // namespace headspan::estimator
