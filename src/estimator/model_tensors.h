#pragma once
// The arrays of a fitted model by name, in both directions.

#include <map>
#include <string>
#include <vector>

#include "headspan/checkpoint/container.h"
#include "headspan/estimator/model.h"

namespace headspan::estimator {

/// Doubles with a shape; whole numbers are doubles too.
struct NamedArray {
  std::string name;
  std::vector<std::int64_t> shape;
  std::vector<double> values;
};

/// Every array of `model`, in a fixed order. Recipes and numbers of estimates and heads are not among them.
std::vector<NamedArray> arrays_of(const Model& model);

/// Fills the arrays of `model`, whose members, estimates and heads are there already; what a file of
/// `format_version` does not have is NaN. Throws CheckpointError
/// for an array that is missing, of another type than F64, or of a shape that contradicts the others, and
/// for places that point outside.
void fill_arrays(const checkpoint::Container& container, int format_version, Model& model);

}  // namespace headspan::estimator
