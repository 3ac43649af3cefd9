#pragma once
// One head's smoothing of any values, at new inputs or at its own rows left out.

#include "headspan/numeric/matrix.h"

namespace headspan::estimator {

/// The rows a head smooths. `x` [n, p] standardised, `frequency` [n] positive.
struct SmoothedRows {
  MatrixView x;
  VectorView frequency;
};

struct Smoothed {
  Matrix value;           ///< [m, c] weighted means of the values
  Vector log_normaliser;  ///< [m] log sum_i c_i k(x, x_i)
  Vector n_eff;           ///< [m] rows that the mean is worth, (sum c k)^2 / sum c k^2
};

struct SmoothOptions {
  double relative_error = 0.0;  ///< as nw::EstimateOptions
  bool n_eff = true;
};

/// At `queries` [m, p], of `values` [n, c].
Smoothed smooth(const SmoothedRows& rows, const Matrix& projection, MatrixView queries, MatrixView values,
                const SmoothOptions& options = {});

/// At the rows, of each the values without one copy of it. A row of frequency below one is left out whole.
/// n_eff is not filled.
Smoothed smooth_left_out(const SmoothedRows& rows, const Matrix& projection, MatrixView values,
                         const SmoothOptions& options = {});

}  // namespace headspan::estimator
