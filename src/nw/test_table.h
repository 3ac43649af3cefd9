#pragma once
// Tables of numbers that tests compare with published results.

#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "headspan/numeric/matrix.h"

namespace headspan::nw {

/// The numeric table ../shared/data/NAME (comma-separated, one heading line); nothing where it is absent.
inline std::optional<Matrix> shared_table(const std::string& name) {
  std::ifstream in(HEADSPAN_SHARED_DIR "/data/" + name);
  std::string line;
  if (!std::getline(in, line)) return std::nullopt;
  std::vector<std::vector<double>> rows;
  while (std::getline(in, line)) {
    std::istringstream fields(line);
    std::string field;
    rows.emplace_back();
    while (std::getline(fields, field, ',')) rows.back().push_back(std::stod(field));
  }
  Matrix table(static_cast<Index>(rows.size()), static_cast<Index>(rows.at(0).size()));
  for (Index i = 0; i < table.rows(); ++i)
    for (Index j = 0; j < table.cols(); ++j)
      table(i, j) = rows[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)];
  return table;
}

}  // namespace headspan::nw
