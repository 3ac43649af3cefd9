#include "python/bindings/call.h"

namespace headspan::python {

bool signal_raised() {
  const nanobind::gil_scoped_acquire locked;
  return PyErr_CheckSignals() != 0;
}

}  // namespace headspan::python
