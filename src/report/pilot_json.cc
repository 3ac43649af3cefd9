#include <nlohmann/json.hpp>
#include <ostream>

#include "headspan/report/pilot_report.h"
#include "report/input_facts.h"
#include "report/json_values.h"
#include "report/plan_parts.h"

namespace headspan::report {
namespace {

using Json = nlohmann::ordered_json;

Json part_object(const ensemble::Part& part) {
  return {{"value", number(part.value)}, {"standard_error", number(part.standard_error)}};
}

Json options_object(const PilotReport& report) {
  Json options = rules_object(report.rules);
  options["n_heads"] = report.options.n_heads;
  options["n_weighted"] = report.options.n_weighted;
  options["n_dimensions"] = report.options.n_dimensions;
  options["most_rows"] = report.options.most_rows;
  options["n_bootstrap"] = report.options.n_bootstrap;
  options["seed"] = report.options.seed;
  return options;
}

Json estimate_object(const estimator::PilotEstimate& estimate) {
  return {{"head_dim", estimate.head_dim},
          {"bandwidth", number(estimate.bandwidth)},
          {"squared_bias", part_object(estimate.squared_bias)},
          {"own_bias", part_object(estimate.own_bias)},
          {"variance", part_object(estimate.variance)},
          {"rho", part_object(estimate.rho)}};
}

Json pilot_object(const PilotReport& report) {
  const estimator::Pilot& pilot = report.pilot;
  Json constant = Json::array(), estimates = Json::array();
  for (const Index j : pilot.constant_inputs) constant.push_back(report.x[static_cast<std::size_t>(j)]);
  for (const estimator::PilotEstimate& estimate : report.plan.estimates)
    estimates.push_back(estimate_object(estimate));
  return {{"n", pilot.n},
          {"n_used", pilot.n_used},
          {"d", pilot.d},
          {"constant_inputs", std::move(constant)},
          {"y_variance", number(pilot.y_variance)},
          {"noise", number(pilot.noise)},
          {"residual_noise", part_object(pilot.residual_noise)},
          {"neighbour_noise", part_object(pilot.neighbour_noise)},
          {"log_growth", part_object(report.plan.log_growth)},
          {"theory_log_growth", number(report.plan.theory_log_growth)},
          {"estimates", std::move(estimates)}};
}

/// A pair of the curve; its bandwidth and what the resamples say of it stand beside its error.
Json pair_object(const estimator::PilotPlan& plan, std::size_t i) {
  Json point = point_object(plan.allocation.curve[i]);
  point["bandwidth"] = number(plan.bandwidth[i]);
  point["standard_error"] = number(plan.difference_error[i]);
  point["chosen_share"] = number(plan.chosen_share[i]);
  return point;
}

Json plan_object(const estimator::PilotPlan& plan) {
  const plan::Allocation& found = plan.allocation;
  Json near_ties = Json::array(), curve = Json::array();
  for (const std::size_t i : found.near_ties) near_ties.push_back(pair_object(plan, i));
  for (std::size_t i = 0; i < found.curve.size(); ++i) curve.push_back(pair_object(plan, i));
  return {{"n", number(plan.n)},
          {"best", pair_object(plan, found.best)},
          {"near_ties", std::move(near_ties)},
          {"notes", found.notes},
          {"curve", std::move(curve)}};
}

Json measured_object(const estimator::MeasuredPair& measured) {
  return {{"head_dim", measured.pair.head_dim},
          {"n_heads", measured.pair.n_heads},
          {"bandwidth", number(measured.bandwidth)},
          {"loo", number(measured.loo)},
          {"standard_error", measured.standard_error ? number(*measured.standard_error) : Json()},
          {"n_draws", measured.n_draws}};
}

Json check_object(const std::optional<estimator::GridCheck>& check) {
  if (!check) return {};
  Json pairs = Json::array();
  for (const estimator::MeasuredPair& measured : check->pairs) pairs.push_back(measured_object(measured));
  return {{"regret", number(check->regret)},
          {"regret_standard_error", check->regret_error ? number(*check->regret_error) : Json()},
          {"within_noise", check->within_noise},
          {"n_draws", check->options.n_draws},
          {"planned", measured_object(check->pairs[check->planned])},
          {"best", measured_object(check->pairs[check->best])},
          {"pairs", std::move(pairs)}};
}

}  // namespace

void write_pilot_json(std::ostream& out, const PilotReport& report, const std::string& version) {
  Json document = {{"headspan_version", version},
                   {"kind", "plan"},
                   {"input", input_object(report.input)},
                   {"x", report.x},
                   {"y", report.y},
                   {"options", options_object(report)},
                   {"pilot", pilot_object(report)}};
  document.update(plan_object(report.plan));
  document.update(scaling_object(report.plan.scaling));
  document["at_n"] = report.at_n ? plan_object(*report.at_n) : Json();
  document["check"] = check_object(report.check);
  out << document.dump(-1, ' ', false, Json::error_handler_t::replace) << '\n';
}

}  // namespace headspan::report
