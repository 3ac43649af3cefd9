#pragma once
// Python arrays seen as the matrices and tensors of the library, and results handed over without a copy.

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "headspan/numeric/error.h"
#include "headspan/numeric/matrix.h"
#include "headspan/nw/attention.h"

namespace headspan::python {

namespace nb = nanobind;

template <class T>
using Rows = nb::ndarray<const T, nb::ndim<2>, nb::device::cpu>;
template <class T>
using Tensor = nb::ndarray<const T, nb::ndim<4>, nb::device::cpu>;
template <class T>
using TensorOut = nb::ndarray<T, nb::ndim<4>, nb::device::cpu>;
using Numbers = nb::ndarray<const double, nb::ndim<1>, nb::device::cpu, nb::c_contig>;

template <class T>
using RowsView = Eigen::Map<const RowMatrix<T>, 0, Eigen::OuterStride<>>;

/// Rows of adjacent numbers, any positive distance apart: python/headspan/_arrays.py lays them out so.
template <class T>
RowsView<T> view(const Rows<T>& array) {
  const auto rows = static_cast<Index>(array.shape(0)), cols = static_cast<Index>(array.shape(1));
  // Strides of an array without elements, or of an axis of one, mean nothing.
  if (array.size() == 0) return {nullptr, rows, cols, Eigen::OuterStride<>(std::max<Index>(cols, 1))};
  if ((cols > 1 && array.stride(1) != 1) || (rows > 1 && array.stride(0) < cols))
    throw ArgumentError("rows of adjacent numbers wanted");
  return {array.data(), rows, cols,
          Eigen::OuterStride<>(rows > 1 ? array.stride(0) : std::max<Index>(cols, 1))};
}

inline Eigen::Map<const Vector> view(const Numbers& array) {
  return {array.data(), static_cast<Index>(array.shape(0))};
}

/// A TensorView or TensorSpan of an array, or an absent one for None.
template <class View, class Array>
View tensor(const std::optional<Array>& array) {
  View view;
  if (!array) return view;
  view.data = array->data();
  for (std::size_t k = 0; k < 4; ++k) {
    view.shape[k] = static_cast<Index>(array->shape(k));
    view.stride[k] = array->stride(k);
  }
  if (array->size() > 0 && view.shape[3] > 1 && view.stride[3] != 1)
    throw ArgumentError("rows of adjacent numbers wanted");
  return view;
}

/// A numpy array that owns what it shows.
inline nb::object handed_over(Vector values) {
  auto owned = std::make_unique<Vector>(std::move(values));
  double* data = owned->data();
  const auto size = static_cast<std::size_t>(owned->size());
  const nb::capsule owner(owned.release(), [](void* p) noexcept { delete static_cast<Vector*>(p); });
  return nb::cast(nb::ndarray<nb::numpy, double>(data, {size}, owner));
}

template <class T>
nb::object handed_over(RowMatrix<T> values) {
  auto owned = std::make_unique<RowMatrix<T>>(std::move(values));
  T* data = owned->data();
  const auto rows = static_cast<std::size_t>(owned->rows()), cols = static_cast<std::size_t>(owned->cols());
  const nb::capsule owner(owned.release(), [](void* p) noexcept { delete static_cast<RowMatrix<T>*>(p); });
  return nb::cast(nb::ndarray<nb::numpy, T>(data, {rows, cols}, owner));
}

}  // namespace headspan::python
