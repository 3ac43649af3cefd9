// One law for heads, forest and colony.

#include <fmt/format.h>

#include <cmath>

#include "experiments/claim_groups.h"
#include "experiments/replicates.h"
#include "headspan/experiments/colony.h"
#include "headspan/experiments/forest.h"
#include "headspan/experiments/heads.h"

namespace headspan::experiments {
namespace {

// at: v, rho, 1/M.
double one_law(const Vector& at) { return at[0] * (at[1] + (1.0 - at[1]) * at[2]); }
double independent_agents(const Vector& at) { return at[0] * at[2]; }

// The variance of the mean as measured against the law, from an agent's variance and a correlation.
Measurement row_of_law(std::string what, const LawRow& row, double rho) {
  return measurement(std::move(what), numbers(row.v.value, rho, row.inverse_members), row.ensemble_variance);
}

// The same where every agent has an estimate everywhere. With the measured correlation the law is then an
// identity, so the two differ by v (1 - 1/M) times what the fit to other data misses of that correlation.
Measurement row_of_fit(std::string what, const LawRow& row) {
  Measurement out = row_of_law(std::move(what), row, row.rho_predicted);
  out.error = row.v.value * (1.0 - row.inverse_members) *
              std::hypot(row.rho.standard_error.value(), row.rho_predicted_error.value());
  return out;
}

Claim law_of_heads() {
  const auto measure = [](const Trial& trial) {
    constexpr Index kKeys = 500, kReplicates = 600;
    AngleOptions options;
    options.degrees = {0, 30, 60, 90};
    options.n = trial.tenfold(kKeys);
    options.n_replicates = trial.tenfold(kReplicates);
    options.n_points = 40;
    options.seed = trial.seed();
    std::vector<Measurement> out;
    for (const AngleRow& row : simulate_angles(options).rows)
      // Predicted and measured correlation differ by 1/n times some n / n_eff.
      out.push_back(with_departure(
          row_of_law(fmt::format("{:g} degrees", row.law.dial), row.law, row.law.rho_predicted),
          10.0 / static_cast<double>(options.n) * row.law.v.value));
    return out;
  };
  return {"one-law-heads",
          "Var F = rho v + (1 - rho) v/M for heads, rho predicted from their principal angles alone",
          ClaimKind::simulation,
          "independent agents: v/M",
          one_law,
          independent_agents,
          measure};
}

ForestOptions forest_options(const Trial& trial) {
  constexpr Index kReplicates = 150;
  ForestOptions options;
  options.mtry = {1, 10, 50};
  options.n_trees = 10;
  options.n = 100;
  options.n_points = 100;
  options.n_replicates = trial.hundredfold(kReplicates);
  options.seed = trial.seed();
  return options;
}

Claim law_of_forest() {
  const auto measure = [](const Trial& trial) {
    std::vector<Measurement> out;
    for (const ForestRow& row : simulate_forest(forest_options(trial)).rows)
      out.push_back(row_of_fit(fmt::format("mtry {}", row.mtry), row.law));
    return out;
  };
  return {"one-law-forest",
          "Var F = rho v + (1 - rho) v/M for regression trees, rho predicted from the dial by a falling "
          "fit to other data sets",
          ClaimKind::simulation,
          "independent agents: v/M",
          one_law,
          independent_agents,
          measure};
}

ColonyOptions colony_options(const Trial& trial, Index n_sites, Index n_steps) {
  constexpr Index kReplicates = 150;
  ColonyOptions options;
  options.n_sites = n_sites;
  options.n_steps = n_steps;
  options.exploration = {0.05, 1.0};
  options.n_replicates = trial.hundredfold(kReplicates);
  options.seed = trial.seed();
  return options;
}

Claim law_of_colony() {
  const auto measure = [](const Trial& trial) {
    // Long enough for every scout to visit every site, but for a chance of 1e-6.
    ColonyOptions options = colony_options(trial, 5, 400);
    options.exploration = {0.3, 0.6};
    options.n_replicates *= 2;
    options.sharing = 4.0;  // scouts that learn more from the trail have more in common
    std::vector<Measurement> out;
    for (const ColonyRow& row : simulate_colony(options).rows)
      out.push_back(row_of_fit(fmt::format("exploration {}", row.law.dial), row.law));
    return out;
  };
  return {"one-law-colony",
          "Var F = rho v + (1 - rho) v/M for scouts that visited every site, rho predicted from the "
          "dial by a falling fit to other searches",
          ClaimKind::simulation,
          "independent agents: v/M",
          one_law,
          independent_agents,
          measure};
}

// --- Directions: the change of a correlation from the least diversity to the most. No law says how much.

Measurement change(std::string what, const Trend& trend) {
  Measurement out = measurement(std::move(what), Vector(), trend.change);
  out.is_direction = true;
  return out;
}

double falls(const Vector&) { return -1.0; }
double rises(const Vector&) { return 1.0; }

Claim forest_dial() {
  return {"forest-dial",
          "the correlation of trees falls as fewer inputs may be tried at a split",
          ClaimKind::simulation,
          "it rises",
          falls,
          rises,
          [](const Trial& trial) {
            return std::vector<Measurement>{
                change("mtry from 50 to 1", simulate_forest(forest_options(trial)).trend)};
          }};
}

Claim colony_dial() {
  return {"colony-dial",
          "the correlation of scouts falls with exploration when the task is hard and time short",
          ClaimKind::simulation,
          "it rises",
          falls,
          rises,
          [](const Trial& trial) {
            std::vector<Measurement> out;
            for (const Index size : {20, 50}) {
              const ColonyFacts facts = simulate_colony(colony_options(trial, size, size));
              out.push_back(change(fmt::format("{} sites, {} steps: errors", size, size), facts.trend));
              out.push_back(
                  change(fmt::format("{} sites, {} steps: estimates", size, size), facts.estimate_trend));
            }
            return out;
          }};
}

Claim colony_reversal() {
  return {"colony-reversal",
          "not so: the correlation over the sites of scouts' estimates, unvisited sites as zero, falls with "
          "exploration on every task. On an easy one, 5 sites and 100 steps, it rises; the correlation of "
          "errors is another matter",
          ClaimKind::counterexample,
          "it falls",
          rises,
          falls,
          [](const Trial& trial) {
            return std::vector<Measurement>{
                change("5 sites, 100 steps", simulate_colony(colony_options(trial, 5, 100)).estimate_trend)};
          }};
}

}  // namespace

std::vector<Claim> ensemble_claims() {
  return {law_of_heads(), law_of_forest(), law_of_colony(), forest_dial(), colony_dial(), colony_reversal()};
}

}  // namespace headspan::experiments
