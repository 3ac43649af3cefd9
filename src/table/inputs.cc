#include "headspan/table/inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>
#include <set>
#include <unordered_map>
#include <utility>

#include "headspan/numeric/error.h"
#include "table/csv_text.h"

namespace headspan::table {
namespace {

bool is_mostly_text(const ColumnFacts& facts, std::int64_t n_rows) {
  return 2 * facts.misfit->n_rows >= n_rows - facts.n_missing;
}

std::string remedy_for_text(const ColumnFacts& facts, std::int64_t n_rows) {
  if (facts.remark) return *facts.remark;
  return is_mostly_text(facts, n_rows)
             ? "it is a column of words; leave it out"
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

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// Whether the column may be one of categories; anything else must be numbers.
bool is_category(const Table& table, std::size_t at, bool is_ordered) {
  const ColumnFacts& facts = table.understood.columns[at];
  if (facts.type == ColumnType::text) return !facts.remark && is_mostly_text(facts, table.understood.n_rows);
  return is_ordered && facts.type == ColumnType::number;
}

/// The columns of a selection, found in the table and checked.
struct Selection {
  std::vector<std::string> names;
  std::vector<std::size_t> places;
};

Selection find_columns(const Table& table, const InputColumns& columns,
                       const std::optional<std::string>& target) {
  Selection found{columns.numbers, {}};
  for (const CategoryColumn& column : columns.categories) found.names.push_back(column.name);
  check_names(found.names, target);
  if (target) found.names.push_back(*target);
  for (std::size_t j = 0; j < found.names.size(); ++j) {
    const std::string& name = found.names[j];
    const bool is_number = j < columns.numbers.size() || (target && j + 1 == found.names.size());
    found.places.push_back(column_index(table, name));
    if (is_number)
      check_finite(table, name, numbers_of(table, name));
    else if (table.understood.columns[found.places.back()].type == ColumnType::number)
      check_finite(table, name, table.columns[found.places.back()].values);
  }
  return found;
}

bool is_missing(const Table& table, std::size_t column, std::size_t row) {
  switch (table.understood.columns[column].type) {
    case ColumnType::number:
      return std::isnan(table.columns[column].values[row]);
    case ColumnType::text:
      return table.columns[column].codes[row] == kMissingCode;
    case ColumnType::empty:
      return true;
  }
  throw ArgumentError("column type: not one of the enumeration");
}

/// The rows with a value in every column; the others go to `dropped`.
std::vector<std::size_t> complete_rows(const Table& table, const Selection& columns,
                                       std::vector<DroppedRow>& dropped) {
  std::vector<std::size_t> kept;
  for (std::size_t i = 0; i < table.lines.size(); ++i) {
    const auto missing = std::find_if(columns.places.begin(), columns.places.end(),
                                      [&](std::size_t at) { return is_missing(table, at, i); });
    if (missing == columns.places.end())
      kept.push_back(i);
    else
      dropped.push_back(
          {table.lines[i], columns.names[static_cast<std::size_t>(missing - columns.places.begin())]});
  }
  if (kept.empty()) fail_no_row(table, columns.names);
  return kept;
}

NumericRows numbers_in(const Table& table, const Selection& columns, std::size_t n_numbers, bool has_target,
                       const std::vector<std::size_t>& kept) {
  NumericRows rows;
  rows.x.resize(std::ssize(kept), static_cast<Index>(n_numbers));
  rows.y.resize(has_target ? std::ssize(kept) : 0);
  for (std::size_t i = 0; i < kept.size(); ++i) {
    const auto row = static_cast<Index>(i);
    for (std::size_t j = 0; j < n_numbers; ++j)
      rows.x(row, static_cast<Index>(j)) = table.columns[columns.places[j]].values[kept[i]];
    if (has_target) rows.y[row] = table.columns[columns.places.back()].values[kept[i]];
    rows.lines.push_back(table.lines[kept[i]]);
  }
  return rows;
}

[[noreturn]] void fail_level(const Table& table, std::size_t row, const CategoryColumn& column,
                             const std::string& level) {
  fail_at_line(table.understood.path, table.lines[row], column.name, FileFault::refused,
               fmt::format("the level {} is not among those learnt, {}; levels in order are compared by "
                           "their places, so correct it or leave the row out",
                           excerpt(level), fmt::join(column.levels, " < ")));
}

/// Codes of column k, whose levels found on the way but not known go to `unseen`.
void fill_codes(const Table& table, std::size_t at, const CategoryColumn& column,
                const std::vector<std::size_t>& kept, Index k, InputRows& rows) {
  std::unordered_map<std::string, std::int32_t> places;
  for (const std::string& level : column.levels)
    places.emplace(level, static_cast<std::int32_t>(places.size()));
  std::vector<std::string>& unseen = rows.unseen.emplace_back();
  for (std::size_t i = 0; i < kept.size(); ++i) {
    const std::string level = *cell_text(table, at, static_cast<Index>(kept[i]));
    const auto [place, is_new] = places.emplace(level, static_cast<std::int32_t>(places.size()));
    rows.codes(static_cast<Index>(i), k) = place->second;
    if (!is_new) continue;
    if (column.is_ordered && !column.levels.empty()) fail_level(table, kept[i], column, level);
    unseen.push_back(level);
  }
}

double number_of(const std::string& level) {
  double value = 0.0;
  std::from_chars(level.data(), level.data() + level.size(), value);
  return value;
}

/// `found`, as levels are ordered; and for every place in `found` the one in that order.
std::vector<std::int32_t> sort_levels(std::vector<std::string>& found, bool are_numbers) {
  std::vector<std::size_t> order(found.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return are_numbers ? number_of(found[a]) < number_of(found[b]) : found[a] < found[b];
  });
  std::vector<std::string> sorted;
  std::vector<std::int32_t> places(found.size());
  for (const std::size_t from : order) {
    places[from] = static_cast<std::int32_t>(sorted.size());
    sorted.push_back(found[from]);
  }
  found = std::move(sorted);
  return places;
}

}  // namespace

std::optional<std::string> cell_text(const Table& table, std::size_t column, Index row) {
  const auto i = static_cast<std::size_t>(row);
  if (is_missing(table, column, i)) return std::nullopt;
  const Column& cells = table.columns[column];
  if (table.understood.columns[column].type == ColumnType::text)
    return cells.levels[static_cast<std::size_t>(cells.codes[i])];
  return fmt::format("{}", cells.values[i] + 0.0);  // -0 is 0
}

InputColumns input_columns(const Table& table, const std::vector<std::string>& inputs,
                           const std::vector<std::string>& ordered) {
  check_names(inputs, std::nullopt);
  for (const std::string& name : ordered)
    if (!contains(inputs, name))
      throw ArgumentError(fmt::format("ordered: column {} is not among the inputs", excerpt(name)));
  InputColumns columns;
  for (const std::string& name : inputs) {
    const bool is_ordered = contains(ordered, name);
    if (is_category(table, column_index(table, name), is_ordered))
      columns.categories.push_back({name, is_ordered, {}});
    else
      columns.numbers.push_back(name);
  }
  return columns;
}

InputRows select_inputs(const Table& table, const InputColumns& columns,
                        const std::optional<std::string>& target) {
  const Selection found = find_columns(table, columns, target);
  std::vector<DroppedRow> dropped;
  const std::vector<std::size_t> kept = complete_rows(table, found, dropped);
  const std::size_t n_numbers = columns.numbers.size();
  InputRows rows{numbers_in(table, found, n_numbers, target.has_value(), kept), {}, {}};
  rows.numbers.dropped = std::move(dropped);
  rows.codes.resize(std::ssize(kept), std::ssize(columns.categories));
  for (std::size_t k = 0; k < columns.categories.size(); ++k)
    fill_codes(table, found.places[n_numbers + k], columns.categories[k], kept, static_cast<Index>(k), rows);
  return rows;
}

InputRows learn_inputs(const Table& table, InputColumns& columns, const std::optional<std::string>& target) {
  for (CategoryColumn& column : columns.categories) column.levels.clear();
  InputRows rows = select_inputs(table, columns, target);
  for (std::size_t k = 0; k < columns.categories.size(); ++k) {
    CategoryColumn& column = columns.categories[k];
    const ColumnType type = table.understood.columns[column_index(table, column.name)].type;
    column.levels = std::exchange(rows.unseen[k], {});
    const std::vector<std::int32_t> places = sort_levels(column.levels, type == ColumnType::number);
    for (std::int32_t& code : rows.codes.col(static_cast<Index>(k)))
      code = places[static_cast<std::size_t>(code)];
  }
  return rows;
}

NumericRows select_numeric(const Table& table, const std::vector<std::string>& inputs,
                           const std::optional<std::string>& target) {
  return select_inputs(table, {inputs, {}}, target).numbers;
}

}  // namespace headspan::table
