#include "headspan/plan/profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "headspan/numeric/error.h"
#include "headspan/numeric/gaussian_laws.h"
#include "plan/curve.h"
#include "plan/minimum.h"

namespace headspan::plan {
namespace {

constexpr double kNarrowest = 1e-4, kWidest = 1e4;  // bandwidths in units of the inputs' spread
constexpr int kBandwidthGrid = 48;

template <class... Cases>
struct Overloaded : Cases... {
  using Cases::operator()...;
};
template <class... Cases>
Overloaded(Cases...) -> Overloaded<Cases...>;

void require(bool holds, const char* argument, const char* rule, double value) {
  if (!holds) throw ArgumentError(fmt::format("{}: must be {}, it is {}", argument, rule, value));
}

bool is_positive(double value) { return value > 0.0 && std::isfinite(value); }

bool is_scale(double value) { return value >= 0.0 && std::isfinite(value); }

void check_bias(const BiasProfile& bias) {
  std::visit(Overloaded{[](const ExponentialBias& b) {
                          require(is_scale(b.scale), "bias: A0", "finite and not negative", b.scale);
                          require(is_positive(b.rate), "bias: g", "positive and finite", b.rate);
                        },
                        [](const PolynomialBias& b) {
                          require(is_scale(b.scale), "bias: A0", "finite and not negative", b.scale);
                          require(is_positive(b.power), "bias: s", "positive and finite", b.power);
                        },
                        [](const FiniteBias& b) {
                          require(is_scale(b.scale), "bias: A0", "finite and not negative", b.scale);
                          require(b.dimension >= 1.0 && std::isfinite(b.dimension), "bias: dimension",
                                  "at least 1 and finite", b.dimension);
                        },
                        [](const MeasuredCurve& curve) { check_curve("bias", curve); },
                        [](const MeasuredBias& measured) {
                          check_curve("bias", measured.shared);
                          check_curve("bias", {measured.shared.head_dim, measured.own, {}});
                        }},
             bias);
}

void check_correlation(const Correlation& correlation) {
  std::visit(
      Overloaded{[](const OrthogonalHeads&) {},
                 [](const FrameBound& frame) {
                   require(frame.d_model >= 1.0 && std::isfinite(frame.d_model), "d_model",
                           "at least 1 and finite", frame.d_model);
                 },
                 [](const CommonCorrelation& common) {
                   require(common.rho >= 0.0 && common.rho <= 1.0, "rho", "between 0 and 1", common.rho);
                 },
                 [](const MeasuredCurve& curve) {
                   check_curve("rho", curve);
                   require(curve.value.minCoeff() >= -1.0, "rho", "between -1 and 1", curve.value.minCoeff());
                   require(curve.value.maxCoeff() <= 1.0, "rho", "between -1 and 1", curve.value.maxCoeff());
                 }},
      correlation);
}

void check_growth(const Growth& growth) {
  if (const auto* fixed = std::get_if<FixedGrowth>(&growth))
    require(is_scale(fixed->log_growth), "log_growth", "finite and not negative", fixed->log_growth);
  else if (const auto* best = std::get_if<BestBandwidth>(&growth))
    require(is_scale(best->signal), "signal", "finite and not negative", best->signal);
  else
    check_curve("log_variance", std::get<MeasuredGrowth>(growth).log_variance);
}

double squared_bias(const BiasProfile& bias, double k, double n_heads) {
  return std::visit(
      Overloaded{[k](const ExponentialBias& b) { return b.scale * std::exp(-b.rate * k); },
                 [k](const PolynomialBias& b) { return b.scale * std::pow(k, -b.power); },
                 [k](const FiniteBias& b) { return b.scale * std::max(0.0, 1.0 - k / b.dimension); },
                 [k](const MeasuredCurve& curve) { return value_at(curve.head_dim, curve.value, k); },
                 [k, n_heads](const MeasuredBias& measured) {
                   const Vector& at = measured.shared.head_dim;
                   const double shared = value_at(at, measured.shared.value, k);
                   return shared + (value_at(at, measured.own, k) - shared) / n_heads;
                 }},
      bias);
}

double correlation_of_heads(const Correlation& correlation, double k, double n_heads) {
  return std::visit(
      Overloaded{[](const OrthogonalHeads&) { return 0.0; },
                 [k, n_heads](const FrameBound& frame) {
                   const double redundancy = n_heads * k / frame.d_model;
                   return n_heads > 1.0 ? std::clamp((redundancy - 1.0) / (n_heads - 1.0), 0.0, 1.0) : 0.0;
                 },
                 [](const CommonCorrelation& common) { return common.rho; },
                 [k](const MeasuredCurve& curve) { return value_at(curve.head_dim, curve.value, k); }},
      correlation);
}

/// What a bandwidth takes from a linear function, as a share of its variance.
double shrinkage(double bandwidth) {
  const double b2 = bandwidth * bandwidth, lost = b2 / (1.0 + b2);
  return lost * lost;
}

}  // namespace

/// One pair before cap and floor.
struct ErrorLaw::Terms {
  double squared_bias = 0.0, rho = 0.0, log_growth = 0.0;
  double log_excess = -std::numeric_limits<double>::infinity();  // of variance above s2/n
  std::optional<double> bandwidth;

