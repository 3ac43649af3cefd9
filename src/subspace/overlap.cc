#include "headspan/subspace/overlap.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/math/distributions/beta.hpp>
#include <boost/math/quadrature/exp_sinh.hpp>
#include <boost/math/special_functions/bessel.hpp>
#include <cmath>
#include <numbers>

#include "headspan/numeric/error.h"

namespace headspan::subspace {

MomentLaw overlap_law(Index k, Index l, Index d) {
  if (k < 1 || l < 1 || k > d || l > d)
    throw ArgumentError(fmt::format("overlap_law: subspaces of dimensions {} and {} in {}", k, l, d));
  const double kd = static_cast<double>(k), ld = static_cast<double>(l), n = static_cast<double>(d);
  MomentLaw law;
  law.mean = kd * ld / n;
  law.variance = d > 1 ? 2.0 * kd * ld * (n - kd) * (n - ld) / (n * n * (n - 1.0) * (n + 2.0)) : 0.0;
  law.lower = std::max(0.0, kd + ld - n);
  law.upper = std::min(kd, ld);
  return law;
}

Comparison compare_beta(double value, const MomentLaw& law) {
  if (!(law.variance > 0.0)) return {};
  const double span = law.upper - law.lower;
  const double mean = (law.mean - law.lower) / span;
  const double variance = law.variance / (span * span);
  const double total = mean * (1.0 - mean) / variance - 1.0;
  if (!(total > 0.0)) return {};
  const boost::math::beta_distribution<double> beta(mean * total, (1.0 - mean) * total);
  const double x = std::clamp((value - law.lower) / span, 0.0, 1.0);
  const double tail = std::min(boost::math::cdf(beta, x), boost::math::cdf(boost::math::complement(beta, x)));
  return {(value - law.mean) / std::sqrt(law.variance), std::min(1.0, 2.0 * tail)};
}

Comparison compare_normal(double value, double sd) {
  if (!(sd > 0.0)) return {};
  const double z = value / sd;
  return {z, std::erfc(std::abs(z) / std::numbers::sqrt2)};
}

Comparison compare_normal_product(double value, double sd_1, double sd_2) {
  const double sd = sd_1 * sd_2;
  if (!(sd > 0.0)) return {};
  const double z = value / sd;
  const double start = std::abs(z);
  if (start == 0.0) return {z, 1.0};
  if (start > 700.0) return {z, 0.0};  // K_0 underflows
  boost::math::quadrature::exp_sinh<double> quadrature;
  const auto density = [](double u) { return u > 700.0 ? 0.0 : boost::math::cyl_bessel_k(0, u); };
  const double tail = quadrature.integrate([&](double u) { return density(start + u); });
  return {z, std::min(1.0, 2.0 * std::numbers::inv_pi * tail)};
}

}  // namespace headspan::subspace
