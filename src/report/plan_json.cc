#include <nlohmann/json.hpp>
#include <ostream>

#include "headspan/report/plan_report.h"
#include "report/json_values.h"
#include "report/plan_parts.h"

namespace headspan::report {
namespace {

using Json = nlohmann::ordered_json;

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
  Json operator()(const plan::MeasuredBias& measured) const { return (*this)(measured.shared); }
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
  const auto* best = std::get_if<plan::BestBandwidth>(&law.growth);
  Json options = rules_object(report.rules);
  options["n"] = number(law.n);
  options["noise"] = number(law.noise);
  options["bias"] = std::visit(BiasObject{}, law.bias);
  options["bandwidth"] = best ? Json("optimal") : number(report.bandwidth);
  options["signal"] = best ? number(best->signal) : Json();
  options["correlation"] = std::visit(CorrelationObject{}, law.correlation);
  return options;
}

}  // namespace

void write_plan_json(std::ostream& out, const PlanReport& report, const std::string& version) {
  const plan::Allocation& found = report.allocation;
  Json near_ties = Json::array(), curve = Json::array();
  for (const std::size_t i : found.near_ties) near_ties.push_back(point_object(found.curve[i]));
  for (const plan::PlanPoint& point : found.curve) curve.push_back(point_object(point));
  Json document = {{"headspan_version", version}, {"kind", "plan"}, {"options", options_object(report)}};
  document["best"] = point_object(found.curve[found.best]);
  document["near_ties"] = std::move(near_ties);
  document["tie_margin"] = {{"value", number(found.tie_margin)},
                            {"rule", found.has_standard_error ? "standard_error" : "one_percent"}};
  document["notes"] = found.notes;
  document["reliable_to"] = found.reliable_to ? Json(*found.reliable_to) : Json();
  document["out_of_reach"] = found.out_of_reach;
  document["curve"] = std::move(curve);
  document.update(scaling_object(report.scaling));
  out << document.dump(-1, ' ', false, Json::error_handler_t::replace) << '\n';
}

}  // namespace headspan::report
