// Room ensemble: decompositions of an ensemble's error, noise variances, replicates, ambiguity.

#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <vector>

#include "headspan/ensemble/decomposition.h"
#include "headspan/ensemble/replicates.h"
#include "python/bindings/arrays.h"
#include "python/bindings/call.h"

namespace headspan::python {
namespace {

using namespace nb::literals;
using ensemble::Ambiguity;
using ensemble::Decomposition;
using ensemble::HeadMoments;
using ensemble::LinkedMoments;
using ensemble::Origin;
using ensemble::Part;
using ensemble::Replicates;

/// A matrix, or none for None.
Matrix copied(const std::optional<Rows<double>>& array) { return array ? Matrix(view(*array)) : Matrix(); }

Part noise_of(double value, std::optional<double> standard_error, bool estimated) {
  return {value, estimated ? Origin::estimated : Origin::exact, standard_error};
}

Decomposition decompose(const Rows<double>& covariance, const Part& noise,
                        const std::optional<Rows<double>>& bias, const std::optional<Rows<double>>& residual,
                        const std::optional<Rows<double>>& left_out_covariance, const Numbers& weights) {
  const HeadMoments heads{view(covariance), noise, copied(bias), copied(residual),
                          copied(left_out_covariance)};
  return call(0, [&] { return ensemble::decompose(heads, view(weights)); });
}

/// `predictions` [R, H, m], as R matrices.
Replicates replicates_of(const std::vector<Rows<double>>& predictions, const Numbers& truth) {
  Replicates out;
  for (const Rows<double>& one : predictions) out.predictions.emplace_back(view(one));
  out.truth = view(truth);
  return out;
}

void bind_structs(nb::module_& module) {
  nb::class_<Part>(module, "Part")
      .def_ro("value", &Part::value)
      .def_prop_ro("origin", [](const Part& part) { return to_string(part.origin); })
      .def_ro("standard_error", &Part::standard_error);
  nb::class_<Decomposition>(module, "Decomposition")
      .def_ro("squared_bias", &Decomposition::squared_bias)
      .def_ro("variance", &Decomposition::variance)
      .def_ro("covariance", &Decomposition::covariance)
      .def_ro("mse", &Decomposition::mse)
      .def_ro("vbar", &Decomposition::vbar)
      .def_ro("cbar", &Decomposition::cbar)
      .def_ro("hdi", &Decomposition::hdi)
      .def_ro("n_points", &Decomposition::n_points)
      .def_ro("n_isolated", &Decomposition::n_isolated);
  nb::class_<LinkedMoments>(module, "LinkedMoments")
      .def_ro("squared_bias", &LinkedMoments::squared_bias)
      .def_ro("variance", &LinkedMoments::variance)
      .def_ro("mean_squared_bias", &LinkedMoments::mean_squared_bias)
      .def_ro("mean_variance", &LinkedMoments::mean_variance)
      .def_ro("cbar", &LinkedMoments::cbar)
      .def_ro("disparity", &LinkedMoments::disparity)
      .def_ro("diversity", &LinkedMoments::diversity);
  nb::class_<Ambiguity>(module, "Ambiguity")
      .def_ro("ensemble_error", &Ambiguity::ensemble_error)
      .def_ro("member_error", &Ambiguity::member_error)
      .def_ro("ambiguity", &Ambiguity::ambiguity);
}

}  // namespace

void bind_ensemble(nb::module_& module) {
  bind_structs(module);
  module.def("part", &noise_of, "value"_a, "standard_error"_a.none(), "estimated"_a);
  module.def("decompose", &decompose, "covariance"_a, "noise"_a, "bias"_a.none(), "residual"_a.none(),
             "left_out_covariance"_a.none(), "weights"_a);
  module.def(
      "leave_one_out_covariance",
      [](const Rows<double>& covariance, const Rows<double>& self_weight) {
        return handed_over(ensemble::leave_one_out_covariance(view(covariance), view(self_weight)));
      },
      "covariance"_a, "self_weight"_a);
  module.def(
      "residual_noise_variance",
      [](const Numbers& residual, double trace, double trace_wwt) {
        return ensemble::residual_noise_variance(view(residual), trace, trace_wwt);
      },
      "residual"_a, "trace"_a, "trace_wwt"_a);
  module.def(
      "neighbour_noise_variance",
      [](const Rows<double>& x, const Numbers& y, int threads) {
        return call(threads, [&] { return ensemble::neighbour_noise_variance(view(x), view(y)); });
      },
      "x"_a, "y"_a, "threads"_a);
  module.def(
      "decompose_replicates",
      [](const std::vector<Rows<double>>& predictions, const Numbers& truth, const Numbers& weights) {
        const Replicates all = replicates_of(predictions, truth);
        return call(0, [&] { return ensemble::decompose_replicates(all, view(weights)); });
      },
      "predictions"_a, "truth"_a, "weights"_a);
  module.def(
      "linked_moments",
      [](const std::vector<Rows<double>>& predictions, const Numbers& truth) {
        const Replicates all = replicates_of(predictions, truth);
        return call(0, [&] { return ensemble::linked_moments(all); });
      },
      "predictions"_a, "truth"_a);
  module.def(
      "ambiguity",
      [](const Rows<double>& predictions, const Numbers& y, const Numbers& weights) {
        return ensemble::ambiguity(view(predictions), view(y), view(weights));
      },
      "predictions"_a, "y"_a, "weights"_a);
}

}  // namespace headspan::python
