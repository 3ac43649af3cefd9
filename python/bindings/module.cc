// The extension module headspan._core. The typed, documented functions are in python/headspan; what arrives
// here has been given its final type and layout there.

#include <nanobind/nanobind.h>

#include "python/bindings/call.h"

NB_MODULE(_core, module) {
  module.doc() = "Compiled part of headspan; use the functions of the package headspan.";
  headspan::python::bind_numeric(module);
  headspan::python::bind_nw(module);
  headspan::python::bind_ensemble(module);
  headspan::python::bind_plan(module);
  headspan::python::bind_subspace(module);
  headspan::python::bind_experiments(module);
  headspan::python::bind_claims(module);
  headspan::python::bind_ensemble_weights(module);
  headspan::python::bind_estimator(module);
  headspan::python::bind_encoding(module);
}
