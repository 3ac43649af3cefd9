#include "experiments/many_scores.h"

#include <cmath>
#include <numbers>

namespace headspan::experiments {
namespace {

constexpr double kGridStep = 0.05;
constexpr double kReach = 9.0;  // standard deviations: the normal density is below 1e-18 of its top

// 1 - E e^(-t e^s), and E e^(2s - t e^s) with t^2 taken in, for s normal of standard deviation `sd`.
struct Transform {
  double complement = 0.0, square = 0.0;
};

Transform transform(double log_t, double sd) {
  Transform out;
  const double density = kGridStep / std::sqrt(2.0 * std::numbers::pi);
  // The second integrand is a normal density about 2 sd.
  for (double z = -kReach; z <= kReach + 2.0 * sd; z += kGridStep) {
    const double scaled = std::exp(log_t + sd * z);
    const double weight = density * std::exp(-0.5 * z * z);
    out.complement -= weight * std::expm1(-scaled);
    out.square += density * std::exp(2.0 * (log_t + sd * z) - 0.5 * z * z - scaled);
  }
  return out;
}

}  // namespace

double concentration_of_softmax(double score_variance, double n) {
  const double sd = std::sqrt(score_variance);
  double sum = 0.0;
  // With t = e^u the integrand e^(2u) ... falls as e^(2u) on the left and beyond any exponential on the
  // right.
  for (double u = -std::log(n) - 3.0 * score_variance - 12.0; u < kReach * sd + 5.0; u += kGridStep) {
    const Transform at = transform(u, sd);
    if (!(at.complement < 1.0)) break;
    sum += kGridStep * at.square * std::exp((n - 1.0) * std::log1p(-at.complement));
  }
  return n * n * sum;
}

}  // namespace headspan::experiments
