#include "headspan/table/columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

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

std::string remedy_for_text(const ColumnFacts& facts, std::int64_t n_rows) {
  if (facts.remark) return *facts.remark;
  const bool is_mostly_text = 2 * facts.misfit->n_rows >= n_rows - facts.n_missing;
  return is_mostly_text ? "it is a column of words; leave it out"
                        : "correct it, leave it empty if it is missing, or leave the column out";
}

[[noreturn]] void fail_text(const Table& table, const ColumnFacts& facts) {
  const Misfit& misfit = *facts.misfit;
  const std::int64_t n_rows = table.understood.n_rows;
  const std::string how_many = misfit.n_rows == n_rows
                                   ? "no row is a number"
                                   : fmt::format("{} of {} rows are not numbers", misfit.n_rows, n_rows);
  fail_at_line(table.understood.path, misfit.line, facts.name, FileFault::refused,
               fmt::format("numbers are wanted and this says {} ({}); {}", excerpt(misfit.text), how_many,
                           remedy_for_text(facts, n_rows)));
}

const std::vector<double>& numbers_of(const Table& table, const std::string& name) {
  const std::size_t at = column_index(table, name);
  const ColumnFacts& facts = table.understood.columns[at];
  if (facts.type == ColumnType::text) fail_text(table, facts);
  if (facts.type == ColumnType::empty)
    throw DataError(FileFault::refused, {table.understood.path, fmt::format("column {}", excerpt(name)), {}},
                    "every value is missing; leave the column out");
  return table.columns[at].values;
}

void check_finite(const Table& table, const std::string& name, const std::vector<double>& values) {
  const auto infinite = std::find_if(values.begin(), values.end(), [](double v) { return std::isinf(v); });
  if (infinite == values.end()) return;
  fail_at_line(
      table.understood.path, table.lines[static_cast<std::size_t>(infinite - values.begin())], name,
      FileFault::refused,
      "an infinite value, or one beyond the largest double; correct it, or leave it empty if it is missing");
}

void check_names(const std::vector<std::string>& inputs, const std::optional<std::string>& target) {
  if (inputs.empty()) throw ArgumentError("inputs: name at least one column");
  std::set<std::string> seen;
  for (const std::string& name : inputs)
    if (!seen.insert(name).second)
      throw ArgumentError(fmt::format("inputs: column {} is named twice", excerpt(name)));
  if (target && seen.contains(*target))
    throw ArgumentError(fmt::format("target: column {} is among the inputs too", excerpt(*target)));
}

[[noreturn]] void fail_no_row(const Table& table, const std::vector<std::string>& names) {
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
  throw DataError(FileFault::refused, {table.understood.path, {}, {}},
                  fmt::format("none of {} rows has a value in every one of the columns {}; leave out the "
                              "emptiest of them",
                              table.understood.n_rows, list));
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

NumericRows select_numeric(const Table& table, const std::vector<std::string>& inputs,
                           const std::optional<std::string>& target) {
  check_names(inputs, target);
  std::vector<std::string> names = inputs;
  if (target) names.push_back(*target);
  std::vector<const std::vector<double>*> columns;
  for (const std::string& name : names) {
    columns.push_back(&numbers_of(table, name));
    check_finite(table, name, *columns.back());
  }
  NumericRows rows;
  std::vector<std::size_t> kept;
  for (std::size_t i = 0; i < table.lines.size(); ++i) {
    const auto missing = std::find_if(columns.begin(), columns.end(), [&](const std::vector<double>* values) {
      return std::isnan((*values)[i]);
    });
    if (missing == columns.end())
      kept.push_back(i);
    else
      rows.dropped.push_back({table.lines[i], names[static_cast<std::size_t>(missing - columns.begin())]});
  }
  if (kept.empty()) fail_no_row(table, names);
  rows.x.resize(static_cast<Index>(kept.size()), static_cast<Index>(inputs.size()));
  rows.y.resize(target ? static_cast<Index>(kept.size()) : 0);
  for (std::size_t i = 0; i < kept.size(); ++i) {
    const auto row = static_cast<Index>(i);
    for (std::size_t j = 0; j < inputs.size(); ++j)
      rows.x(row, static_cast<Index>(j)) = (*columns[j])[kept[i]];
    if (target) rows.y[row] = (*columns.back())[kept[i]];
    rows.lines.push_back(table.lines[kept[i]]);
  }
  return rows;
}

}  // namespace headspan::table
