#include <nlohmann/json.hpp>
#include <ostream>

#include "headspan/report/simulate_report.h"
#include "report/json_values.h"

namespace headspan::report {
namespace {

using Json = nlohmann::ordered_json;
using ensemble::Part;

/// "rho" and "rho_standard_error".
void put(Json& object, const std::string& name, const Part& part) {
  object[name] = number(part.value);
  object[name + "_standard_error"] = number(part.standard_error);
}

Json law_object(const experiments::LawRow& row) {
  Json object = {{"dial", number(row.dial)}};
  put(object, "v", row.v);
  put(object, "rho", row.rho);
  object["rho_predicted"] = number(row.rho_predicted);
  object["rho_predicted_standard_error"] = number(row.rho_predicted_error);
  put(object, "ensemble_variance", row.ensemble_variance);
  put(object, "law", row.law);
  object["law_predicted"] = number(row.law_predicted);
  object["law_predicted_standard_error"] = number(row.law_predicted_error);
  object["inverse_members"] = number(row.inverse_members);
  return object;
}

Json trend_object(const experiments::Trend& trend) {
  Json object;
  put(object, "change", trend.change);
  object["direction"] = trend.direction < 0 ? "falls" : trend.direction > 0 ? "rises" : "undecided";
  return object;
}

Json row_object(const experiments::AngleRow& row) {
  Json object = law_object(row.law);
  put(object, "centred_rho", row.centred_rho);
  object["centred_rho_predicted"] = number(row.centred_rho_predicted);
  object["rho_limit"] = number(row.rho_limit);
  object["centred_rho_limit"] = number(row.centred_rho_limit);
  return object;
}

Json row_object(const experiments::LatentRow& row) {
  Json object = law_object(row.law);
  object["n_heads"] = row.n_heads;
  put(object, "mse", row.mse);
  put(object, "squared_bias", row.squared_bias);
  put(object, "design_variance", row.design_variance);
  object["mse_predicted"] = number(row.mse_predicted);
  object["squared_bias_predicted"] = number(row.squared_bias_predicted);
  object["variance_predicted"] = number(row.variance_predicted);
  put(object, "left_out", row.left_out);
  object["in_range"] = row.in_range;
  return object;
}

Json row_object(const experiments::ForestRow& row) {
  Json object = law_object(row.law);
  object["mtry"] = row.mtry;
  put(object, "mse", row.mse);
  return object;
}

Json row_object(const experiments::ColonyRow& row) {
  Json object = law_object(row.law);
  put(object, "estimate_correlation", row.estimate_correlation);
  object["visited"] = number(row.visited);
  put(object, "accuracy", row.accuracy);
  object["n_steps"] = number(row.n_steps);
  return object;
}

template <class Rows>
Json row_list(const Rows& rows) {
  Json list = Json::array();
  for (const auto& row : rows) list.push_back(row_object(row));
  return list;
}

/// The members that follow the version.
struct Members {
  Json operator()(const experiments::AngleFacts& facts) const {
    const auto& o = facts.options;
    return {{"experiment", "heads"},
            {"design", "angles"},
            {"options",
             {{"degrees", o.degrees},
              {"n_heads", o.n_heads},
              {"head_dim", o.head_dim},
              {"n", o.n},
              {"kernel", nw::to_string(o.kernel)},
              {"bandwidth", o.bandwidth},
              {"noise_variance", o.noise_variance},
              {"n_points", o.n_points},
              {"n_replicates", o.n_replicates},
              {"seed", o.seed}}},
            {"rows", row_list(facts.rows)},
            {"trend", trend_object(facts.trend)}};
  }
  Json operator()(const experiments::LatentFacts& facts) const {
    const auto& o = facts.options;
    return {{"experiment", "heads"},
            {"design", "latents"},
            {"options",
             {{"head_dims", o.head_dims},
              {"budget", o.budget},
              {"scale", o.scale},
              {"rate", o.rate},
              {"private_noise", o.private_noise},
              {"n", o.n},
              {"bandwidth", o.bandwidth},
              {"noise_variance", o.noise_variance},
              {"n_points", o.n_points},
              {"n_replicates", o.n_replicates},
              {"seed", o.seed}}},
            {"rows", row_list(facts.rows)},
            {"best", facts.rows[facts.best].law.dial},
            {"best_predicted", facts.rows[facts.best_predicted].law.dial}};
  }
  Json operator()(const experiments::AdditiveFacts& facts) const {
    const auto& o = facts.options;
    Json members = {{"experiment", "heads"},
                    {"design", "additive"},
                    {"options",
                     {{"n_heads", o.n_heads},
                      {"frequency", o.frequency},
                      {"n", o.n},
                      {"bandwidth", o.bandwidth},
                      {"noise_variance", o.noise_variance},
                      {"n_points", o.n_points},
                      {"n_replicates", o.n_replicates},
                      {"seed", o.seed}}},
                    {"rows", {combiner_object("mean", facts.mean), combiner_object("sum", facts.sum)}}};
    put(members, "head_variance", facts.head_variance);
    return members;
  }
  Json operator()(const experiments::ForestFacts& facts) const {
    const auto& o = facts.options;
    return {{"experiment", "forest"},
            {"design", Json()},
            {"options",
             {{"mtry", o.mtry},
              {"n_inputs", o.n_inputs},
              {"n_trees", o.n_trees},
              {"n", o.n},
              {"least_leaf", o.least_leaf},
              {"bootstrap", o.bootstrap},
              {"noise_variance", o.noise_variance},
              {"n_points", o.n_points},
              {"n_replicates", o.n_replicates},
              {"seed", o.seed}}},
            {"rows", row_list(facts.rows)},
            {"trend", trend_object(facts.trend)}};
  }
  Json operator()(const experiments::ColonyFacts& facts) const {
    const auto& o = facts.options;
    return {{"experiment", "colony"},
            {"design", Json()},
            {"options",
             {{"exploration", o.exploration},
              {"rule", to_string(o.rule)},
              {"n_scouts", o.n_scouts},
              {"n_sites", o.n_sites},
              {"n_steps", o.n_steps},
              {"noise_sd", o.noise_sd},
              {"evaporation", o.evaporation},
              {"sharing", o.sharing},
              {"quorum", o.quorum},
              {"n_replicates", o.n_replicates},
              {"seed", o.seed}}},
            {"rows", row_list(facts.rows)},
            {"trend", trend_object(facts.trend)},
            {"estimate_trend", trend_object(facts.estimate_trend)}};
  }

 private:
  static Json combiner_object(const char* name, const experiments::CombinerRow& row) {
    Json object = {{"combiner", name}};
    put(object, "mse", row.mse);
    put(object, "squared_bias", row.squared_bias);
    put(object, "variance", row.variance);
    object["squared_bias_predicted"] = number(row.squared_bias_predicted);
    return object;
  }
};

}  // namespace

void write_simulate_json(std::ostream& out, const SimulateReport& report, const std::string& version) {
  Json document = {{"headspan_version", version}, {"kind", "simulate"}};
  document.update(std::visit(Members{}, report));
  out << document.dump(-1, ' ', false, Json::error_handler_t::replace) << '\n';
}

}  // namespace headspan::report
