#pragma once
// Models as dicts of numbers, words and arrays: what Python pickles.

#include <fmt/format.h>
#include <nanobind/nanobind.h>

#include "headspan/numeric/error.h"

namespace headspan::python {

/// A layout that a release changes gets a number of its own: pickles outlive releases.
inline constexpr int kStateVersion = 1;

inline void check_version(const nanobind::dict& state) {
  const int version = nanobind::cast<int>(state["version"]);
  if (version != kStateVersion)
    throw ArgumentError(
        fmt::format("state: has version {}, this release reads {}; fit again, or load it with the release "
                    "that wrote it",
                    version, kStateVersion));
}

}  // namespace headspan::python
