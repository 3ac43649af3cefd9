// Room experiments: ensembles under a diversity dial.

#include <fmt/format.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>

#include "headspan/experiments/colony.h"
#include "headspan/experiments/forest.h"
#include "headspan/experiments/heads.h"
#include "python/bindings/arrays.h"
#include "python/bindings/call.h"

namespace headspan::python {
namespace {

using namespace nb::literals;
using namespace experiments;

void bind_options(nb::module_& module) {
  nb::class_<AngleOptions>(module, "AngleOptions")
      .def(nb::init<>())
      .def_rw("degrees", &AngleOptions::degrees)
      .def_rw("n_heads", &AngleOptions::n_heads)
      .def_rw("head_dim", &AngleOptions::head_dim)
      .def_rw("n", &AngleOptions::n)
      .def_prop_rw(
          "kernel", [](const AngleOptions& o) { return nw::to_string(o.kernel); },
          [](AngleOptions& o, const std::string& name) {
            const auto kernel = nw::kernel_function_named(name);
            if (!kernel)
              throw ArgumentError(fmt::format("kernel: must be gaussian or softmax, not {}", name));
            o.kernel = *kernel;
          })
      .def_rw("bandwidth", &AngleOptions::bandwidth)
      .def_rw("noise_variance", &AngleOptions::noise_variance)
      .def_rw("n_points", &AngleOptions::n_points)
      .def_rw("n_replicates", &AngleOptions::n_replicates)
      .def_rw("seed", &AngleOptions::seed);
  nb::class_<LatentOptions>(module, "LatentOptions")
      .def(nb::init<>())
      .def_rw("head_dims", &LatentOptions::head_dims)
      .def_rw("budget", &LatentOptions::budget)
      .def_rw("scale", &LatentOptions::scale)
      .def_rw("rate", &LatentOptions::rate)
      .def_rw("private_noise", &LatentOptions::private_noise)
      .def_rw("n", &LatentOptions::n)
      .def_rw("bandwidth", &LatentOptions::bandwidth)
      .def_rw("noise_variance", &LatentOptions::noise_variance)
      .def_rw("n_points", &LatentOptions::n_points)
      .def_rw("n_replicates", &LatentOptions::n_replicates)
      .def_rw("seed", &LatentOptions::seed);
  nb::class_<AdditiveOptions>(module, "AdditiveOptions")
      .def(nb::init<>())
      .def_rw("n_heads", &AdditiveOptions::n_heads)
      .def_rw("frequency", &AdditiveOptions::frequency)
      .def_rw("n", &AdditiveOptions::n)
      .def_rw("bandwidth", &AdditiveOptions::bandwidth)
      .def_rw("noise_variance", &AdditiveOptions::noise_variance)
      .def_rw("n_points", &AdditiveOptions::n_points)
      .def_rw("n_replicates", &AdditiveOptions::n_replicates)
      .def_rw("seed", &AdditiveOptions::seed);
  nb::class_<ForestOptions>(module, "ForestOptions")
      .def(nb::init<>())
      .def_rw("mtry", &ForestOptions::mtry)
      .def_rw("n_inputs", &ForestOptions::n_inputs)
      .def_rw("n_trees", &ForestOptions::n_trees)
      .def_rw("n", &ForestOptions::n)
      .def_rw("least_leaf", &ForestOptions::least_leaf)
      .def_rw("bootstrap", &ForestOptions::bootstrap)
      .def_rw("noise_variance", &ForestOptions::noise_variance)
      .def_rw("n_points", &ForestOptions::n_points)
      .def_rw("n_replicates", &ForestOptions::n_replicates)
      .def_rw("seed", &ForestOptions::seed);
  nb::class_<ColonyOptions>(module, "ColonyOptions")
      .def(nb::init<>())
      .def_rw("exploration", &ColonyOptions::exploration)
      .def_prop_rw(
          "thompson", [](const ColonyOptions& o) { return o.rule == ColonyRule::thompson; },
          [](ColonyOptions& o, bool yes) { o.rule = yes ? ColonyRule::thompson : ColonyRule::pheromone; })
      .def_rw("n_scouts", &ColonyOptions::n_scouts)
      .def_rw("n_sites", &ColonyOptions::n_sites)
      .def_rw("n_steps", &ColonyOptions::n_steps)
      .def_rw("noise_sd", &ColonyOptions::noise_sd)
      .def_rw("evaporation", &ColonyOptions::evaporation)
      .def_rw("sharing", &ColonyOptions::sharing)
      .def_rw("quorum", &ColonyOptions::quorum)
      .def_rw("n_replicates", &ColonyOptions::n_replicates)
      .def_rw("seed", &ColonyOptions::seed);
}

void bind_rows(nb::module_& module) {
  nb::class_<LawRow>(module, "LawRow")
      .def_ro("dial", &LawRow::dial)
      .def_ro("v", &LawRow::v)
      .def_ro("rho", &LawRow::rho)
      .def_ro("ensemble_variance", &LawRow::ensemble_variance)
      .def_ro("law", &LawRow::law)
      .def_ro("inverse_members", &LawRow::inverse_members)
      .def_ro("rho_predicted", &LawRow::rho_predicted)
      .def_ro("rho_predicted_error", &LawRow::rho_predicted_error)
      .def_ro("law_predicted", &LawRow::law_predicted)
      .def_ro("law_predicted_error", &LawRow::law_predicted_error);
  nb::class_<Trend>(module, "Trend")
      .def_ro("change", &Trend::change)
      .def_prop_ro("direction", [](const Trend& trend) {
        return trend.direction < 0 ? "falls" : trend.direction > 0 ? "rises" : "undecided";
      });
  nb::class_<AngleRow>(module, "AngleRow")
      .def_ro("law", &AngleRow::law)
      .def_ro("centred_rho", &AngleRow::centred_rho)
      .def_ro("centred_rho_predicted", &AngleRow::centred_rho_predicted)
      .def_ro("rho_limit", &AngleRow::rho_limit)
      .def_ro("centred_rho_limit", &AngleRow::centred_rho_limit);
  nb::class_<LatentRow>(module, "LatentRow")
      .def_ro("law", &LatentRow::law)
      .def_ro("n_heads", &LatentRow::n_heads)
      .def_ro("mse", &LatentRow::mse)
      .def_ro("squared_bias", &LatentRow::squared_bias)
      .def_ro("design_variance", &LatentRow::design_variance)
      .def_ro("mse_predicted", &LatentRow::mse_predicted)
      .def_ro("squared_bias_predicted", &LatentRow::squared_bias_predicted)
      .def_ro("variance_predicted", &LatentRow::variance_predicted)
      .def_ro("left_out", &LatentRow::left_out)
      .def_ro("in_range", &LatentRow::in_range);
  nb::class_<CombinerRow>(module, "CombinerRow")
      .def_ro("mse", &CombinerRow::mse)
      .def_ro("squared_bias", &CombinerRow::squared_bias)
      .def_ro("variance", &CombinerRow::variance)
      .def_ro("squared_bias_predicted", &CombinerRow::squared_bias_predicted);
  nb::class_<ForestRow>(module, "ForestRow")
      .def_ro("law", &ForestRow::law)
      .def_ro("mtry", &ForestRow::mtry)
      .def_ro("mse", &ForestRow::mse);
  nb::class_<ColonyRow>(module, "ColonyRow")
      .def_ro("law", &ColonyRow::law)
      .def_ro("estimate_correlation", &ColonyRow::estimate_correlation)
      .def_ro("visited", &ColonyRow::visited)
      .def_ro("accuracy", &ColonyRow::accuracy)
      .def_ro("n_steps", &ColonyRow::n_steps);
}

void bind_facts(nb::module_& module) {
  nb::class_<AngleFacts>(module, "AngleFacts")
      .def_ro("rows", &AngleFacts::rows)
      .def_ro("trend", &AngleFacts::trend);
  nb::class_<LatentFacts>(module, "LatentFacts")
      .def_ro("rows", &LatentFacts::rows)
      .def_prop_ro("best", [](const LatentFacts& facts) { return facts.options.head_dims[facts.best]; })
      .def_prop_ro("best_predicted",
                   [](const LatentFacts& facts) { return facts.options.head_dims[facts.best_predicted]; });
  nb::class_<AdditiveFacts>(module, "AdditiveFacts")
      .def_ro("mean", &AdditiveFacts::mean)
      .def_ro("sum", &AdditiveFacts::sum)
      .def_ro("head_variance", &AdditiveFacts::head_variance);
  nb::class_<ForestFacts>(module, "ForestFacts")
      .def_ro("rows", &ForestFacts::rows)
      .def_ro("trend", &ForestFacts::trend);
  nb::class_<ColonyFacts>(module, "ColonyFacts")
      .def_ro("rows", &ColonyFacts::rows)
      .def_ro("trend", &ColonyFacts::trend)
      .def_ro("estimate_trend", &ColonyFacts::estimate_trend);
}

template <class Facts, class Options>
void bind_simulation(nb::module_& module, const char* name,
                     Facts (*simulate)(const Options&, const Progress&)) {
  module.def(
      name,
      [simulate](const Options& options, int threads) {
        return call(threads, [&] { return simulate(options, Progress()); });
      },
      "options"_a, "threads"_a);
}

}  // namespace

void bind_experiments(nb::module_& module) {
  bind_options(module);
  bind_rows(module);
  bind_facts(module);
  bind_simulation(module, "simulate_angles", &simulate_angles);
  bind_simulation(module, "simulate_latents", &simulate_latents);
  bind_simulation(module, "simulate_additive", &simulate_additive);
  bind_simulation(module, "simulate_forest", &simulate_forest);
  bind_simulation(module, "simulate_colony", &simulate_colony);
}

}  // namespace headspan::python
