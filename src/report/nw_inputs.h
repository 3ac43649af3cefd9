#pragma once
// Inputs of a Nadaraya-Watson fit by kind: numbers stand in one part of a report, categories in another.

#include <string>
#include <vector>

#include "headspan/report/nw_report.h"

namespace headspan::report {

/// Where an input stands: a column of `points`, or of the categories.
struct InputPlace {
  bool is_category = false;
  std::size_t at = 0;
};

/// Of every input, in the order of the report's `x`.
std::vector<InputPlace> input_places(const NwReport& report);

/// Names of the inputs that are numbers.
std::vector<std::string> number_names(const NwReport& report);

/// What point `i` says in column `k` of the categories.
const std::string& level_at(const NwCategories& categories, Index i, std::size_t k);

}  // namespace headspan::report
