#include "headspan/ensemble/families.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/math/tools/minima.hpp>
#include <cmath>
#include <functional>
#include <numbers>
#include <utility>

#include "ensemble/second_moments.h"
#include "headspan/numeric/error.h"

namespace headspan::ensemble {
namespace {

// Decays log(a_1 / a_2) that are tried, besides 0: from where it cannot be told from uniform to a_2 = 1e-9
// a_1.
constexpr double kLeastDecay = 1e-6, kMostDecay = 20.72;
constexpr int kDecays = 64;
// Risks that differ by less of what they are sums of are the same.
constexpr double kTie = 1e-13;
constexpr double kLeastAlpha = 0.05, kMostAlpha = 0.95;
constexpr int kAlphas = 19;
// Brent's search stops at half the digits of a double: a minimum is flat beyond that.
constexpr int kSearchBits = 26;
constexpr double kRescaleAbove = 1e200;

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

/// exp of what is not positive; of the least to 0, where that of vectors ends at the smallest normal number.
Vector decaying(const Eigen::ArrayXd& exponents) {
  return exponents.unaryExpr([](double x) { return std::exp(x); }).matrix();
}

Vector law(Family family, Index n, VectorView parameters) {
  const auto h = Eigen::ArrayXd::LinSpaced(n, 1.0, static_cast<double>(n));
  // Relative to the first, so that it is 1 whatever the decay.
  switch (family) {
    case Family::uniform:
      return Vector::Ones(n);
    case Family::geometric:
      check_parameter("r", parameters[0], parameters[0] > 0.0 && parameters[0] <= 1.0, "0 < r <= 1");
      return decaying(std::log(parameters[0]) * (h - 1.0));
    case Family::sub_exponential:
      check_parameter("c", parameters[0], parameters[0] >= 0.0 && std::isfinite(parameters[0]), "c >= 0");
      check_parameter("alpha", parameters[1], parameters[1] > 0.0 && parameters[1] < 1.0, "0 < alpha < 1");
      return decaying(-parameters[0] * (h.pow(parameters[1]) - 1.0));
    case Family::heavy_tailed:
      check_parameter("p", parameters[0], parameters[0] >= 0.0 && std::isfinite(parameters[0]), "p >= 0");
      return decaying(-parameters[0] * h.log());
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

/// The least value over `candidates` in order, refined between the neighbours of the best one. What is less
/// by no more than `rounding` at a candidate is no better than the preferred one, nor than one before it.
Best least(const std::vector<double>& candidates, std::size_t preferred,
           const std::function<double(double)>& value, const std::function<double(double)>& rounding) {
  std::vector<double> values;
  for (const double candidate : candidates) values.push_back(value(candidate));
  const auto lowest =
      static_cast<std::size_t>(std::min_element(values.begin(), values.end()) - values.begin());
  const double bound = values[lowest] + rounding(candidates[lowest]);
  if (values[preferred] <= bound) return {candidates[preferred], values[preferred]};
  const auto i = static_cast<std::size_t>(
      std::find_if(values.begin(), values.end(), [&](double v) { return v <= bound; }) - values.begin());
  const double low = candidates[i == 0 ? 0 : i - 1],
               high = candidates[std::min(i + 1, candidates.size() - 1)];
  const auto [at, found] = boost::math::tools::brent_find_minima(value, low, high, kSearchBits);
  return found < values[i] - rounding(candidates[i]) ? Best{at, found} : Best{candidates[i], values[i]};
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

struct Fitted {
  double decay = 0.0, alpha = 0.0;
  bool at_edge = false;
};

Fitted fitted(MatrixView m, Family family) {
  const std::vector<double> candidates = decays();
  const Matrix sizes = m.cwiseAbs();
  const auto weights_at = [&](double decay, double alpha) {
    return family_weights(family, m.rows(), parameters_at(family, decay, alpha));
  };
  const auto rounding = [&](double decay, double alpha) {
    return kTie * risk(sizes, weights_at(decay, alpha));
  };
  const auto at_alpha = [&](double alpha) {
    // Rather equal weights than others that are no better.
    return least(
        candidates, 0, [&](double decay) { return risk(m, weights_at(decay, alpha)); },
        [&](double decay) { return rounding(decay, alpha); });
  };
  Fitted out;
  if (family == Family::sub_exponential) {
    const std::vector<double> tried = alphas();
    out.alpha = least(
                    tried, tried.size() / 2, [&](double alpha) { return at_alpha(alpha).value; },
                    [&](double alpha) { return rounding(at_alpha(alpha).at, alpha); })
                    .at;
    out.at_edge = out.alpha <= kLeastAlpha || out.alpha >= kMostAlpha;
  }
  out.decay = at_alpha(out.alpha).at;
  out.at_edge = out.at_edge || out.decay >= candidates.back();
  return out;
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
  const Matrix moments = checked_pairs_of_moments(m);
  FamilyFit out;
  out.family = family;
  if (!parameter_names(family).empty()) {
    const Fitted best = fitted(moments, family);
    out.parameters = parameters_at(family, best.decay, best.alpha);
    out.at_edge = best.at_edge;
  }
  out.weighting.weights = family_weights(family, m.rows(), out.parameters);
  out.weighting.risk = risk(moments, out.weighting.weights);
  return out;
}

}  // namespace headspan::ensemble