  double excess() const { return std::exp(log_excess); }
};

double log_growth(double bandwidth) { return GaussianKernelLaw(bandwidth).log_v(1.0); }

double greatest_bias(const BiasProfile& bias) {
  if (const MeasuredCurve* curve = measured_bias(bias)) return std::max(0.0, curve->value.maxCoeff());
  return std::visit(
      [](const auto& profile) {
        if constexpr (requires { profile.scale; })
          return profile.scale;
        else
          return 0.0;
      },
      bias);
}

ErrorLaw::ErrorLaw(LawOptions options) : options_(std::move(options)) {
  check_bias(options_.bias);
  check_correlation(options_.correlation);
  check_growth(options_.growth);
  require(is_positive(options_.noise), "noise",
          "positive and finite (without noise there is no variance to share out)", options_.noise);
  require(options_.n > 2.0 && std::isfinite(options_.n), "n", "above 2 and finite", options_.n);
}

ErrorLaw ErrorLaw::with_n(double n) const {
  LawOptions other = options_;
  other.n = n;
  return ErrorLaw(std::move(other));
}

bool ErrorLaw::covers(double head_dim) const {
  const std::vector<const MeasuredCurve*> curves = measured_curves(options_);
  return std::all_of(curves.begin(), curves.end(),
                     [&](const MeasuredCurve* curve) { return is_within(curve->head_dim, head_dim); });
}

ErrorLaw::Terms ErrorLaw::terms(double head_dim, double n_heads) const {
  require(head_dim >= 1.0, "head_dim", "at least 1", head_dim);
  require(n_heads >= 1.0, "n_heads", "at least 1", n_heads);
  Terms out;
  const double bias = squared_bias(options_.bias, head_dim, n_heads);
  out.rho = correlation_of_heads(options_.correlation, head_dim, n_heads);
  const double log_share = std::log(std::max(0.0, 1.0 / n_heads + (1.0 - 1.0 / n_heads) * out.rho)) +
                           std::log(options_.noise) - std::log(options_.n);
  const auto settle = [&](double growth, double shrunk) {
    out.log_growth = growth;
    out.log_excess = log_expm1(head_dim * growth) + log_share;
    out.squared_bias = bias + shrunk;
  };
  if (const auto* fixed = std::get_if<FixedGrowth>(&options_.growth)) {
    settle(fixed->log_growth, 0.0);
    return out;
  }
  if (const auto* measured = std::get_if<MeasuredGrowth>(&options_.growth)) {
    const MeasuredCurve& curve = measured->log_variance;
    settle(std::max(0.0, value_at(curve.head_dim, curve.value, head_dim)) / head_dim, 0.0);
    return out;
  }
  const double hidden = std::max(0.0, std::get<BestBandwidth>(options_.growth).signal - bias);
  const auto settle_at = [&](double log_bandwidth) {
    const double bandwidth = std::exp(log_bandwidth);
    settle(plan::log_growth(bandwidth), shrinkage(bandwidth) * hidden);
    return out.squared_bias + out.excess();
  };
  const double best = minimum_of(settle_at, std::log(kNarrowest), std::log(kWidest), kBandwidthGrid);
  settle_at(best);
  out.bandwidth = std::exp(best);
  return out;
}

PairError ErrorLaw::at(double head_dim, double n_heads) const {
  const Terms parts = terms(head_dim, n_heads);
  PairError out;
  out.squared_bias = parts.squared_bias;
  out.rho = parts.rho;
  out.log_growth = parts.log_growth;
  out.bandwidth = parts.bandwidth;
  const double uncapped = options_.noise / options_.n + parts.excess();
  out.capped = uncapped > options_.noise;
  out.variance = std::min(uncapped, options_.noise);
  out.mse = out.squared_bias + out.variance;
  out.beyond_range = !std::holds_alternative<MeasuredGrowth>(options_.growth) &&
                     head_dim * parts.log_growth > 0.5 * std::log(options_.n);
  const MeasuredCurve* curve = measured_bias(options_.bias);
  if (curve && curve->standard_error.size() > 0)
    out.standard_error = value_at(curve->head_dim, curve->standard_error, head_dim);
  return out;
}

double ErrorLaw::excess(double head_dim, double n_heads) const {
  const Terms parts = terms(head_dim, n_heads);
  return parts.squared_bias + parts.excess();
}

}  // namespace headspan::plan
