#include <nlohmann/json.hpp>
#include <ostream>

#include "headspan/report/decompose_report.h"
#include "report/input_facts.h"
#include "report/json_values.h"

namespace headspan::report {
namespace {

using Json = nlohmann::ordered_json;
using ensemble::FittedWeights;
using ensemble::Part;
using ensemble::PredictionFacts;

Json text(const std::optional<std::string>& value) { return value ? Json(*value) : Json(); }

struct Term {
  const char* name;
  std::optional<Part> part;
};

std::vector<Term> terms(const PredictionFacts& facts) {
  return {{"mse", facts.mse},
          {"mean_member_mse", facts.mean_member_mse},
          {"ambiguity", facts.ambiguity},
          {"bias2", facts.bias2},
          {"variance", facts.variance},
          {"covariance", facts.covariance},
          {"disparity", facts.disparity},
          {"diversity", facts.diversity},
          {"hdi", facts.hdi},
          {"n_eff_2", facts.n_eff_2}};
}

Json part_object(const Part& part) {
  return {{"value", number(part.value)}, {"standard_error", number(part.standard_error)}};
}

Json unbiased_object(const std::optional<ensemble::Decomposition>& unbiased) {
  if (!unbiased) return {};
  return {{"mse", part_object(*unbiased->mse)},
          {"bias2", part_object(*unbiased->squared_bias)},
          {"variance_part", part_object(unbiased->variance)},
          {"covariance_part", part_object(unbiased->covariance)},
          {"variance", number(unbiased->vbar)},
          {"covariance", number(unbiased->cbar)}};
}

Json weights_object(const PredictionFacts& facts, const FittedWeights& fitted) {
  Json parameters = Json::object();
  for (const auto& [name, value] : fitted.parameters) parameters[name] = number(value);
  const auto& gain = fitted.gain_cv;
  return {{"weights", numbers(fitted.weighting.weights)},
          {"risk", number(fitted.weighting.risk)},
          {"risk_cv", number(fitted.risk_cv)},
          {"gain_cv", gain ? number(gain->value) : Json()},
          {"gain_cv_standard_error", gain ? number(gain->standard_error) : Json()},
          {"loss_if_alike", number(structure_loss(facts.alike, fitted.weighting.weights))},
          {"status", to_string(fitted.weighting.status)},
          {"residual", number(fitted.weighting.residual)},
          {"parameters", std::move(parameters)},
          {"at_edge", fitted.at_edge}};
}

Json alike_object(const ensemble::Exchangeability& alike) {
  return {{"holds", alike.holds},
          {"p", number(alike.p)},
          {"diagonal", number(alike.diagonal)},
          {"off_diagonal", number(alike.off_diagonal)},
          {"departure", number(alike.departure)}};
}

void add_head(const DecomposeReport& report, const std::string& version, Json& out) {
  out["headspan_version"] = version;
  out["kind"] = "decompose";
  out["input"] = input_object(report.input);
  out["truth"] = report.truth;
  out["truth_is_constant"] = report.truth_is_constant;
  out["members"] = report.members;
  out["unused_columns"] = report.unused;
  out["replicate"] = text(report.replicate);
  out["point"] = text(report.point);
  out["options"] = {{"n_bootstrap", report.options.n_bootstrap},
                    {"n_folds", report.options.n_folds},
                    {"seed", report.options.seed},
                    {"greatest_norm2", number(report.options.greatest_norm2)}};
}

Json names_of(const DecomposeReport& report, const std::vector<Index>& members) {
  Json names = Json::array();
  for (const Index h : members) names.push_back(report.members[static_cast<std::size_t>(h)]);
  return names;
}

void add_terms(const PredictionFacts& facts, Json& out) {
  Json origin = Json::object(), standard_error = Json::object(), unidentified = Json::array();
  for (const auto& [name, part] : terms(facts)) {
    out[name] = part ? number(part->value) : Json();
    origin[name] = part ? Json(to_string(part->origin)) : Json();
    standard_error[name] = part ? number(part->standard_error) : Json();
    if (!part) unidentified.push_back(name);
  }
  out["closure"] = number(facts.closure);
  out["linking_closure"] = number(facts.linking_closure);
  out["origin"] = std::move(origin);
  out["standard_error"] = std::move(standard_error);
  out["unidentified"] = std::move(unidentified);
}

}  // namespace

void write_decompose_json(std::ostream& out, const DecomposeReport& report, const std::string& version) {
  const PredictionFacts& facts = report.facts;
  Json document;
  add_head(report, version, document);
  document["n_points"] = facts.n_points;
  document["n_members"] = facts.n_members;
  document["n_replicates"] = facts.n_replicates;
  document["n_bootstrap"] = facts.n_bootstrap;
  document["n_groups"] = facts.n_groups;
  document["n_folds"] = facts.n_folds;
  add_terms(facts, document);
  document["unbiased"] = unbiased_object(facts.unbiased);
  document["error_second_moments"] = matrix_rows(facts.error_second_moments);
  document["correlation_of"] = facts.correlation_of;
  document["correlation"] = facts.correlation ? matrix_rows(*facts.correlation) : Json();
  document["uncorrelated_members"] = names_of(report, facts.uncorrelated);
  Json doubtful = Json::array();
  for (const ensemble::Doubt& doubt : facts.doubtful)
    doubtful.push_back(
        {{"member", report.members[static_cast<std::size_t>(doubt.member)]}, {"reason", doubt.reason}});
  document["doubtful_members"] = std::move(doubtful);
  document["alike"] = alike_object(facts.alike);
  Json weights = Json::object();
  for (const FittedWeights& fitted : facts.weights) weights[fitted.name] = weights_object(facts, fitted);
  document["weights"] = std::move(weights);
  out << document.dump(-1, ' ', false, Json::error_handler_t::replace) << '\n';
}

}  // namespace headspan::report
