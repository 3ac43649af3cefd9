// Room experiments: the claims of the theory.

#include "headspan/experiments/claims.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <string>
#include <vector>

#include "python/bindings/call.h"

namespace headspan::python {

namespace nb = nanobind;
using experiments::ClaimFacts;
using experiments::Comparison;

void bind_claims(nb::module_& module) {
  using namespace nb::literals;
  nb::class_<Comparison>(module, "Comparison")
      .def_ro("what", &Comparison::what)
      .def_prop_ro("relation", [](const Comparison& comparison) { return to_string(comparison.relation); })
      .def_ro("expected", &Comparison::expected)
      .def_ro("measured", &Comparison::measured)
      .def_ro("error", &Comparison::error)
      .def_ro("margin", &Comparison::margin)
      .def_ro("effect", &Comparison::effect);
  nb::class_<ClaimFacts>(module, "Claim")
      .def_ro("id", &ClaimFacts::id)
      .def_ro("statement", &ClaimFacts::statement)
      .def_prop_ro("kind", [](const ClaimFacts& claim) { return to_string(claim.kind); })
      .def_ro("wrong", &ClaimFacts::wrong)
      .def_prop_ro("relation", [](const ClaimFacts& claim) { return to_string(claim.relation); })
      .def_ro("expected", &ClaimFacts::expected)
      .def_ro("measured", &ClaimFacts::measured)
      .def_ro("error", &ClaimFacts::error)
      .def_prop_ro("verdict", [](const ClaimFacts& claim) { return to_string(claim.verdict); })
      .def_ro("comparisons", &ClaimFacts::comparisons);
  module.def(
      "verify",
      [](const std::vector<std::string>& ids, std::uint64_t seed, bool thorough, bool mutate, int threads) {
        return call(threads, [&] { return experiments::verify(ids, {seed, thorough, mutate}).claims; });
      },
      "claims"_a, "seed"_a, "thorough"_a, "mutate"_a, "threads"_a);
  module.def("claim_ids", [] {
    std::vector<std::string> ids;
    for (const experiments::Claim& claim : experiments::claims()) ids.push_back(claim.id);
    return ids;
  });
}

}  // namespace headspan::python
