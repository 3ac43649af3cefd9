// Room estimator: multi-head regression and classification of tables, and models as plain numbers and arrays.

#include <fmt/format.h>
#include <nanobind/stl/function.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "headspan/estimator/auto.h"
#include "headspan/estimator/classes.h"
#include "headspan/estimator/deviation.h"
#include "headspan/estimator/fit.h"
#include "headspan/estimator/intervals.h"
#include "headspan/estimator/predict.h"
#include "headspan/estimator/variance.h"
#include "python/bindings/arrays.h"
#include "python/bindings/call.h"
#include "python/bindings/state.h"

namespace headspan::python {
namespace {

using namespace nb::literals;
using namespace estimator;

HeadKind heads_named(const std::string& name) {
  if (const auto found = head_kind_named(name)) return *found;
  throw ArgumentError(fmt::format("heads: '{}' is none of random, principal, learned, diagonal", name));
}

Combiner combiner_of(const std::string& name) {
  if (const auto found = combiner_named(name)) return *found;
  throw ArgumentError(fmt::format("combiner: '{}' is none of mean, sum, simplex, least_squares", name));
}

nb::object copied(const Vector& values) { return handed_over(Vector(values)); }
nb::object copied(const Matrix& values) { return handed_over(Matrix(values)); }

Vector vector_in(const nb::dict& state, const char* key) { return view(nb::cast<Numbers>(state[key])); }
Matrix matrix_in(const nb::dict& state, const char* key) {
  return view<double>(nb::cast<Rows<double>>(state[key]));
}

template <class T>
T value_in(const nb::dict& state, const char* key) {
  return nb::cast<T>(state[key]);
}

/// A list of dicts, one for each of `items`.
template <class T, class State>
nb::list listed(const std::vector<T>& items, const State& state_of) {
  nb::list out;
  for (const T& item : items) out.append(state_of(item));
  return out;
}

template <class Read>
auto each_in(const nb::dict& state, const char* key, const Read& read) {
  std::vector<decltype(read(nb::dict()))> out;
  for (const nb::handle one : nb::cast<nb::list>(state[key])) out.push_back(read(nb::cast<nb::dict>(one)));
  return out;
}

nb::dict state_of_recipe(const Recipe& recipe) {
  nb::dict out;
  out["trend"] = recipe.trend;
  out["heads"] = to_string(recipe.heads);
  out["combiner"] = to_string(recipe.combiner);
  out["n_heads"] = recipe.n_heads;
  out["head_dim"] = recipe.head_dim;
  out["shrinkage"] = recipe.shrinkage;
  out["diversity_penalty"] = recipe.diversity_penalty;
  out["iterations"] = recipe.iterations;
  out["sharpen"] = recipe.sharpen;
  return out;
}

Recipe recipe_from(const nb::dict& state) {
  return {
      value_in<bool>(state, "trend"),
      heads_named(value_in<std::string>(state, "heads")),
      combiner_of(value_in<std::string>(state, "combiner")),
      value_in<Index>(state, "n_heads"),
      value_in<Index>(state, "head_dim"),
      value_in<double>(state, "shrinkage"),
      value_in<double>(state, "diversity_penalty"),
      value_in<int>(state, "iterations"),
      state.contains("sharpen") && value_in<bool>(state, "sharpen")};  // pickles of older versions lack it
}

nb::dict state_of_head(const FittedHead& head) {
  nb::dict out;
  out["projection"] = copied(head.projection);
  out["weight"] = head.weight;
  out["loneliest"] = head.loneliest;
  out["lowest"] = head.lowest;
  out["highest"] = head.highest;
  out["sharpness"] = head.sharpness;
  return out;
}

FittedHead head_from(const nb::dict& state) {
  FittedHead head{matrix_in(state, "projection"), value_in<double>(state, "weight"),
                  value_in<double>(state, "loneliest")};
  if (!state.contains("lowest")) return head;  // pickles of older versions lack what follows
  head.lowest = value_in<double>(state, "lowest");
  head.highest = value_in<double>(state, "highest");
  head.sharpness = state.contains("sharpness") ? value_in<double>(state, "sharpness")
                                               : std::numeric_limits<double>::quiet_NaN();
  return head;
}

nb::dict state_of_estimate(const MultiHead& estimate) {
  nb::dict out;
  out["recipe"] = state_of_recipe(estimate.recipe);
  out["weight"] = estimate.weight;
  out["intercept"] = estimate.intercept;
  out["trend"] = copied(estimate.trend);
  out["ridge"] = estimate.ridge;
  out["heads"] = listed(estimate.heads, state_of_head);
  out["values"] = copied(estimate.values);
  return out;
}

MultiHead estimate_from(const nb::dict& state) {
  return {recipe_from(value_in<nb::dict>(state, "recipe")),
          value_in<double>(state, "weight"),
          value_in<double>(state, "intercept"),
          vector_in(state, "trend"),
          value_in<double>(state, "ridge"),
          each_in(state, "heads", head_from),
          matrix_in(state, "values")};
}

nb::dict state_of_member(const Member& member) {
  nb::dict out;
  out["rows"] = nb::cast(member.rows);
  out["estimates"] = listed(member.estimates, state_of_estimate);
  return out;
}

Member member_from(const nb::dict& state) {
  return {value_in<std::vector<Index>>(state, "rows"), each_in(state, "estimates", estimate_from)};
}

nb::dict state_of(const Model& model) {
  nb::dict out;
  out["version"] = kStateVersion;
  out["input_center"] = copied(model.input_center);
  out["input_scale"] = copied(model.input_scale);
  out["inputs"] = nb::cast(model.inputs);
  out["target_center"] = model.target_center;
  out["target_scale"] = model.target_scale;
  out["keys"] = copied(model.keys);
  out["target"] = copied(model.target);
  out["frequency"] = copied(model.frequency);
  out["ensemble"] = state_of_member(model.ensemble);
  out["folds"] = listed(model.folds, state_of_member);
  out["fold_of_row"] = nb::cast(model.fold_of_row);
  out["fold_residual"] = copied(model.fold_residual);
  out["loo_residual"] = copied(model.loo_residual);
  return out;
}

Model model_from(const nb::dict& state) {
  check_version(state);
  return {vector_in(state, "input_center"),
          vector_in(state, "input_scale"),
          value_in<std::vector<Index>>(state, "inputs"),
          value_in<double>(state, "target_center"),
          value_in<double>(state, "target_scale"),
          matrix_in(state, "keys"),
          vector_in(state, "target"),
          vector_in(state, "frequency"),
          member_from(value_in<nb::dict>(state, "ensemble")),
          each_in(state, "folds", member_from),
          value_in<std::vector<Index>>(state, "fold_of_row"),
          vector_in(state, "fold_residual"),
          vector_in(state, "loo_residual")};
}

nb::dict state_of_classes(const ClassModel& model) {
  nb::dict out;
  out["version"] = kStateVersion;
  out["indicators"] = listed(model.indicators, state_of);
  out["share"] = copied(model.share);
  out["n_rows"] = model.n_rows;
  out["n_evaluations"] = model.n_evaluations;
  return out;
}

ClassModel classes_from(const nb::dict& state) {
  check_version(state);
  return {each_in(state, "indicators", model_from), vector_in(state, "share"),
          value_in<double>(state, "n_rows"), value_in<Index>(state, "n_evaluations")};
}

using Progress = std::optional<std::function<void()>>;

/// [rows] the left-out prediction of every row given; NaN for rows of weight 0.
nb::object left_out_by_row(const FitResult& found) {
  const Vector left_out = left_out_predictions(found.model);
  Vector by_row(std::ssize(found.place));
  for (Index i = 0; i < by_row.size(); ++i) {
    const Index at = found.place[static_cast<std::size_t>(i)];
    by_row[i] = at < 0 ? std::numeric_limits<double>::quiet_NaN() : left_out[at];
  }
  return handed_over(std::move(by_row));
}

/// The model, the left-out prediction of every row, evaluations.
nb::tuple fitted_of(FitResult found) {
  nb::object left_out = left_out_by_row(found);
  return nb::make_tuple(std::move(found.model), left_out, found.n_evaluations);
}

nb::tuple fit_table(const Rows<double>& x, const Numbers& y, const Numbers& row_weight,
                    const FitOptions& options, int threads, const Progress& progress) {
  return fitted_of(call(threads, progress, [&] { return fit(view(x), view(y), view(row_weight), options); }));
}

nb::dict report_of(const Candidate& candidate) {
  nb::dict out;
  out["recipe"] = state_of_recipe(candidate.recipe);
  out["n_chains"] = candidate.n_chains;
  out["cost"] = candidate.cost;
  out["tried"] = candidate.tried;
  out["n_heads"] = candidate.n_heads;
  out["error"] = candidate.error;
  out["weight"] = candidate.weight;
  out["planned"] = candidate.planned;
  return out;
}

/// As fit_table(); the candidates, the held-out error of their mixture, and whether the clock ended it.
nb::tuple fit_auto_table(const Rows<double>& x, const Numbers& y, const Numbers& row_weight,
                         const AutoOptions& options, int threads, const Progress& progress) {
  AutoResult found =
      call(threads, progress, [&] { return fit_auto(view(x), view(y), view(row_weight), options); });
  return nb::make_tuple(fitted_of(std::move(found.fit)),
                        nb::make_tuple(listed(found.candidates, report_of), found.error, found.partial));
}

template <class Options>
ClassModel fit_labels(const Rows<double>& x, const std::vector<Index>& label, Index n_classes,
                      const Numbers& row_weight, const Options& options, int threads,
                      const Progress& progress) {
  return call(threads, progress,
              [&] { return fit_classes(view(x), label, n_classes, view(row_weight), options); });
}

nb::object flags(const std::vector<bool>& values) {
  auto owned = std::make_unique<bool[]>(values.size());
  std::copy(values.begin(), values.end(), owned.get());
  bool* data = owned.get();
  const nb::capsule owner(owned.release(), [](void* p) noexcept { delete[] static_cast<bool*>(p); });
  return nb::cast(nb::ndarray<nb::numpy, bool>(data, {values.size()}, owner));
}

nb::tuple predict_table(const Model& model, const Rows<double>& x, int threads) {
  Predictions found = call(threads, [&] { return predict(model, view(x)); });
  return nb::make_tuple(handed_over(std::move(found.value)), handed_over(std::move(found.n_eff)),
                        flags(found.extrapolated));
}

nb::tuple predict_bounds(const Model& model, const Rows<double>& x, double coverage, int threads) {
  Intervals found = call(threads, [&] { return predict_intervals(model, view(x), coverage); });
  return nb::make_tuple(handed_over(std::move(found.lower)), handed_over(std::move(found.upper)));
}

nb::tuple predict_variances(const Model& model, const Rows<double>& x, const std::string& noise,
                            int threads) {
  const std::optional<Noise> which = noise_named(noise);
  if (!which) throw ArgumentError(fmt::format("noise: '{}' is neither constant nor local", noise));
  PredictionVariance found = call(threads, [&] { return prediction_variance(model, view(x), *which); });
  return nb::make_tuple(handed_over(std::move(found.fit)), handed_over(std::move(found.noise)));
}

void bind_options(nb::module_& module) {
  nb::class_<FitOptions>(module, "FitOptions")
      .def(nb::init<>())
      .def_prop_rw(
          "trend", [](const FitOptions& o) { return o.recipe.trend; },
          [](FitOptions& o, bool value) { o.recipe.trend = value; })
      .def_prop_rw(
          "heads", [](const FitOptions& o) { return to_string(o.recipe.heads); },
          [](FitOptions& o, const std::string& name) { o.recipe.heads = heads_named(name); })
      .def_prop_rw(
          "combiner", [](const FitOptions& o) { return to_string(o.recipe.combiner); },
          [](FitOptions& o, const std::string& name) { o.recipe.combiner = combiner_of(name); })
      .def_prop_rw(
          "n_heads", [](const FitOptions& o) { return o.recipe.n_heads; },
          [](FitOptions& o, Index value) { o.recipe.n_heads = value; })
      .def_prop_rw(
          "head_dim", [](const FitOptions& o) { return o.recipe.head_dim; },
          [](FitOptions& o, Index value) { o.recipe.head_dim = value; })
      .def_prop_rw(
          "shrinkage", [](const FitOptions& o) { return o.recipe.shrinkage; },
          [](FitOptions& o, double value) { o.recipe.shrinkage = value; })
      .def_prop_rw(
          "diversity_penalty", [](const FitOptions& o) { return o.recipe.diversity_penalty; },
          [](FitOptions& o, double value) { o.recipe.diversity_penalty = value; })
      .def_prop_rw(
          "iterations", [](const FitOptions& o) { return o.recipe.iterations; },
          [](FitOptions& o, int value) { o.recipe.iterations = value; })
      .def_prop_rw(
          "sharpen", [](const FitOptions& o) { return o.recipe.sharpen; },
          [](FitOptions& o, bool value) { o.recipe.sharpen = value; })
      .def_rw("seed", &FitOptions::seed)
      .def_rw("n_folds", &FitOptions::n_folds)
      .def_rw("learn_rows", &FitOptions::learn_rows);
}

void bind_auto_options(nb::module_& module) {
  nb::class_<AutoOptions>(module, "AutoOptions")
      .def(nb::init<>())
      .def_rw("seed", &AutoOptions::seed)
      .def_rw("n_folds", &AutoOptions::n_folds)
      .def_rw("effort", &AutoOptions::effort)
      .def_rw("learn_rows", &AutoOptions::learn_rows)
      .def_rw("seconds", &AutoOptions::seconds, nb::arg().none());
}

template <class Options>
void bind_fit_classes(nb::module_& module) {
  module.def("fit_classes", &fit_labels<Options>, "x"_a, "label"_a, "n_classes"_a, "row_weight"_a,
             "options"_a, "threads"_a, "progress"_a.none());
}

/// Of the first estimate.
nb::dict recipe_of(const Model& model) { return state_of_recipe(model.ensemble.estimates.at(0).recipe); }

void bind_models(nb::module_& module) {
  nb::class_<Model>(module, "Regression")
      .def_prop_ro("recipe", &recipe_of)
      .def("predict", &predict_table, "x"_a, "threads"_a)
      .def("intervals", &predict_bounds, "x"_a, "coverage"_a, "threads"_a)
      .def("variance", &predict_variances, "x"_a, "noise"_a, "threads"_a)
      .def(
          "deviation",
          [](const Model& model, const Rows<double>& x, int threads) {
            return handed_over(call(threads, [&] { return predictive_deviation(model, view(x)); }));
          },
          "x"_a, "threads"_a)
      .def("__getstate__", &state_of)
      .def("__setstate__",
           [](Model& model, const nb::dict& state) { new (&model) Model(model_from(state)); });
  nb::class_<ClassModel>(module, "ClassModel")
      .def_ro("n_evaluations", &ClassModel::n_evaluations)
      .def(
          "probabilities",
          [](const ClassModel& model, const Rows<double>& x, int threads) {
            return handed_over(call(threads, [&] { return predict_probabilities(model, view(x)); }));
          },
          "x"_a, "threads"_a)
      .def("__getstate__", &state_of_classes)
      .def("__setstate__",
           [](ClassModel& model, const nb::dict& state) { new (&model) ClassModel(classes_from(state)); });
}

}  // namespace

void bind_estimator(nb::module_& module) {
  bind_options(module);
  bind_auto_options(module);
  bind_models(module);
  module.def("fit_table", &fit_table, "x"_a, "y"_a, "row_weight"_a, "options"_a, "threads"_a,
             "progress"_a.none());
  module.def("fit_auto", &fit_auto_table, "x"_a, "y"_a, "row_weight"_a, "options"_a, "threads"_a,
             "progress"_a.none());
  bind_fit_classes<FitOptions>(module);
  bind_fit_classes<AutoOptions>(module);
}

}  // namespace headspan::python
