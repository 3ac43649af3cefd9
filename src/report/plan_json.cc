#include <cmath>
#include <nlohmann/json.hpp>
#include <ostream>

#include "headspan/report/plan_report.h"

namespace headspan::report {
namespace {

using Json = nlohmann::ordered_json;

Json number(double value) { return std::isfinite(value) ? Json(value) : Json(); }

Json number(const std::optional<double>& value) { return value ? number(*value) : Json(); }

Json numbers(const Vector& values) {
  Json list = Json::array();
  for (const double value : values) list.push_back(number(value));
  return list;
}

Json curve_object(const plan::MeasuredCurve& curve) {
  return {{"head_dim", numbers(curve.head_dim)},
          {"value", numbers(curve.value)},
          {"standard_error", curve.standard_error.size() > 0 ? numbers(curve.standard_error) : Json()}};
}

struct BiasObject {
  Json operator()(const plan::ExponentialBias& bias) const {
    return {{"profile", "exponential"}, {"scale", number(bias.scale)}, {"rate", number(bias.rate)}};
  }
  Json operator()(const plan::PolynomialBias& bias) const {
    return {{"profile", "polynomial"}, {"scale", number(bias.scale)}, {"power", number(bias.power)}};
  }
  Json operator()(const plan::FiniteBias& bias) const {
    return {{"profile", "finite"}, {"scale", number(bias.scale)}, {"dimension", number(bias.dimension)}};
  }
  Json operator()(const plan::MeasuredCurve& curve) const {
    return {{"profile", "table"}, {"table", curve_object(curve)}};
  }
};

struct CorrelationObject {
  Json operator()(const plan::OrthogonalHeads&) const { return {{"kind", "orthogonal"}}; }
  Json operator()(const plan::FrameBound& frame) const {
    return {{"kind", "frame"}, {"d_model", number(frame.d_model)}};
  }
  Json operator()(const plan::CommonCorrelation& common) const {
    return {{"kind", "common"}, {"rho", number(common.rho)}};
  }
  Json operator()(const plan::MeasuredCurve& curve) const {
    return {{"kind", "table"}, {"table", curve_object(curve)}};
  }
};

Json options_object(const PlanReport& report) {
  const plan::LawOptions& law = report.law;
  const plan::PairRules& rules = report.rules;
  const auto* best = std::get_if<plan::BestBandwidth>(&law.growth);
  return {{"budget", rules.budget},
          {"n", number(law.n)},
          {"noise", number(law.noise)},
          {"bias", std::visit(BiasObject{}, law.bias)},
          {"bandwidth", best ? Json("optimal") : number(report.bandwidth)},
          {"signal", best ? number(best->signal) : Json()},
          {"correlation", std::visit(CorrelationObject{}, law.correlation)},
          {"exact", rules.exact},
          {"multiple_of", rules.multiple_of},
          {"n_kv_heads", rules.n_kv_heads},
          {"d_model", rules.d_model ? Json(*rules.d_model) : Json()}};
}

Json point_object(const plan::PlanPoint& point) {
  const plan::PairError& error = point.error;
  return {{"head_dim", point.pair.head_dim},
          {"n_heads", point.pair.n_heads},
          {"mse", number(error.mse)},
          {"squared_bias", number(error.squared_bias)},
          {"variance", number(error.variance)},
          {"rho", number(error.rho)},
          {"log_growth", number(error.log_growth)},
          {"bandwidth", number(error.bandwidth)},
          {"standard_error", number(error.standard_error)},
          {"capped", error.capped},
          {"beyond_range", error.beyond_range}};
}

Json pair_object(const plan::ContinuousPair& pair) {
  return {{"head_dim", number(pair.head_dim)}, {"n_heads", number(pair.n_heads)}};
}

Json closed_object(const std::optional<plan::ClosedForm>& closed) {
  if (!closed) return {};
  Json object = pair_object(closed->pair);
  object["exact"] = closed->exact;
  object["assumption"] = closed->assumption;
  return object;
}

Json slope_object(const plan::Slope& slope) {
  return {{"value", number(slope.value)}, {"limit", number(slope.limit)},
          {"from", number(slope.from)},   {"to", number(slope.to)},
          {"n_points", slope.n_points},   {"n_beyond_range", slope.n_beyond_range}};
}

}  // namespace

void write_plan_json(std::ostream& out, const PlanReport& report, const std::string& version) {
  const plan::Allocation& found = report.allocation;
  const plan::Scaling& scaling = report.scaling;
  Json near_ties = Json::array(), curve = Json::array();
  for (const std::size_t i : found.near_ties) near_ties.push_back(point_object(found.curve[i]));
  for (const plan::PlanPoint& point : found.curve) curve.push_back(point_object(point));
  const Json document = {{"headspan_version", version},
                         {"kind", "plan"},
                         {"options", options_object(report)},
                         {"regime", scaling.regime.name},
                         {"law", scaling.regime.law},
                         {"best", point_object(found.curve[found.best])},
                         {"closed_form", closed_object(scaling.closed_form)},
                         {"optimum", pair_object(scaling.optimum)},
                         {"near_ties", std::move(near_ties)},
                         {"tie_margin",
                          {{"value", number(found.tie_margin)},
                           {"rule", found.has_standard_error ? "standard_error" : "one_percent"}}},
                         {"reliable_to", found.reliable_to ? Json(*found.reliable_to) : Json()},
                         {"out_of_reach", found.out_of_reach},
                         {"curve", std::move(curve)},
                         {"slopes",
                          {{"head_dim_on_log_n", slope_object(scaling.head_dim_on_log_n)},
                           {"log_n_heads_on_log_budget", slope_object(scaling.log_n_heads_on_log_budget)}}}};
  out << document.dump(-1, ' ', false, Json::error_handler_t::replace) << '\n';
}

}  // namespace headspan::report
