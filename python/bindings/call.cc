#include "python/bindings/call.h"

namespace headspan::python {

bool raised(const std::optional<std::function<void()>>& progress) {
  const nanobind::gil_scoped_acquire locked;
  try {
    if (progress) (*progress)();
  } catch (nanobind::python_error& error) {
    error.restore();
    return true;
  }
  return PyErr_CheckSignals() != 0;
}

}  // namespace headspan::python
