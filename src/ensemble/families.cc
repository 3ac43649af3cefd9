#include "headspan/ensemble/families.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/math/tools/minima.hpp>
#include <cmath>
#include <functional>
#include <numbers>
#include <utility>

#include "headspan/numeric/error.h"

namespace headspan::ensemble {
namespace {

// Decays log(a_1 / a_2) that are tried, besides 0: from where it cannot be told from uniform to a_2 = 1e-9
// a_1.
constexpr double kLeastDecay = 1e-6, kMostDecay = 20.72;
constexpr int kDecays = 64;
constexpr double kLeastAlpha = 0.05, kMostAlpha = 0.95;
constexpr int kAlphas = 19;
// Brent's search stops at half the digits of a double: a minimum is flat beyond that.
constexpr int kSearchBits = 26;
constexpr double kRescaleAbove = 1e200;

void check_square(MatrixView m) {
  if (m.rows() != m.cols() || m.rows() == 0 || !m.allFinite())
    throw ArgumentError(
        fmt::format("M: square, not empty and finite wanted, it is {} x {}", m.rows(), m.cols()));
}

void check_parameter(const char* name, double value, bool holds, const char* rule) {
  if (!holds) throw ArgumentError(fmt::format("{}: {} wanted, it is {}", name, rule, value));
}

/// Fibonacci numbers F_H .. F_1 over the first, so that none overflows.
Vector fibonacci_law(Index n) {
  Vector f(n);
  double before = 0.0, here = 1.0;
  for (Index h = n - 1; h >= 0; --h) {
    f[h] = here;
    before = std::exchange(here, here + before);
    if (here < kRescaleAbove) continue;
    f.tail(n - h) /= here;
    before /= here;
    here = 1.0;
  }
  return f;
}

Vector law(Family family, Index n, VectorView parameters) {
  const auto h = Eigen::ArrayXd::LinSpaced(n, 1.0, static_cast<double>(n));
  // Relative to the first, so that it is 1 whatever the decay.
  switch (family) {
    case Family::uniform:
      return Vector::Ones(n);
    case Family::geometric:
      check_parameter("r", parameters[0], parameters[0] > 0.0 && parameters[0] <= 1.0, "0 < r <= 1");
      return (std::log(parameters[0]) * (h - 1.0)).exp().matrix();
    case Family::sub_exponential:
      check_parameter("c", parameters[0], parameters[0] >= 0.0 && std::isfinite(parameters[0]), "c >= 0");
      check_parameter("alpha", parameters[1], parameters[1] > 0.0 && parameters[1] < 1.0, "0 < alpha < 1");
      return (-parameters[0] * (h.pow(parameters[1]) - 1.0)).exp().matrix();
    case Family::heavy_tailed:
      check_parameter("p", parameters[0], parameters[0] >= 0.0 && std::isfinite(parameters[0]), "p >= 0");
      return (-parameters[0] * h.log()).exp().matrix();
    case Family::fibonacci:
      return fibonacci_law(n);
  }
  throw ArgumentError("family: no such family");
}

/// The parameters whose second weight is exp(-decay) times the first.
Vector parameters_at(Family family, double decay, double alpha) {
  switch (family) {
    case Family::geometric:
      return Vector::Constant(1, std::exp(-decay));
    case Family::sub_exponential:
      return Eigen::Vector2d(decay / std::expm1(alpha * std::numbers::ln2), alpha);
    case Family::heavy_tailed:
      return Vector::Constant(1, decay / std::numbers::ln2);
    default:
      return {};
  }
}

struct Best {
  double at = 0.0, value = 0.0;
};

/// The least value over `candidates` in order, refined between the neighbours of the best one.
Best least(const std::vector<double>& candidates, const std::function<double(double)>& value) {
  std::vector<double> values;
  for (const double candidate : candidates) values.push_back(value(candidate));
  const auto i = static_cast<std::size_t>(std::min_element(values.begin(), values.end()) - values.begin());
  const double low = candidates[i == 0 ? 0 : i - 1],
               high = candidates[std::min(i + 1, candidates.size() - 1)];
  const auto refined = boost::math::tools::brent_find_minima(value, low, high, kSearchBits);
  return refined.second < values[i] ? Best{refined.first, refined.second} : Best{candidates[i], values[i]};
}

std::vector<double> decays() {
  std::vector<double> all = {0.0};
  for (int i = 0; i < kDecays; ++i)
    all.push_back(kLeastDecay * std::pow(kMostDecay / kLeastDecay, i / (kDecays - 1.0)));
  return all;
}

std::vector<double> alphas() {
  std::vector<double> all;
  for (int i = 0; i < kAlphas; ++i)
    all.push_back(kLeastAlpha + (kMostAlpha - kLeastAlpha) * i / (kAlphas - 1.0));
  return all;
}

Vector best_parameters(MatrixView m, Family family) {
  if (parameter_names(family).empty()) return {};
  const std::vector<double> candidates = decays();
  const auto at_alpha = [&](double alpha) {
    return least(candidates, [&](double decay) {
      return risk(m, family_weights(family, m.rows(), parameters_at(family, decay, alpha)));
    });
  };
  double alpha = 0.0;
  if (family == Family::sub_exponential)
    alpha = least(alphas(), [&](double tried) { return at_alpha(tried).value; }).at;
  return parameters_at(family, at_alpha(alpha).at, alpha);
}

}  // namespace

const char* to_string(Family family) {
  switch (family) {
    case Family::uniform:
      return "uniform";
    case Family::geometric:
      return "geometric";
    case Family::sub_exponential:
      return "sub_exponential";
    case Family::heavy_tailed:
      return "heavy_tailed";
    case Family::fibonacci:
      return "fibonacci";
  }
  throw ArgumentError("family: no such family");
}

std::vector<std::string_view> parameter_names(Family family) {
  switch (family) {
    case Family::geometric:
      return {"r"};
    case Family::sub_exponential:
      return {"c", "alpha"};
    case Family::heavy_tailed:
      return {"p"};
    default:
      return {};
  }
}

Vector family_weights(Family family, Index n, VectorView parameters) {
  if (n < 1) throw ArgumentError(fmt::format("family_weights: at least one member wanted, there are {}", n));
  const auto wanted = static_cast<Index>(parameter_names(family).size());
  if (parameters.size() != wanted || !parameters.allFinite())
    throw ArgumentError(fmt::format("{}: {} finite parameters wanted, {} given", to_string(family), wanted,
                                    parameters.size()));
  Vector weights = law(family, n, parameters);
  return weights / weights.sum();
}

FamilyFit fit_family(MatrixView m, Family family) {
  check_square(m);
  FamilyFit out;
  out.family = family;
  out.parameters = best_parameters(m, family);
  out.weighting.weights = family_weights(family, m.rows(), out.parameters);
  out.weighting.risk = risk(m, out.weighting.weights);
  return out;
}

}  // namespace headspan::ensemble
