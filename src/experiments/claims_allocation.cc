// How many heads of which dimension.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "experiments/claim_groups.h"
#include "experiments/measure.h"
#include "experiments/replicates.h"
#include "headspan/experiments/heads.h"
#include "headspan/numeric/gaussian_laws.h"
#include "headspan/plan/allocate.h"
#include "headspan/plan/scaling.h"

namespace headspan::experiments {
namespace {

constexpr double kRate = 0.5;  // g of an exponential bias of scale one, noise one, bandwidth one

plan::ErrorLaw law_of(plan::BiasProfile bias, plan::Growth growth, plan::Correlation correlation, double n) {
  plan::LawOptions options;
  options.bias = std::move(bias);
  options.growth = growth;
  options.correlation = std::move(correlation);
  options.n = n;
  return plan::ErrorLaw(options);
}

plan::ErrorLaw exponential_law(double n, const plan::Correlation& correlation = plan::OrthogonalHeads{}) {
  return law_of(plan::ExponentialBias{1.0, kRate}, plan::FixedGrowth{plan::log_growth(1.0)}, correlation, n);
}

double best_head_dim(const plan::ErrorLaw& law, double budget) {
  return plan::continuous_optimum(law, budget).head_dim;
}

std::string case_of(double n, double budget) { return fmt::format("n = {:g}, D = {:g}", n, budget); }

Claim closed_form_claim() {
  const auto measure = [](const Trial&) {
    std::vector<Measurement> out;
    for (const auto& [n, budget] : {std::pair{1e3, 64.0}, {1e5, 512.0}, {1e10, 4096.0}, {1e300, 4096.0}})
      out.push_back(
          {case_of(n, budget), numbers(n, budget), best_head_dim(exponential_law(n), budget), 0.02, true});
    return out;
  };
  const auto formula = [](const Vector& at) {
    return plan::closed_form(exponential_law(at[0]), at[1]).value().pair.head_dim;
  };
  return {"allocation",
          "the best head dimension of a budget D, for exponential bias and orthogonal heads, is (W(a e^(L + "
          "a))/a - 1)/lambda with L = log(g A0 n D / s2)",
          ClaimKind::closed_form,
          "L = log(g A0 n / s2), the budget forgotten",
          formula,
          [](const Vector& at) {
            return plan::closed_form(exponential_law(at[0] / at[1]), at[1]).value().pair.head_dim;
          },
          measure};
}

// Rise of the best head dimension per unit of a logarithm, by a central difference of numerical optima.
template <class Optimum>
double local_slope(const Optimum& optimum, double at) {
  constexpr double kHalf = 0.25;  // of a unit of the logarithm
  return (optimum(at * std::exp(kHalf)) - optimum(at * std::exp(-kHalf))) / (2.0 * kHalf);
}

/// Bound on a local slope: optima are known to some 1e-7, and the slope changes little over half a unit.
constexpr double kSlopeBound = 5e-3;

// at: rate g, lambda, k.
double rise_per_log_n(const Vector& at) { return 1.0 / (at[0] + at[1] + at[1] / (1.0 + at[1] * at[2])); }

Claim logarithmic_head_dim() {
  const auto measure = [](const Trial&) {
    constexpr double kBudget = 512.0;
    std::vector<Measurement> out;
    const auto optimum = [](double n) { return best_head_dim(exponential_law(n), kBudget); };
    for (const double n : {1e5, 1e12, 1e100})
      out.push_back({case_of(n, kBudget), numbers(kRate, plan::log_growth(1.0), optimum(n)),
                     local_slope(optimum, n), kSlopeBound, true});
    return out;
  };
  return {
      "logarithmic-head-dim",
      "the best head dimension is logarithmic in n: it rises by 1/(g + lambda + lambda/(1 + lambda k)) per "
      "unit of log n, which tends to 1/(g + lambda)",
      ClaimKind::closed_form,
      "1/g, the growth of the variance forgotten",
      rise_per_log_n,
      [](const Vector& at) { return 1.0 / at[0]; },
      measure};
}

Claim near_linear_heads() {
  const auto measure = [](const Trial&) {
    constexpr double kPoints = 1e5;
    std::vector<Measurement> out;
    const auto optimum = [](double budget) { return best_head_dim(exponential_law(kPoints), budget); };
    const auto log_heads = [&](double budget) { return std::log(budget / optimum(budget)); };
    for (const double budget : {1e2, 1e4, 1e6})
      out.push_back({case_of(kPoints, budget), numbers(kRate, plan::log_growth(1.0), optimum(budget)),
                     local_slope(log_heads, budget), kSlopeBound, true});
    return out;
  };
  return {
      "near-linear-heads",
      "the best number of heads is nearly linear in the budget: log H rises by 1 - (dk/dlog n)/k per unit of "
      "log D",
      ClaimKind::closed_form,
      "exactly linear: by 1",
      [](const Vector& at) { return 1.0 - rise_per_log_n(at) / at[2]; },
      [](const Vector&) { return 1.0; },
      measure};
}

Claim common_correlation() {
  constexpr double kRho = 0.2;
  const auto measure = [](const Trial&) {
    std::vector<Measurement> out;
    for (const auto& [n, budget] : {std::pair{1e5, 1e6}, {1e5, 1e7}, {1e10, 1e7}})
      out.push_back({case_of(n, budget), numbers(n, budget),
                     best_head_dim(exponential_law(n, plan::CommonCorrelation{kRho}), budget), 0.02, true});
    return out;
  };
  return {
      "regime-common-correlation",
      "with a correlation rho that no diversity removes, D drops out: k = log(g A0 n / (lambda s2 rho))/(g + "
      "lambda), and H is linear in D",
      ClaimKind::closed_form,
      "the law of orthogonal heads",
      [](const Vector& at) {
        const double lambda = plan::log_growth(1.0);
        return std::log(kRate * at[0] / (lambda * kRho)) / (kRate + lambda);
      },
      [](const Vector& at) { return plan::closed_form(exponential_law(at[0]), at[1]).value().pair.head_dim; },
      measure};
}

Claim polynomial_bias() {
  constexpr double kPower = 2.0;
  const auto measure = [](const Trial&) {
    constexpr double kBudget = 1e4;
    const auto optimum = [](double n) {
      return best_head_dim(law_of(plan::PolynomialBias{1.0, kPower}, plan::FixedGrowth{plan::log_growth(1.0)},
                                  plan::OrthogonalHeads{}, n),
                           kBudget);
    };
    std::vector<Measurement> out;
    for (const double n : {1e6, 1e12, 1e100})
      out.push_back({case_of(n, kBudget), numbers(kPower, plan::log_growth(1.0), optimum(n)),
                     local_slope(optimum, n), 2.0 * kSlopeBound, true});
    return out;
  };
  return {
      "regime-polynomial-bias",
      "for polynomial bias k^-s at one bandwidth, k rises by 1/(lambda + lambda/(1 + lambda k) + (s+1)/k) "
      "per unit of log n, which tends to 1/lambda",
      ClaimKind::closed_form,
      "the law of exponential bias of rate s",
      [](const Vector& at) { return 1.0 / (at[1] + at[1] / (1.0 + at[1] * at[2]) + (at[0] + 1.0) / at[2]); },
      rise_per_log_n,
      measure};
}

Claim no_bias() {
  const auto measure = [](const Trial&) {
    std::vector<Measurement> out;
    for (const double n : {1e4, 1e8})
      out.push_back(
          {case_of(n, 512.0), numbers(n),
           best_head_dim(law_of(plan::ExponentialBias{0.0, kRate}, plan::FixedGrowth{plan::log_growth(1.0)},
                                plan::OrthogonalHeads{}, n),
                         512.0),
           1e-4, true});
    return out;
  };
  return {"regime-no-bias",
          "without a bias that falls with k, the best head dimension collapses to 1",
          ClaimKind::closed_form,
          "log n / lambda, the law of polynomial bias",
          [](const Vector&) { return 1.0; },
          [](const Vector& at) { return std::log(at[0]) / plan::log_growth(1.0); },
          measure};
}

// How far the best head dimension rises when log n is multiplied by four, bandwidth chosen for every pair.
Claim best_bandwidth() {
  const auto measure = [](const Trial&) {
    constexpr double kBudget = 512.0;
    const auto optimum = [](double n) {
      return best_head_dim(
          law_of(plan::ExponentialBias{1.0, kRate}, plan::BestBandwidth{1.0}, plan::OrthogonalHeads{}, n),
          kBudget);
    };
    std::vector<Measurement> out;
    for (const double n : {1e25, 1e70})
      out.push_back({fmt::format("n from {:g} to its fourth power", n), numbers(4.0),
                     optimum(std::pow(n, 4.0)) / optimum(n), 0.25, true});
    return out;
  };
  return {"regime-best-bandwidth",
          "with the best bandwidth for every pair and exponential bias, k grows as sqrt(log n)",
          ClaimKind::closed_form,
          "as log n",
          [](const Vector& at) { return std::sqrt(at[0]); },
          [](const Vector& at) { return at[0]; },
          measure};
}

// --- The redundant latents, whose bias and covariance are known in closed form.

struct LatentTerms {
  double squared_bias = 0.0, rho = 0.0;
};

// x_hj = r z_j + sqrt(1 - r^2) eta_hj, r = 1/sqrt(1 + t^2), target of variance 1 - e^(-g k) within k latents.
LatentTerms latent_terms(const LatentOptions& o, Index k) {
  const double r2 = 1.0 / (1.0 + o.private_noise * o.private_noise);
  const double shrunk = std::sqrt(r2) / (1.0 + o.bandwidth * o.bandwidth);
  const double unseen = std::exp(-o.rate * static_cast<double>(k));
  const double kept = 1.0 - shrunk * std::sqrt(r2);
  const double own = shrunk * shrunk * (1.0 - r2) / static_cast<double>(o.budget / k);
  const GaussianKernelLaw law(o.bandwidth);
  return {o.scale * ((1.0 - unseen) * (kept * kept + own) + unseen),
          law.correlation(static_cast<double>(k) * law.log_v(r2 * r2), k, k)};
}

// The planner's law for the design, bias and correlation as curves over the grid.
plan::ErrorLaw law_of_latents(const LatentOptions& o, double log_growth) {
  const auto size = static_cast<Index>(o.head_dims.size());
  plan::MeasuredCurve bias{Vector(size), Vector(size), Vector()}, rho = bias;
  for (Index i = 0; i < size; ++i) {
    const Index k = o.head_dims[static_cast<std::size_t>(i)];
    const LatentTerms terms = latent_terms(o, k);
    bias.head_dim[i] = rho.head_dim[i] = static_cast<double>(k);
    bias.value[i] = terms.squared_bias;
    rho.value[i] = terms.rho;
  }
  plan::LawOptions options;
  options.bias = bias;
  options.growth = plan::FixedGrowth{log_growth};
  options.correlation = rho;
  options.noise = o.noise_variance;
  options.n = static_cast<double>(o.n);
  return plan::ErrorLaw(options);
}

// A design whose best head dimension lies inside the grid and in the range of the law.
LatentOptions searched_latents(Index n, Index budget) {
  LatentOptions options;
  options.head_dims = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
  options.private_noise = 0.5;
  options.bandwidth = 0.7;
  options.noise_variance = 4.0;
  options.n = n;
  options.budget = budget;
  return options;
}

double planned_head_dim(const Vector& at, double log_growth) {
  const LatentOptions options = searched_latents(static_cast<Index>(at[0]), static_cast<Index>(at[1]));
  plan::PairRules rules;
  rules.budget = options.budget;
  const plan::Allocation found = allocate(law_of_latents(options, log_growth), rules);
  return static_cast<double>(found.curve[found.best].pair.head_dim);
}

// The best head dimension of each of several simulations. A best whole number moves in steps, so a single one
// has no error; the mean of several has that of their spread.
Vector simulated_bests(const Trial& trial, LatentOptions options) {
  constexpr Index kSimulations = 8, kReplicates = 3;
  options.n_points = 20;
  options.n_replicates = trial.hundredfold(kReplicates);
  Vector best(kSimulations);
  for (Index i = 0; i < kSimulations; ++i) {
    options.seed = trial.stream(i)();
    const LatentFacts facts = simulate_latents(options);
    best[i] = facts.rows[facts.best].law.dial;
  }
  return best;
}

Claim planned_argmin() {
  const auto measure = [](const Trial& trial) {
    constexpr double kNeighbour = 1.0 / kStandardErrors;  // a margin of one step of the dimension
    std::vector<Measurement> out;
    for (const Index n : {300, 1000})
      for (const Index budget : {16, 48}) {
        const Part best = mean_of(simulated_bests(trial, searched_latents(n, budget)));
        const std::string what = fmt::format("n = {}, D = {}", n, budget);
        out.push_back(with_departure(measurement(what, numbers(n, budget), best), kNeighbour));
      }
    return out;
  };
  const double bandwidth = searched_latents(1, 1).bandwidth;
  return {"planned-argmin",
          "on the redundant latents the simulated best head dimension, a mean over eight simulations, is the "
          "planned one or within a step of it",
          ClaimKind::simulation,
          "a variance that does not grow with the head dimension",
          [bandwidth](const Vector& at) { return planned_head_dim(at, plan::log_growth(bandwidth)); },
          [](const Vector& at) { return planned_head_dim(at, 0.0); },
          measure};
}

constexpr Index kLatentBudget = 16;

LatentOptions measured_latents(Index n) {
  LatentOptions options;
  options.head_dims = {1, 2, 3, 4};
  options.budget = kLatentBudget;
  options.n = n;
  return options;
}

// One part of the error of every head dimension; the law leaves out terms of relative order V(1)^k / n.
std::vector<Measurement> parts_of_latents(const Trial& trial, Part LatentRow::*part) {
  constexpr Index kKeys = 1000, kReplicates = 40;
  LatentOptions options = measured_latents(trial.tenfold(kKeys));
  options.n_replicates = trial.tenfold(kReplicates);
  options.seed = trial.seed();
  std::vector<Measurement> out;
  for (const LatentRow& row : simulate_latents(options).rows) {
    const double departure =
        std::exp(row.law.dial * plan::log_growth(options.bandwidth)) / static_cast<double>(options.n);
    const Part& found = part != nullptr ? row.*part : row.law.ensemble_variance;
    out.push_back(with_departure(
        measurement(fmt::format("k = {}", row.law.dial), numbers(options.n, row.law.dial), found),
        2.0 * departure * found.value));
  }
  return out;
}

Claim latent_bias() {
  return {"latent-bias",
          "the squared bias of redundant latents is A0 [(1 - e^(-g k)) ((1 - s r)^2 + s^2 (1 - r^2)/H) + "
          "e^(-g k)]",
          ClaimKind::simulation,
          "e^(-g k) alone, the shrinkage of every head forgotten",
          [](const Vector& at) {
            return latent_terms(measured_latents(static_cast<Index>(at[0])), static_cast<Index>(at[1]))
                .squared_bias;
          },
          [](const Vector& at) { return std::exp(-LatentOptions().rate * at[1]); },
          [](const Trial& trial) { return parts_of_latents(trial, &LatentRow::squared_bias); }};
}

Claim latent_variance() {
  return {"latent-variance",
          "their variance is s2/n [1 + (V(1)^k - 1)(1/H + (1 - 1/H) rho)], rho of cosines 1/(1 + t^2)",
          ClaimKind::simulation,
          "heads taken as orthogonal, rho = 0",
          [](const Vector& at) {
            const LatentOptions options = measured_latents(static_cast<Index>(at[0]));
            const plan::ErrorLaw law = law_of_latents(options, plan::log_growth(options.bandwidth));
            return law.at(at[1], std::floor(kLatentBudget / at[1])).variance;
          },
          [](const Vector& at) {
            const plan::ErrorLaw law = exponential_law(at[0]);
            return law.at(at[1], std::floor(kLatentBudget / at[1])).variance;
          },
          [](const Trial& trial) { return parts_of_latents(trial, nullptr); }};
}

}  // namespace

std::vector<Claim> allocation_claims() {
  return {closed_form_claim(),  logarithmic_head_dim(), near_linear_heads(),
          common_correlation(), polynomial_bias(),      no_bias(),
          best_bandwidth(),     latent_bias(),          latent_variance(),
          planned_argmin()};
}

}  // namespace headspan::experiments
