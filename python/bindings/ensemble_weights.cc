// Room ensemble: weights of members, shrinkage, laws of weights, and everything of an ensemble's predictions.

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <string>
#include <vector>

#include "headspan/ensemble/families.h"
#include "headspan/ensemble/predictions.h"
#include "headspan/ensemble/shrinkage.h"
#include "headspan/ensemble/weights.h"
#include "python/bindings/arrays.h"
#include "python/bindings/call.h"

namespace headspan::python {
namespace {

using namespace nb::literals;
using ensemble::Exchangeability;
using ensemble::Family;
using ensemble::FamilyFit;
using ensemble::FittedWeights;
using ensemble::PredictionFacts;
using ensemble::Shrunk;
using ensemble::Weighting;

Family family_named(const std::string& name) {
  for (const Family family : ensemble::kFamilies)
    if (name == to_string(family)) return family;
  throw ArgumentError(
      "family: uniform, geometric, sub_exponential, heavy_tailed or fibonacci wanted, it is " + name);
}

PredictionFacts decompose_predictions(const std::vector<Rows<double>>& predictions, const Numbers& truth,
                                      int n_bootstrap, int n_folds, std::uint64_t seed,
                                      std::optional<double> greatest_norm2, int threads) {
  ensemble::Replicates all;
  for (const Rows<double>& one : predictions) all.predictions.emplace_back(view(one));
  all.truth = view(truth);
  return call(threads, [&] {
    return ensemble::decompose_predictions(all, {n_bootstrap, n_folds, seed, greatest_norm2});
  });
}

void bind_weights(nb::module_& module) {
  nb::class_<Weighting>(module, "Weighting")
      .def_prop_ro("weights", [](const Weighting& w) { return handed_over(Vector(w.weights)); })
      .def_ro("risk", &Weighting::risk)
      .def_prop_ro("status", [](const Weighting& w) { return to_string(w.status); })
      .def_ro("residual", &Weighting::residual);
  nb::class_<Shrunk>(module, "Shrunk")
      .def_prop_ro("matrix", [](const Shrunk& s) { return handed_over(Matrix(s.matrix)); })
      .def_ro("shrinkage", &Shrunk::shrinkage)
      .def_ro("target", &Shrunk::target);
  nb::class_<FamilyFit>(module, "FamilyFit")
      .def_prop_ro("family", [](const FamilyFit& f) { return to_string(f.family); })
      .def_prop_ro("parameters",
                   [](const FamilyFit& f) {
                     nb::dict parameters;
                     const auto names = ensemble::parameter_names(f.family);
                     for (std::size_t i = 0; i < names.size(); ++i)
                       parameters[nb::str(names[i].data(), names[i].size())] =
                           f.parameters[static_cast<Index>(i)];
                     return parameters;
                   })
      .def_ro("weighting", &FamilyFit::weighting)
      .def_ro("at_edge", &FamilyFit::at_edge);
  nb::class_<Exchangeability>(module, "Exchangeability")
      .def_ro("diagonal", &Exchangeability::diagonal)
      .def_ro("off_diagonal", &Exchangeability::off_diagonal)
      .def_ro("departure", &Exchangeability::departure)
      .def_ro("p", &Exchangeability::p)
      .def_ro("holds", &Exchangeability::holds);
  nb::class_<FittedWeights>(module, "FittedWeights")
      .def_ro("name", &FittedWeights::name)
      .def_prop_ro("parameters",
                   [](const FittedWeights& f) {
                     nb::dict parameters;
                     for (const auto& [name, value] : f.parameters) parameters[name.c_str()] = value;
                     return parameters;
                   })
      .def_ro("at_edge", &FittedWeights::at_edge)
      .def_ro("weighting", &FittedWeights::weighting)
      .def_ro("risk_cv", &FittedWeights::risk_cv)
      .def_ro("gain_cv", &FittedWeights::gain_cv);
}

void bind_facts(nb::module_& module) {
  nb::class_<ensemble::Doubt>(module, "Doubt")
      .def_ro("member", &ensemble::Doubt::member)
      .def_ro("reason", &ensemble::Doubt::reason);
  nb::class_<PredictionFacts>(module, "PredictionFacts")
      .def_ro("n_points", &PredictionFacts::n_points)
      .def_ro("n_members", &PredictionFacts::n_members)
      .def_ro("n_replicates", &PredictionFacts::n_replicates)
      .def_ro("mse", &PredictionFacts::mse)
      .def_ro("mean_member_mse", &PredictionFacts::mean_member_mse)
      .def_ro("ambiguity", &PredictionFacts::ambiguity)
      .def_ro("bias2", &PredictionFacts::bias2)
      .def_ro("variance", &PredictionFacts::variance)
      .def_ro("covariance", &PredictionFacts::covariance)
      .def_ro("disparity", &PredictionFacts::disparity)
      .def_ro("diversity", &PredictionFacts::diversity)
      .def_ro("closure", &PredictionFacts::closure)
      .def_ro("linking_closure", &PredictionFacts::linking_closure)
      .def_ro("unbiased", &PredictionFacts::unbiased)
      .def_prop_ro("error_second_moments",
                   [](const PredictionFacts& f) { return handed_over(Matrix(f.error_second_moments)); })
      .def_ro("correlation_of", &PredictionFacts::correlation_of)
      .def_prop_ro("correlation",
                   [](const PredictionFacts& f) {
                     return f.correlation ? handed_over(Matrix(*f.correlation)) : nb::object(nb::none());
                   })
      .def_ro("hdi", &PredictionFacts::hdi)
      .def_ro("n_eff_2", &PredictionFacts::n_eff_2)
      .def_ro("uncorrelated", &PredictionFacts::uncorrelated)
      .def_ro("doubtful", &PredictionFacts::doubtful)
      .def_ro("alike", &PredictionFacts::alike)
      .def_prop_ro("weights",
                   [](const PredictionFacts& f) {
                     nb::dict weights;
                     for (const FittedWeights& one : f.weights) weights[one.name.c_str()] = one;
                     return weights;
                   })
      .def_ro("n_groups", &PredictionFacts::n_groups)
      .def_ro("n_folds", &PredictionFacts::n_folds)
      .def_ro("n_bootstrap", &PredictionFacts::n_bootstrap);
}

void bind_functions(nb::module_& module) {
  using Bound = std::optional<double>;
  module.def(
      "error_second_moments",
      [](const Rows<double>& predictions, const Numbers& y) {
        return handed_over(ensemble::error_second_moments(view(predictions), view(y)));
      },
      "predictions"_a, "y"_a);
  module.def(
      "risk",
      [](const Rows<double>& m, const Numbers& weights) { return ensemble::risk(view(m), view(weights)); },
      "m"_a, "weights"_a);
  module.def(
      "optimal_weights", [](const Rows<double>& m) { return ensemble::optimal_weights(view(m)); }, "m"_a);
  module.def(
      "simplex_weights",
      [](const Rows<double>& m, Bound bound) { return ensemble::simplex_weights(view(m), bound); }, "m"_a,
      "greatest_norm2"_a.none());
  module.def(
      "monotone_weights",
      [](const Rows<double>& m, Bound bound) { return ensemble::monotone_weights(view(m), bound); }, "m"_a,
      "greatest_norm2"_a.none());
  module.def(
      "ledoit_wolf",
      [](const Rows<double>& rows, bool centre) {
        return ensemble::ledoit_wolf(view(rows),
                                     centre ? ensemble::Centring::means : ensemble::Centring::none);
      },
      "rows"_a, "centre"_a);
  module.def("parameter_names", [](const std::string& family) {
    std::vector<std::string> names;
    for (const auto& name : ensemble::parameter_names(family_named(family))) names.emplace_back(name);
    return names;
  });
  module.def(
      "family_weights",
      [](const std::string& family, Index n, const Numbers& parameters) {
        return handed_over(ensemble::family_weights(family_named(family), n, view(parameters)));
      },
      "family"_a, "n"_a, "parameters"_a);
  module.def(
      "fit_family",
      [](const Rows<double>& m, const std::string& family) {
        return ensemble::fit_family(view(m), family_named(family));
      },
      "m"_a, "family"_a);
  module.def(
      "exchangeability",
      [](const Rows<double>& m, double tolerance) { return ensemble::exchangeability(view(m), tolerance); },
      "m"_a, "tolerance"_a);
  module.def(
      "exchangeability_test",
      [](const Rows<double>& errors, double level) {
        return ensemble::exchangeability_test(view(errors), level);
      },
      "errors"_a, "level"_a);
  module.def(
      "structure_loss",
      [](const Exchangeability& alike, const Numbers& weights) {
        return ensemble::structure_loss(alike, view(weights));
      },
      "alike"_a, "weights"_a);
  module.def("decompose_predictions", &decompose_predictions, "predictions"_a, "truth"_a, "n_bootstrap"_a,
             "n_folds"_a, "seed"_a, "greatest_norm2"_a.none(), "threads"_a);
}

}  // namespace

void bind_ensemble_weights(nb::module_& module) {
  bind_weights(module);
  bind_facts(module);
  bind_functions(module);
}

}  // namespace headspan::python
