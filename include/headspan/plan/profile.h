#pragma once
// How the error of an ensemble of heads depends on their dimension and number: bias, growth of the variance,
// correlation. Pure functions of numbers.

#include <optional>
#include <variant>

#include "headspan/numeric/matrix.h"

namespace headspan::plan {

/// B(k) = scale exp(-rate k).
struct ExponentialBias {
  double scale = 1.0, rate = 0.5;
};

/// B(k) = scale k^-power.
struct PolynomialBias {
  double scale = 1.0, power = 1.0;
};

/// B(k) = scale max(0, 1 - k / dimension): `dimension` directions of equal importance, nothing beyond.
struct FiniteBias {
  double scale = 1.0, dimension = 1.0;
};

/// Values measured at some head dimensions: linear between them, undefined outside.
struct MeasuredCurve {
  Vector head_dim;        ///< [m] increasing, at least 1
  Vector value;           ///< [m]
  Vector standard_error;  ///< [m], or empty where unknown
};

/// Measured on several heads: B(k, H) = shared + (own - shared) / H, what the mean of heads has in common and
/// what averaging takes away.
struct MeasuredBias {
  MeasuredCurve shared;  ///< mean of B_h B_l over two different heads
  Vector own;            ///< [m] mean of B_h^2
};

/// Squared bias of heads of dimension k.
using BiasProfile = std::variant<ExponentialBias, PolynomialBias, FiniteBias, MeasuredCurve, MeasuredBias>;

/// One bandwidth for every dimension: the variance grows by exp(log_growth) per dimension. The bias profile
/// is then that of heads of this bandwidth.
struct FixedGrowth {
  double log_growth = 0.0;  ///< see log_growth()
};

/// The bandwidth that minimises the error at every pair. A bandwidth b shrinks what a head sees of a linear
/// function by 1 / (1 + b^2), which adds (b^2 / (1 + b^2))^2 (signal - B(k)) to the squared bias. The cap of
/// the variance at s2 is no part of the search: it bounds what is told of pairs beyond the law's range, and
/// would draw every bandwidth there.
struct BestBandwidth {
  double signal = 1.0;  ///< variance of the regression function
};

/// The variance of one head in units of s2/n, as a logarithm, measured at some head dimensions: growth^k
/// where a law holds. It is not judged by the range of the law.
struct MeasuredGrowth {
  MeasuredCurve log_variance;
};

using Growth = std::variant<FixedGrowth, BestBandwidth, MeasuredGrowth>;

/// Orthogonal heads: centred correlation 0. Possible where H k is at most the dimension of the inputs.
struct OrthogonalHeads {};

/// The least mean overlap of H heads of dimension k in d dimensions, max(0, (H k / d - 1) / (H - 1)).
struct FrameBound {
  double d_model = 1.0;
};

/// One correlation for every pair of heads, which no diversity removes; in [0, 1].
struct CommonCorrelation {
  double rho = 0.0;
};

using Correlation = std::variant<OrthogonalHeads, FrameBound, CommonCorrelation, MeasuredCurve>;

/// log V(1) of a Gaussian kernel of this bandwidth over a Gaussian design: V(1) = (1 + b^2)^1.5 / (b^2 sqrt(3
/// + b^2)) is what every dimension of a head multiplies its variance by. Throws ArgumentError unless the
/// bandwidth is positive and finite.
double log_growth(double bandwidth);

/// A0 of a profile with a scale, or the largest value measured, at least 0: what is lost by a head that sees
/// nothing.
double greatest_bias(const BiasProfile& bias);

struct LawOptions {
  BiasProfile bias;
  Growth growth;
  Correlation correlation;
  double noise = 1.0;  ///< s2, variance of the noise, positive
  double n = 3.0;      ///< training points, above 2; any finite number
};

/// The law at one pair.
struct PairError {
  double squared_bias = 0.0;
  double variance = 0.0;  ///< s2/n [1 + (growth^k - 1) w], at most s2
  double mse = 0.0;       ///< squared_bias + variance
  double rho = 0.0;       ///< centred correlation of two heads
  double log_growth = 0.0;
  std::optional<double> bandwidth;       ///< the best one, where it was chosen
  std::optional<double> standard_error;  ///< of mse, where the bias was measured with one
  bool capped = false;                   ///< the law gave a variance above s2
  bool beyond_range = false;  ///< growth^k > sqrt(n): the law is one of large n, and overstates the variance
};

/// MSE(k, H) = B(k) + s2/n [1 + (growth^k - 1) w], w = 1/H + (1 - 1/H) rho [theory, allocation]. The floor
/// s2/n is the variance of a mean of all responses, common to all heads. Powers are kept as logarithms.
class ErrorLaw {
 public:
  /// Throws ArgumentError, naming the argument, its rule and its value, on what is not finite, a noise that
  /// is not positive, n <= 2, a negative scale, a rate or power that is not positive, a dimension below 1, a
  /// correlation outside [0, 1] ([-1, 1] where measured), or curves that do not increase or have no value.
  explicit ErrorLaw(LawOptions options);

  const LawOptions& options() const { return options_; }
  /// The same law with another number of points.
  ErrorLaw with_n(double n) const;
  /// Whether the measured curves reach this dimension; always true without any.
  bool covers(double head_dim) const;
  /// The law at real `head_dim` >= 1 and `n_heads` >= 1. Throws ArgumentError for smaller ones, and where a
  /// measured curve does not reach. O(1); some hundred evaluations where the bandwidth is chosen.
  PairError at(double head_dim, double n_heads) const;
  /// squared_bias + variance without the cap and without the floor s2/n, which have no part in a continuous
  /// minimum. May be infinite.
  double excess(double head_dim, double n_heads) const;

 private:
  struct Terms;
  Terms terms(double head_dim, double n_heads) const;
  LawOptions options_;
};

}  // namespace headspan::plan
