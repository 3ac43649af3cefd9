#include "headspan/table/columns.h"

#include <fmt/format.h>

#include <algorithm>

#include "headspan/numeric/error.h"
#include "headspan/numeric/nearest_word.h"
#include "table/csv_text.h"

namespace headspan::table {
namespace {

constexpr std::size_t kNamesListed = 40;

std::string names_listed(const Table& table) {
  const auto& columns = table.understood.columns;
  std::string list;
  for (std::size_t j = 0; j < std::min(columns.size(), kNamesListed); ++j)
    list += (list.empty() ? "" : ", ") + columns[j].name;
  if (columns.size() > kNamesListed) list += fmt::format(" and {} more", columns.size() - kNamesListed);
  return list;
}

[[noreturn]] void fail_unknown(const Table& table, const std::string& name) {
  const Understood& understood = table.understood;
  std::string reason = fmt::format("there is no column {}; ", excerpt(name));
  std::vector<std::string> names;
  for (const ColumnFacts& column : understood.columns) names.push_back(column.name);
  const std::string nearest = nearest_word(name, names);
  if (!nearest.empty()) reason += fmt::format("is {} meant? ", excerpt(nearest));
  reason += fmt::format("The columns are: {}", names_listed(table));
  if (!understood.header) reason += " (named by position: the first line was taken for data)";
  if (understood.columns.size() == 1) reason += " (no separator was found)";
  throw DataError(FileFault::missing, {understood.path, {}, {}}, reason);
}

}  // namespace

const char* to_string(ColumnType type) {
  switch (type) {
    case ColumnType::number:
      return "number";
    case ColumnType::text:
      return "text";
    case ColumnType::empty:
      return "empty";
  }
  throw ArgumentError("to_string(ColumnType): value outside the enumeration");
}

std::size_t column_index(const Table& table, const std::string& name) {
  const auto& columns = table.understood.columns;
  const auto is_called_so = [&](const ColumnFacts& column) { return column.name == name; };
  const auto found = std::find_if(columns.begin(), columns.end(), is_called_so);
  if (found == columns.end()) fail_unknown(table, name);
  const auto second = std::find_if(found + 1, columns.end(), is_called_so);
  if (second != columns.end())
    throw DataError(FileFault::refused, {table.understood.path, fmt::format("column {}", excerpt(name)), {}},
                    fmt::format("columns {} and {} are both called so; rename one",
                                found - columns.begin() + 1, second - columns.begin() + 1));
  return static_cast<std::size_t>(found - columns.begin());
}

}  // namespace headspan::table
