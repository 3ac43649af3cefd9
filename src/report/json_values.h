#pragma once
// Numbers as JSON has them: null where there is no finite value, so that a missing one is never a zero.

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "headspan/numeric/matrix.h"

namespace headspan::report {

inline nlohmann::ordered_json number(double value) {
  return std::isfinite(value) ? nlohmann::ordered_json(value) : nlohmann::ordered_json();
}

inline nlohmann::ordered_json number(const std::optional<double>& value) {
  return value ? number(*value) : nlohmann::ordered_json();
}

/// One list of a vector's numbers.
template <class Values>
nlohmann::ordered_json numbers(const Values& values) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (Index i = 0; i < static_cast<Index>(values.size()); ++i) list.push_back(number(values[i]));
  return list;
}

/// A list of lists, row by row.
inline nlohmann::ordered_json matrix_rows(const Matrix& matrix) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (Index i = 0; i < matrix.rows(); ++i) rows.push_back(numbers(Vector(matrix.row(i))));
  return rows;
}

}  // namespace headspan::report
