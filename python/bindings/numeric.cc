// Room numeric: widening of the storage type that numpy does not know.

#include <vector>

#include "headspan/numeric/widen.h"
#include "python/bindings/arrays.h"
#include "python/bindings/call.h"

namespace headspan::python {
namespace {

using BFloat16 = nb::ndarray<nb::ro, nb::device::cpu, nb::c_contig>;

nb::object widen_bfloat16(const BFloat16& array) {
  if (array.dtype().code != static_cast<std::uint8_t>(nb::dlpack::dtype_code::Bfloat) ||
      array.dtype().bits != 16)
    throw nb::type_error("bfloat16 wanted");
  std::vector<std::size_t> shape;
  for (std::size_t k = 0; k < array.ndim(); ++k) shape.push_back(array.shape(k));
  auto owned = std::make_unique<std::vector<float>>(array.size());
  widen_bf16(array.data(), array.size(), owned->data());
  float* data = owned->data();
  const nb::capsule owner(owned.release(),
                          [](void* p) noexcept { delete static_cast<std::vector<float>*>(p); });
  return nb::cast(nb::ndarray<nb::numpy, float>(data, shape.size(), shape.data(), owner));
}

}  // namespace

void bind_numeric(nb::module_& module) { module.def("widen_bfloat16", &widen_bfloat16, nb::arg("array")); }

}  // namespace headspan::python
