#pragma once
// Which stored numbers are the weights of a head.

#include <string>

#include "headspan/audit/facts.h"

namespace headspan::report {

enum class Role { query, key, value, output };
const char* to_string(Role role);

/// A tensor and the rows or columns of it, counted from 0, both ends included: "rows 24-31".
struct WeightPlace {
  std::string tensor;
  std::string range;
};

/// Where the weights of a query head, or of the key/value head it reads, are stored; "-" where it is not
/// known.
WeightPlace weight_place(const audit::LayerFacts& layer, Role role, int head);

}  // namespace headspan::report
