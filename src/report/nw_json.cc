#include <nlohmann/json.hpp>
#include <ostream>

#include "headspan/report/nw_report.h"
#include "report/input_facts.h"
#include "report/json_values.h"
#include "report/nw_inputs.h"

namespace headspan::report {
namespace {

using Json = nlohmann::ordered_json;

std::string dump(const Json& value) { return value.dump(-1, ' ', false, Json::error_handler_t::replace); }

bool has_categories(const NwReport& report) { return !report.categories.columns.empty(); }

Json categories_array(const NwCategories& categories) {
  Json list = Json::array();
  for (std::size_t k = 0; k < categories.columns.size(); ++k)
    list.push_back({{"column", categories.columns[k].name},
                    {"ordered", categories.columns[k].is_ordered},
                    {"levels", categories.columns[k].levels},
                    {"kernel", to_string(categories.kernels[k])}});
  return list;
}

Json options_object(const NwReport& report) {
  const auto& selection = report.selection_options;
  Json options = {{"kernel", to_string(report.kernel.function)},
                  {"shape", to_string(report.kernel.shape)},
                  {"bandwidth", selection ? Json("auto") : numbers(report.bandwidth)},
                  {"criterion", selection ? Json(to_string(selection->criterion)) : Json()},
                  {"n_starts", selection ? Json(selection->n_starts) : Json()},
                  {"seed", selection ? Json(selection->seed) : Json()},
                  {"loo", report.leave_one_out.has_value()},
                  {"nearest", report.nearest_if_none},
                  {"relative_error", report.relative_error}};
  if (has_categories(report))
    options["lambda"] = selection ? Json("auto") : numbers(report.categories.lambda);
  return options;
}

Json selection_object(const NwReport& report) {
  const std::optional<nw::BandwidthSelection>& selection = report.selection;
  if (!selection) return {};
  Json minima = Json::array();
  for (const nw::BandwidthMinimum& minimum : selection->minima) {
    minima.push_back({{"bandwidth", numbers(minimum.bandwidth)}, {"value", number(minimum.value)}});
    if (has_categories(report)) minima.back()["lambda"] = numbers(minimum.lambda);
  }
  Json object = {{"value", number(selection->value)},
                 {"irrelevant", selection->irrelevant},
                 {"at_edge", selection->at_edge},
                 {"n_evaluations", selection->n_evaluations},
                 {"minima", std::move(minima)}};
  if (has_categories(report)) object["irrelevant_category"] = selection->irrelevant_category;
  return object;
}

Json point_inputs(const NwReport& report, const std::vector<InputPlace>& inputs, Index i) {
  Json x = Json::array();
  for (const InputPlace& input : inputs)
    x.push_back(input.is_category ? Json(level_at(report.categories, i, input.at))
                                  : number(report.points(i, static_cast<Index>(input.at))));
  return x;
}

Json point_object(const NwReport& report, const std::vector<InputPlace>& inputs, Index i) {
  const auto at = static_cast<std::size_t>(i);
  Json point = {{"line", report.lines[at]},
                {"x", point_inputs(report, inputs, i)},
                {"fit", number(report.estimate.output(i, 0))},
                {"n_eff", number(report.estimate.n_eff[i])},
                {"status", to_string(report.estimate.status[at])}};
  if (report.leave_one_out) {
    point["loo_fit"] = number(report.leave_one_out->output(i, 0));
    point["loo_status"] = to_string(report.leave_one_out->status[at]);
  }
  return point;
}

// All members but the points, which are written one by one: there may be many.
Json head_object(const NwReport& report, const std::string& version) {
  const auto& scores = report.scores;
  const auto score = [&](auto member) { return scores ? number((*scores).*member) : Json(); };
  Json head = {{"headspan_version", version},
               {"kind", "nw"},
               {"input", input_object(report.input)},
               {"at", report.at ? input_object(*report.at) : Json()},
               {"x", report.x},
               {"y", report.y},
               {"options", options_object(report)},
               {"n", report.n},
               {"bandwidth", numbers(report.bandwidth)},
               {"loo", score(&nw::SmootherScores::loo)},
               {"gcv", score(&nw::SmootherScores::gcv)},
               {"aicc", score(&nw::SmootherScores::aicc)},
               {"trace", score(&nw::SmootherScores::trace)},
               {"trace_wwt", score(&nw::SmootherScores::trace_wwt)},
               {"sigma2", score(&nw::SmootherScores::sigma2)},
               {"n_loo", scores ? Json(report.n - scores->n_isolated) : Json()},
               {"n_isolated", scores ? Json(scores->n_isolated) : Json()},
               {"selection", selection_object(report)}};
  if (has_categories(report)) {
    head["categories"] = categories_array(report.categories);
    head["lambda"] = numbers(report.categories.lambda);
  }
  return head;
}

}  // namespace

void write_nw_json(std::ostream& out, const NwReport& report, const std::string& version) {
  std::string head = dump(head_object(report, version));
  head.pop_back();
  out << head << ",\"points\":[";
  const std::vector<InputPlace> inputs = input_places(report);
  for (Index i = 0; i < report.points.rows(); ++i)
    out << (i == 0 ? "" : ",") << dump(point_object(report, inputs, i));
  out << "]}\n";
}

}  // namespace headspan::report
