#pragma once
// How every function of the package runs: without the interpreter lock, on a chosen number of threads, and
// stopped by Ctrl-C.

#include <nanobind/nanobind.h>

#include "headspan/numeric/parallel.h"

namespace headspan::python {

/// Whether Python has a signal handler that raised; takes the interpreter lock.
bool signal_raised();

/// work() with `threads` threads, 0 for all cores. A Python exception raised by a signal handler meanwhile,
/// such as KeyboardInterrupt, ends it. Work may not touch Python objects.
template <class Work>
auto call(int threads, const Work& work) {
  try {
    const nanobind::gil_scoped_release unlocked;
    const ThreadLimit limit(threads);
    const InterruptionCheck check(signal_raised);
    return work();
  } catch (const Interrupted&) {
    throw nanobind::python_error();
  }
}

void bind_numeric(nanobind::module_& module);
void bind_nw(nanobind::module_& module);
void bind_ensemble(nanobind::module_& module);
void bind_subspace(nanobind::module_& module);
void bind_experiments(nanobind::module_& module);
void bind_ensemble_weights(nanobind::module_& module);

}  // namespace headspan::python
