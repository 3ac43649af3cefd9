#pragma once
// How far predictions would move with other noise in the training targets, and how far new targets lie from
// the mean.

#include <optional>
#include <string_view>

#include "headspan/estimator/model.h"

namespace headspan::estimator {

/// What is taken for the variance s2 of the noise.
enum class Noise {
  constant,  ///< the same everywhere
  local,     ///< a smooth function of the inputs
};

/// Lower-case words, as printed and parsed.
const char* to_string(Noise noise);
std::optional<Noise> noise_named(std::string_view name);

/// [m, n] l(x): what every training target weighs in predict() at `x` [m, p]. Given the structure of the fit
/// (projections and bandwidths, ridge of the trend, sharpness, number of stages, weights of heads and
/// estimates) the prediction is linear in the targets, trend, stages on left-out residuals, sharpened values
/// and the centring of the target included: F(x) = sum_i l_i(x) y_i, one column per row of model.keys. Where
/// a sharpened head is cut to its bounds they count as made from the least and greatest target of that head.
/// Exact to rounding; of a fit that smoothed with a relative error (large tables) the map without it. m n
/// numbers: give blocks of queries. O((m + n) n (k + m)) per head in stages, O(m n (k + m)) otherwise, O(n^3)
/// more if sharpened. Throws ArgumentError as predict(), and for a model file of a format that did not keep
/// what is needed (below 3, with sharpened heads).
Matrix target_weights(const Model& model, MatrixView x);

/// Variances in squared units of the target.
struct PredictionVariance {
  /// [m] Of the prediction: sum_i s2_i l_i(x)^2 / c_i, c_i the frequency of row i, each copy of which has
  /// noise of its own.
  Vector fit;
  Vector noise;  ///< [m] s2 at the point; with `fit` the variance of a new target about the prediction
};

/// At `x` [m, p], exactly, given s2 and the structure of the fit (target_weights()); neither the bias nor the
/// choice of the structure is in it, as they are in intervals and predictive_deviation(). s2 is estimated:
/// constant, sum_i c_i r_i^2 / (N - tr(2 L - L L^T)), r the residuals of the training rows and L their
/// weights per copy [N, N], unbiased but for the bias of the fit; the trace is exact up to 256 distinct rows,
/// and beyond from 32 random signs (a standard error of about sqrt(tr L L^T) / 4 of N). Where it leaves less
/// than one row, the mean squared leave-one-out residual stands in. local, the Nadaraya-Watson mean of
/// squared leave-one-out residuals, one bandwidth per input of least leave-one-out error, of a sample of at
/// most 2000 rows; it errs upwards by the variance and the squared bias of the fit there. Cost:
/// target_weights() in blocks of queries of about 4e6 weights, once more for the trace, O(n^2 q) for local
/// noise. Same bits for any number of threads. Throws as target_weights().
PredictionVariance prediction_variance(const Model& model, MatrixView x, Noise noise);

}  // namespace headspan::estimator
