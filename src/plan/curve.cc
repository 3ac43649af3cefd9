#include "plan/curve.h"

#include <fmt/format.h>

#include <algorithm>

#include "headspan/numeric/error.h"

namespace headspan::plan {

void check_curve(const char* name, const MeasuredCurve& curve) {
  const Index m = curve.head_dim.size();
  const auto fail = [name](const std::string& rule) {
    throw ArgumentError(fmt::format("{}: {}", name, rule));
  };
  if (m == 0) fail("a measured curve needs at least one point");
  if (curve.value.size() != m || (curve.standard_error.size() != 0 && curve.standard_error.size() != m))
    fail(fmt::format("{} values and {} standard errors for {} head dimensions", curve.value.size(),
                     curve.standard_error.size(), m));
  if (!curve.head_dim.allFinite() || !curve.value.allFinite() || !curve.standard_error.allFinite())
    fail("every number of a measured curve must be finite");
  if (curve.head_dim[0] < 1.0)
    fail(fmt::format("head dimensions begin at 1, the first is {}", curve.head_dim[0]));
  for (Index i = 1; i < m; ++i)
    if (!(curve.head_dim[i] > curve.head_dim[i - 1]))
      fail(fmt::format("head dimensions must increase, but {} follows {}", curve.head_dim[i],
                       curve.head_dim[i - 1]));
  if (curve.standard_error.size() > 0 && curve.standard_error.minCoeff() < 0.0)
    fail(fmt::format("a standard error is {}", curve.standard_error.minCoeff()));
}

bool is_within(const Vector& places, double at) { return at >= places[0] && at <= places[places.size() - 1]; }

double value_at(const Vector& places, const Vector& values, double at) {
  if (!is_within(places, at))
    throw ArgumentError(fmt::format("head_dim: {} lies outside the measured {} to {}", at, places[0],
                                    places[places.size() - 1]));
  const Index right = std::lower_bound(places.begin(), places.end(), at) - places.begin();
  if (places[right] == at) return values[right];
  const double share = (at - places[right - 1]) / (places[right] - places[right - 1]);
  return values[right - 1] + share * (values[right] - values[right - 1]);
}

const MeasuredCurve* measured_bias(const BiasProfile& bias) {
  if (const auto* measured = std::get_if<MeasuredBias>(&bias)) return &measured->shared;
  return std::get_if<MeasuredCurve>(&bias);
}

std::vector<const MeasuredCurve*> measured_curves(const LawOptions& options) {
  std::vector<const MeasuredCurve*> curves;
  if (const MeasuredCurve* bias = measured_bias(options.bias)) curves.push_back(bias);
  if (const auto* rho = std::get_if<MeasuredCurve>(&options.correlation)) curves.push_back(rho);
  if (const auto* growth = std::get_if<MeasuredGrowth>(&options.growth))
    curves.push_back(&growth->log_variance);
  return curves;
}

}  // namespace headspan::plan
