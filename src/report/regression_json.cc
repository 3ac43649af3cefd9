#include <nlohmann/json.hpp>
#include <ostream>

#include "headspan/report/regression_report.h"
#include "report/input_facts.h"
#include "report/json_values.h"

namespace headspan::report {
namespace {

using Json = nlohmann::ordered_json;
using estimator::EncodingFacts;
using estimator::ErrorFacts;
using estimator::ScoreFacts;

std::string dump(const Json& value) { return value.dump(-1, ' ', false, Json::error_handler_t::replace); }

Json head_of(const char* kind, const std::string& version) {
  return {{"headspan_version", version}, {"kind", kind}};
}

Json encoding_object(const EncodingFacts& facts) {
  Json columns = Json::array();
  for (const estimator::ColumnDecision& column : facts.columns)
    columns.push_back({{"name", column.name},
                       {"use", to_string(column.use)},
                       {"exclusion", to_string(column.exclusion)},
                       {"n_missing", column.n_missing},
                       {"n_levels", column.n_levels},
                       {"note", column.note}});
  return {{"columns", std::move(columns)}, {"inputs", facts.inputs}};
}

Json repairs_array(const std::vector<estimator::ColumnRepair>& repairs) {
  Json list = Json::array();
  for (const estimator::ColumnRepair& repair : repairs)
    list.push_back({{"name", repair.name},
                    {"n_filled", repair.n_filled},
                    {"n_unseen", repair.n_unseen},
                    {"first_unseen", repair.n_unseen > 0 ? Json(repair.first_unseen) : Json()},
                    {"unseen", repair.n_unseen > 0 ? Json(repair.unseen) : Json()}});
  return list;
}

Json estimates_array(const std::vector<estimator::EstimateFacts>& estimates) {
  Json list = Json::array();
  for (const estimator::EstimateFacts& estimate : estimates) {
    const estimator::Recipe& recipe = estimate.recipe;
    list.push_back({{"weight", number(estimate.weight)},
                    {"n_heads", estimate.n_heads},
                    {"heads", to_string(recipe.heads)},
                    {"combiner", to_string(recipe.combiner)},
                    {"trend", recipe.trend},
                    {"sharpen", recipe.sharpen},
                    {"head_dim", recipe.head_dim}});
  }
  return list;
}

Json plan_object(const std::optional<estimator::HeadPlan>& plan) {
  if (!plan) return {};
  Json pairs = Json::array();
  for (const plan::Pair& pair : plan->pairs)
    pairs.push_back({{"n_heads", pair.n_heads}, {"head_dim", pair.head_dim}});
  return {{"budget", estimator::HeadPlan::kBudget},
          {"pairs", std::move(pairs)},
          {"effort_spent", number(plan->cost)}};
}

Json search_object(const std::optional<estimator::SearchFacts>& search) {
  if (!search) return {};
  Json candidates = Json::array();
  for (const estimator::CandidateFacts& candidate : search->candidates) {
    const estimator::Recipe& recipe = candidate.recipe;
    candidates.push_back({{"heads", to_string(recipe.heads)},
                          {"combiner", to_string(recipe.combiner)},
                          {"trend", recipe.trend},
                          {"sharpen", recipe.sharpen},
                          {"n_heads", candidate.tried ? candidate.n_heads : recipe.n_heads},
                          {"head_dim", recipe.head_dim},
                          {"n_chains", candidate.n_chains},
                          {"tried", candidate.tried},
                          {"error", candidate.tried ? number(candidate.error) : Json()},
                          {"weight", number(candidate.weight)},
                          {"planned", candidate.planned}});
  }
  return {{"candidates", std::move(candidates)},
          {"plan", plan_object(search->plan)},
          {"effort", number(search->effort)},
          {"effort_spent", number(search->effort_spent)},
          {"partial", search->partial}};
}

Json error_object(const std::optional<ErrorFacts>& error) {
  if (!error) return {};
  return {{"rmse", number(error->rmse)}, {"relative_rmse", number(error->relative)}};
}

void add_question(Json& document, const RegressionQuestion& question) {
  document["input"] = input_object(question.input);
  document["target"] = question.target;
  document["weight"] = question.weight ? Json(*question.weight) : Json();
  document["seed"] = question.seed;
}

Json score_object(const ScoreFacts& score) {
  return {{"rmse", number(score.rmse)},         {"relative_rmse", number(score.relative_rmse)},
          {"mae", number(score.mae)},           {"r2", number(score.r2)},
          {"coverage", number(score.coverage)}, {"width", number(score.width)}};
}

Json row_object(const PredictReport& report, Index i) {
  const auto at = static_cast<std::size_t>(i);
  Json row = {{"line", report.lines[at]},
              {"prediction", number(report.value[i])},
              {"n_eff", number(report.n_eff[i])},
              {"extrapolated", static_cast<bool>(report.extrapolated[at])}};
  if (report.interval) {
    row["lower"] = number(report.lower[i]);
    row["upper"] = number(report.upper[i]);
  }
  if (report.noise) {
    row["fit_variance"] = number(report.fit_variance[i]);
    row["noise_variance"] = number(report.noise_variance[i]);
  }
  return row;
}

Json heads_array(const estimator::InspectionFacts& facts) {
  Json list = Json::array();
  for (const estimator::HeadFacts& head : facts.heads)
    list.push_back({{"estimate", head.estimate},
                    {"weight", number(head.weight)},
                    {"head_dim", head.projection.rows()},
                    {"rank", head.rank},
                    {"share", number(head.share)},
                    {"influence", head.influence},
                    {"projection", matrix_rows(head.projection)}});
  return list;
}

Json diversity_object(const ensemble::Diversity& diversity) {
  return {{"hdi", number(diversity.hdi)},
          {"baseline", number(diversity.baseline)},
          {"baseline_sd", number(diversity.baseline_sd)},
          {"z", number(diversity.z)},
          {"bound", number(diversity.bound)},
          {"headroom", number(diversity.headroom)},
          {"n_eff_1", number(diversity.n_eff_1)},
          {"n_eff_2", number(diversity.n_eff_2)},
          {"n_eff_inf", number(diversity.n_eff_inf)}};
}

}  // namespace

void write_fit_json(std::ostream& out, const FitReport& report, const std::string& version) {
  Json document = head_of("fit", version);
  add_question(document, report.question);
  document["model"] = report.model_path;
  document["n_rows"] = report.facts.n_rows;
  document["total_weight"] = number(report.facts.total_weight);
  document["encoding"] = encoding_object(report.facts.encoding);
  document["repairs"] = repairs_array(report.facts.repairs);
  document["estimates"] = estimates_array(report.facts.estimates);
  document["search"] = search_object(report.facts.search);
  document["leave_one_out"] = error_object(report.facts.leave_one_out);
  document["held_out"] = error_object(report.facts.held_out);
  const std::string& reason = report.facts.no_folds;
  document["intervals"] = {{"residuals", reason.empty() ? "held_out" : "leave_one_out"},
                           {"reason", reason.empty() ? Json() : Json(reason)}};
  document["n_evaluations"] = report.facts.n_evaluations;
  out << dump(document) << '\n';
}

void write_predict_json(std::ostream& out, const PredictReport& report, const std::string& version) {
  Json document = head_of("predict", version);
  document["input"] = input_object(report.input);
  document["model"] = report.model_path;
  document["target"] = report.target;
  document["interval"] = number(report.interval);
  document["noise"] = report.noise ? Json(*report.noise) : Json();
  document["repairs"] = repairs_array(report.repairs);
  document["ignored"] = report.ignored;
  // The rows are written one by one: there may be many.
  std::string head = dump(document);
  head.pop_back();
  out << head << ",\"rows\":[";
  for (Index i = 0; i < report.value.size(); ++i) out << (i == 0 ? "" : ",") << dump(row_object(report, i));
  out << "]}\n";
}

void write_evaluate_json(std::ostream& out, const EvaluateReport& report, const std::string& version) {
  Json document = head_of("evaluate", version);
  add_question(document, report.question);
  document["n_rows"] = report.facts.n_rows;
  document["interval"] = report.facts.interval;
  document["encoding"] = encoding_object(report.facts.encoding);
  Json folds = Json::array();
  for (std::size_t k = 0; k < report.facts.folds.size(); ++k) {
    Json fold = score_object(report.facts.folds[k]);
    fold["n_rows"] = report.facts.fold_rows[k];
    folds.push_back(std::move(fold));
  }
  document["folds"] = std::move(folds);
  document["mean"] = score_object(report.facts.mean);
  document["sd"] = score_object(report.facts.sd);
  out << dump(document) << '\n';
}

void write_inspect_json(std::ostream& out, const InspectReport& report, const std::string& version) {
  const estimator::InspectionFacts& facts = report.facts;
  Json document = head_of("inspect", version);
  document["model"] = report.model_path;
  document["written_by"] = facts.written_by;
  document["target"] = facts.target;
  document["weight"] = facts.weight ? Json(*facts.weight) : Json();
  document["n_rows"] = facts.n_rows;
  document["total_weight"] = number(facts.total_weight);
  document["encoding"] = encoding_object(facts.encoding);
  document["columns"] = facts.columns;
  document["used_inputs"] = facts.used_inputs;
  document["estimates"] = estimates_array(facts.estimates);
  document["heads"] = heads_array(facts);
  document["trend_share"] = number(facts.trend_share);
  document["influence"] = facts.influence;
  document["diversity"] = diversity_object(facts.diversity);
  document["leave_one_out"] = error_object(facts.leave_one_out);
  document["held_out"] = error_object(facts.held_out);
  out << dump(document) << '\n';
}

}  // namespace headspan::report
