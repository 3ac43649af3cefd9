// Room plan, the pilot and model costs: documents as the command line writes them, so that both say the same.

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <functional>
#include <optional>
#include <ostream>
#include <sstream>
#include <string>
#include <vector>

#include "headspan/checkpoint/attention_shape.h"
#include "headspan/estimator/pilot.h"
#include "headspan/report/model_cost_report.h"
#include "headspan/report/pilot_report.h"
#include "headspan/report/plan_report.h"
#include "python/bindings/arrays.h"
#include "python/bindings/call.h"

namespace headspan::python {
namespace {

using namespace nb::literals;

std::string document_of(const std::function<void(std::ostream&)>& write) {
  std::ostringstream out;
  write(out);
  return out.str();
}

plan::MeasuredCurve curve_of(const Numbers& head_dim, const Numbers& value, const Numbers& standard_error) {
  return {view(head_dim), view(value), view(standard_error)};
}

/// `numbers` as python/headspan/_plan.py orders them.
plan::BiasProfile bias_of(const std::string& profile, const std::vector<double>& numbers,
                          const plan::MeasuredCurve& table) {
  if (profile == "exponential") return plan::ExponentialBias{numbers.at(0), numbers.at(1)};
  if (profile == "polynomial") return plan::PolynomialBias{numbers.at(0), numbers.at(1)};
  if (profile == "finite") return plan::FiniteBias{numbers.at(1), numbers.at(0)};
  return table;
}

plan::Correlation correlation_of(const std::string& kind, double number, const plan::MeasuredCurve& table) {
  if (kind == "orthogonal") return plan::OrthogonalHeads{};
  if (kind == "frame") return plan::FrameBound{number};
  if (kind == "common") return plan::CommonCorrelation{number};
  return table;
}

std::string plan_document(const plan::PairRules& rules, double n, double noise, const plan::BiasProfile& bias,
                          std::optional<double> bandwidth, std::optional<double> signal,
                          const plan::Correlation& correlation) {
  return call(0, [&] {
    report::PlanReport report;
    report.rules = rules;
    report.bandwidth = bandwidth.value_or(1.0);
    report.law = {bias, plan::BestBandwidth{signal.value_or(plan::greatest_bias(bias))}, correlation, noise,
                  n};
    if (bandwidth) report.law.growth = plan::FixedGrowth{plan::log_growth(*bandwidth)};
    const plan::ErrorLaw law(report.law);
    report.allocation = plan::allocate(law, rules);
    report.scaling = plan::scaling(law, rules);
    return document_of([&](std::ostream& out) { write_plan_json(out, report, HEADSPAN_VERSION); });
  });
}

std::string plan_data_document(const Rows<double>& x, const Numbers& y, const plan::PairRules& rules,
                               std::optional<double> at_n, Index n_draws, std::uint64_t seed, int threads) {
  return call(threads, [&] {
    report::PilotReport report;
    for (Index j = 0; j < view(x).cols(); ++j) report.x.push_back(std::to_string(j));
    report.rules = rules;
    report.options.seed = seed;
    report.pilot = estimator::run_pilot(view(x), view(y), rules, report.options);
    report.plan =
        estimator::plan_from(report.pilot, rules, static_cast<double>(report.pilot.n), report.options);
    if (at_n) report.at_n = estimator::plan_from(report.pilot, rules, *at_n, report.options);
    if (n_draws > 0) report.check = estimator::check_grid(view(x), view(y), report.plan, {n_draws, ~seed});
    return document_of([&](std::ostream& out) { write_pilot_json(out, report, HEADSPAN_VERSION); });
  });
}

std::string plan_model_document(const std::string& config, std::optional<Index> budget,
                                const plan::PairRules& rules, std::optional<Index> n_kv_heads, Index context,
                                Index bytes) {
  return call(0, [&] {
    report::ModelCostReport report;
    report.model = checkpoint::read_attention_shape(config);
    report.rules = rules;
    report.rules.budget = budget.value_or(report.model.n_heads.value * report.model.head_dim.value);
    report.rules.exact = rules.exact || !budget;
    const checkpoint::AttentionShape& model = report.model;
    report.size = {.d_model = model.d_model.value,
                   .n_layers = model.n_layers.value,
                   .n_stored_layers = model.n_stored_layers.value};
    if (n_kv_heads || model.n_kv_heads.value != model.n_heads.value)
      report.size.n_kv_heads = n_kv_heads.value_or(model.n_kv_heads.value);
    report.size.context = context;
    report.size.bytes = bytes;
    report.pairs = plan::attention_costs(report.size, report.rules);
    return document_of([&](std::ostream& out) { write_model_cost_json(out, report, HEADSPAN_VERSION); });
  });
}

}  // namespace

void bind_plan(nb::module_& module) {
  nb::class_<plan::PairRules>(module, "PairRules")
      .def("__init__", [](plan::PairRules* made, Index budget, bool exact, Index multiple_of,
                          Index n_kv_heads, std::optional<Index> d_model) {
        new (made) plan::PairRules{budget, exact, multiple_of, n_kv_heads, d_model};
      });
  nb::class_<plan::MeasuredCurve>(module, "MeasuredCurve")
      .def("__init__",
           [](plan::MeasuredCurve* made, const Numbers& head_dim, const Numbers& value,
              const Numbers& error) { new (made) plan::MeasuredCurve(curve_of(head_dim, value, error)); });
  module.def(
      "plan_document",
      [](const plan::PairRules& rules, double n, double noise, const std::string& profile,
         const std::vector<double>& numbers, const plan::MeasuredCurve& bias_table,
         std::optional<double> bandwidth, std::optional<double> signal, const std::string& kind, double rho,
         const plan::MeasuredCurve& rho_table) {
        return plan_document(rules, n, noise, bias_of(profile, numbers, bias_table), bandwidth, signal,
                             correlation_of(kind, rho, rho_table));
      },
      "rules"_a, "n"_a, "noise"_a, "profile"_a, "numbers"_a, "bias_table"_a, "bandwidth"_a.none(),
      "signal"_a.none(), "kind"_a, "rho"_a, "rho_table"_a);
  module.def("plan_data_document", &plan_data_document, "x"_a, "y"_a, "rules"_a, "at_n"_a.none(), "n_draws"_a,
             "seed"_a, "threads"_a);
  module.def("plan_model_document", &plan_model_document, "config"_a, "budget"_a.none(), "rules"_a,
             "n_kv_heads"_a.none(), "context"_a, "bytes"_a);
}

}  // namespace headspan::python
