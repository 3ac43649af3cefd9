// Weights of the ensemble.

#include <fmt/format.h>

#include <cmath>

#include "experiments/claim_groups.h"
#include "experiments/replicates.h"
#include "headspan/ensemble/families.h"
#include "headspan/ensemble/weights.h"
#include "headspan/numeric/optimize.h"

namespace headspan::experiments {
namespace {

Matrix unpacked_square(const Vector& at) {
  const auto n = static_cast<Index>(std::lround(std::sqrt(static_cast<double>(at.size()))));
  return Eigen::Map<const Matrix>(at.data(), n, n);
}

// Least risk over weights of sum one by descent, the last weight being what the others leave.
double least_risk_by_descent(const Matrix& m) {
  const Index n = m.rows();
  const auto weights_of = [n](const Vector& free) {
    Vector weights(n);
    weights << free, 1.0 - free.sum();
    return weights;
  };
  const Objective objective = [&](const Vector& free, Vector* gradient) {
    const Vector weights = weights_of(free), slope = 2.0 * (m * weights);
    if (gradient != nullptr) *gradient = slope.head(n - 1).array() - slope[n - 1];
    return weights.dot(m * weights);
  };
  const Vector start = Vector::Constant(n - 1, 1.0 / static_cast<double>(n));
  return minimize(objective, start, Vector::Constant(n - 1, -10.0), Vector::Constant(n - 1, 10.0)).value;
}

Claim optimal_weights_claim() {
  const auto measure = [](const Trial& trial) {
    std::vector<Measurement> out;
    for (const Index h : {2, 4}) {
      RandomStream random = trial.stream(h);
      const Matrix root = random.normal_matrix(h, h + 2);
      const Matrix m = root * root.transpose();
      out.push_back({fmt::format("{} members", h), Eigen::Map<const Vector>(m.data(), m.size()),
                     least_risk_by_descent(m), 1e-7, true});
    }
    return out;
  };
  return {"optimal-weights",
          "no weights of sum one have less risk than 1 / (1'M^-1 1), that of M^-1 1 scaled to sum one",
          ClaimKind::closed_form,
          "weights in inverse proportion to the members' own errors",
          [](const Vector& at) { return ensemble::optimal_weights(unpacked_square(at)).risk; },
          [](const Vector& at) {
            const Matrix m = unpacked_square(at);
            const Vector weights = m.diagonal().cwiseInverse() / m.diagonal().cwiseInverse().sum();
            return ensemble::risk(m, weights);
          },
          measure};
}

// Members alike in bias, variance and correlation: what each family loses against equal weights.
std::vector<Measurement> losses_of_structure(const Trial&) {
  constexpr Index kMembers = 8;
  constexpr double kVariance = 2.0, kRho = 0.3, kSquaredBias = 0.5;
  Matrix m = Matrix::Constant(kMembers, kMembers, kSquaredBias + kVariance * kRho);
  m.diagonal().setConstant(kSquaredBias + kVariance);
  const Vector equal = Vector::Constant(kMembers, 1.0 / kMembers);
  const std::vector<std::pair<ensemble::Family, Vector>> laws = {
      {ensemble::Family::geometric, numbers(0.7)},
      {ensemble::Family::sub_exponential, numbers(0.8, 0.5)},
      {ensemble::Family::heavy_tailed, numbers(1.0)},
      {ensemble::Family::fibonacci, Vector()}};
  std::vector<Measurement> out;
  for (const auto& [family, parameters] : laws) {
    const Vector weights = ensemble::family_weights(family, kMembers, parameters);
    out.push_back({to_string(family), numbers(kVariance, kRho, weights.squaredNorm(), kMembers),
                   ensemble::risk(m, weights) - ensemble::risk(m, equal), 1e-13, true});
  }
  return out;
}

Claim dominance() {
  return {
      "dominance",
      "where biases, variances v and correlations rho are equal, structured weights cannot win: they lose v "
      "(1 - rho)(|a|^2 - 1/H)",
      ClaimKind::identity,
      "v (|a|^2 - 1/H), as if members were uncorrelated",
      [](const Vector& at) { return at[0] * (1.0 - at[1]) * (at[2] - 1.0 / at[3]); },
      [](const Vector& at) { return at[0] * (at[2] - 1.0 / at[3]); },
      losses_of_structure};
}

Claim structure_wins() {
  const auto measure = [](const Trial&) {
    std::vector<Measurement> out;
    for (const double growth : {1.5, 2.0}) {
      constexpr Index kMembers = 12;
      Matrix m = Matrix::Zero(kMembers, kMembers);  // uncorrelated, variance growing along the order
      for (Index h = 0; h < kMembers; ++h) m(h, h) = std::pow(growth, static_cast<double>(h));
      const double fitted = ensemble::fit_family(m, ensemble::Family::geometric).weighting.risk;
      out.push_back(
          {fmt::format("variance growing by {}", growth), numbers(growth, kMembers), fitted, 1e-8, true});
    }
    return out;
  };
  const auto optimal = [](const Vector& at) { return (1.0 - 1.0 / at[0]) / (1.0 - std::pow(at[0], -at[1])); };
  return {"structure-wins",
          "structure wins where variance changes along the order: with variances r^(h-1) the geometric law "
          "reaches the least risk, (1 - 1/r) / (1 - r^-H)",
          ClaimKind::closed_form,
          "the risk of equal weights",
          optimal,
          [](const Vector& at) { return (std::pow(at[0], at[1]) - 1.0) / (at[0] - 1.0) / (at[1] * at[1]); },
          measure};
}

Claim fibonacci_weights() {
  const auto measure = [](const Trial&) {
    std::vector<Measurement> out;
    for (const Index h : {40, 80})
      out.push_back({fmt::format("{} members", h), numbers(h),
                     1.0 / ensemble::family_weights(ensemble::Family::fibonacci, h).squaredNorm(), 1e-6,
                     true});
    return out;
  };
  return {"fibonacci-weights",
          "Fibonacci weights are worth at most 2 + sqrt(5) = 4.24 members, however many there are",
          ClaimKind::closed_form,
          "as many as there are",
          [](const Vector&) { return 2.0 + std::sqrt(5.0); },
          [](const Vector& at) { return at[0]; },
          measure};
}

}  // namespace

std::vector<Claim> weight_claims() {
  return {optimal_weights_claim(), dominance(), structure_wins(), fibonacci_weights()};
}

}  // namespace headspan::experiments
