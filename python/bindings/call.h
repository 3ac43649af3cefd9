#pragma once
// How every function of the package runs: without the interpreter lock, on a chosen number of threads, and
// stopped by Ctrl-C.

#include <nanobind/nanobind.h>

#include <functional>
#include <optional>

#include "headspan/numeric/parallel.h"

namespace headspan::python {

/// Whether Python has a signal handler that raised, or `progress`, which is called first; takes the
/// interpreter lock. The exception is left for Python.
bool raised(const std::optional<std::function<void()>>& progress);

/// work() with `threads` threads, 0 for all cores. A Python exception raised meanwhile by a signal handler,
/// such as KeyboardInterrupt, or by `progress`, which is called between two pieces of work and at most every
/// 50 ms, ends it. Work may not touch Python objects.
template <class Work>
auto call(int threads, const std::optional<std::function<void()>>& progress, const Work& work) {
  try {
    const nanobind::gil_scoped_release unlocked;
    const ThreadLimit limit(threads);
    const InterruptionCheck check([&] { return raised(progress); });
    return work();
  } catch (const Interrupted&) {
    throw nanobind::python_error();
  }
}

template <class Work>
auto call(int threads, const Work& work) {
  return call(threads, std::nullopt, work);
}

void bind_numeric(nanobind::module_& module);
void bind_nw(nanobind::module_& module);
void bind_ensemble(nanobind::module_& module);
void bind_plan(nanobind::module_& module);
void bind_subspace(nanobind::module_& module);
void bind_experiments(nanobind::module_& module);
void bind_claims(nanobind::module_& module);
void bind_ensemble_weights(nanobind::module_& module);
void bind_estimator(nanobind::module_& module);
void bind_encoding(nanobind::module_& module);

}  // namespace headspan::python
