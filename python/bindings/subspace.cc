// Room subspace: frames that make heads diverse, and the penalty that pushes them apart.

#include <cstdint>

#include "headspan/subspace/frames.h"
#include "python/bindings/arrays.h"
#include "python/bindings/call.h"

namespace headspan::python {
namespace {

using namespace nb::literals;
using subspace::DiverseFrames;
using subspace::DiversityPenalty;

/// Results with their frames, which Python wants as arrays.
nb::object diverse_frames(Index n_heads, Index head_dim, Index d, std::uint64_t seed, double tolerance,
                          int max_evaluations) {
  DiverseFrames found = call(0, [&] {
    return subspace::diverse_frames(n_heads, head_dim, d, {seed, tolerance, max_evaluations});
  });
  return nb::make_tuple(handed_over(std::move(found.frames)), found.mean_overlap, found.bound, found.gap,
                        to_string(found.status), found.n_evaluations);
}

}  // namespace

void bind_subspace(nb::module_& module) {
  module.def("diverse_frames", &diverse_frames, "n_heads"_a, "head_dim"_a, "d"_a, "seed"_a, "tolerance"_a,
             "max_evaluations"_a);
  module.def(
      "random_frames",
      [](Index n_heads, Index head_dim, Index d, std::uint64_t seed) {
        return handed_over(call(0, [&] { return subspace::random_frames(n_heads, head_dim, d, seed); }));
      },
      "n_heads"_a, "head_dim"_a, "d"_a, "seed"_a);
  module.def(
      "equal_angle_frames",
      [](Index n_heads, Index head_dim, double cosine) {
        return handed_over(subspace::equal_angle_frames(n_heads, head_dim, cosine));
      },
      "n_heads"_a, "head_dim"_a, "cosine"_a);
  module.def("tight_frame_exists", &subspace::tight_frame_exists, "n_heads"_a, "head_dim"_a, "d"_a);
  module.def("least_mean_overlap", &subspace::least_mean_overlap, "n_heads"_a, "head_dim"_a, "d"_a);
  module.def(
      "diversity_penalty",
      [](const Rows<double>& weights, Index n_heads) {
        DiversityPenalty penalty =
            call(0, [&] { return subspace::diversity_penalty(view(weights), n_heads); });
        return nb::make_tuple(penalty.value, handed_over(std::move(penalty.gradient)));
      },
      "weights"_a, "n_heads"_a);
}

}  // namespace headspan::python
