#include "report/nw_inputs.h"

#include <algorithm>

namespace headspan::report {

std::vector<InputPlace> input_places(const NwReport& report) {
  const auto& columns = report.categories.columns;
  std::vector<InputPlace> places;
  std::size_t n_numbers = 0;
  for (const std::string& name : report.x) {
    const auto found = std::find_if(columns.begin(), columns.end(),
                                    [&](const table::CategoryColumn& column) { return column.name == name; });
    if (found == columns.end())
      places.push_back({false, n_numbers++});
    else
      places.push_back({true, static_cast<std::size_t>(found - columns.begin())});
  }
  return places;
}

std::vector<std::string> number_names(const NwReport& report) {
  const std::vector<InputPlace> places = input_places(report);
  std::vector<std::string> names;
  for (std::size_t j = 0; j < places.size(); ++j)
    if (!places[j].is_category) names.push_back(report.x[j]);
  return names;
}

const std::string& level_at(const NwCategories& categories, Index i, std::size_t k) {
  const auto place = static_cast<std::size_t>(categories.points(i, static_cast<Index>(k)));
  const std::vector<std::string>& levels = categories.columns[k].levels;
  return place < levels.size() ? levels[place] : categories.unseen[k][place - levels.size()];
}

}  // namespace headspan::report
