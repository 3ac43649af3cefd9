#include "table/csv_columns.h"

#include <algorithm>
#include <numeric>

namespace headspan::table {
namespace {

std::size_t index_of(CellKind kind) { return static_cast<std::size_t>(kind); }

bool is_number(CellKind kind) { return kind != CellKind::missing && kind != CellKind::text; }

bool is_number_under(CellKind kind, char decimal_mark) {
  switch (kind) {
    case CellKind::plain:
    case CellKind::infinite:
      return true;
    case CellKind::point:
    case CellKind::point_thousands:
      return decimal_mark == '.';
    case CellKind::comma:
    case CellKind::comma_thousands:
      return decimal_mark == ',';
    case CellKind::missing:
    case CellKind::text:
      return false;
  }
  return false;
}

template <class Predicate>
std::int64_t count_where(const ColumnScan& column, Predicate wanted) {
  std::int64_t count = 0;
  for (std::size_t kind = 0; kind < kCellKinds; ++kind)
    if (wanted(static_cast<CellKind>(kind))) count += column.counts[kind];
  return count;
}

// Rows in which a column says something that is no number under the mark.
std::int64_t n_misfits(const ColumnScan& column, char decimal_mark) {
  return count_where(column, [&](CellKind kind) {
    return kind != CellKind::missing && !is_number_under(kind, decimal_mark);
  });
}

bool is_number_column(const ColumnScan& column, char decimal_mark) {
  return n_misfits(column, decimal_mark) == 0 &&
         count_where(column, [&](CellKind kind) { return is_number_under(kind, decimal_mark); }) > 0;
}

bool is_number_column(const ColumnScan& column) {
  return is_number_column(column, '.') || is_number_column(column, ',');
}

bool could_be_name(const std::string& number) {
  return number.find_first_not_of("0123456789") == std::string::npos;
}

}  // namespace

void ColumnScan::count(CellKind kind, std::int64_t line) {
  ++counts[index_of(kind)];
  std::int64_t& first = first_line[index_of(kind)];
  if (first == 0 || line < first) first = line;
}

bool first_record_is_header(const Scan& scan) {
  bool has_words = false;
  bool has_numbers = false;
  bool numbers_could_be_names = true;
  bool word_over_numbers = false;
  bool missing_over_numbers = false;
  for (std::size_t j = 0; j < scan.columns.size(); ++j) {
    const CellKind kind = scan.first_kinds[j];
    const bool is_over_numbers = is_number_column(scan.columns[j]);
    has_words = has_words || kind == CellKind::text;
    has_numbers = has_numbers || is_number(kind);
    if (is_number(kind) && !could_be_name(scan.first[j])) numbers_could_be_names = false;
    word_over_numbers = word_over_numbers || (kind == CellKind::text && is_over_numbers);
    missing_over_numbers = missing_over_numbers || (kind == CellKind::missing && is_over_numbers);
  }
  if (word_over_numbers) return numbers_could_be_names;
  return has_words && !has_numbers && !missing_over_numbers;
}

char find_decimal_mark(const Scan& scan) {
  const auto n_decided = [&](char mark, CellKind evidence) {
    return std::count_if(scan.columns.begin(), scan.columns.end(), [&](const ColumnScan& column) {
      return column.counts[index_of(evidence)] > 0 && is_number_column(column, mark);
    });
  };
  return n_decided(',', CellKind::comma) > n_decided('.', CellKind::point) ? ',' : '.';
}

ColumnFacts column_facts(const ColumnScan& column, char decimal_mark) {
  ColumnFacts facts;
  facts.n_missing = column.counts[index_of(CellKind::missing)];
  if (is_number_column(column, decimal_mark)) {
    facts.type = ColumnType::number;
    facts.n_infinite = column.counts[index_of(CellKind::infinite)];
  }
  const std::int64_t misfits = n_misfits(column, decimal_mark);
  if (misfits == 0) return facts;
  facts.type = ColumnType::text;
  facts.misfit = {misfits, 0, {}};
  for (std::size_t kind = 0; kind < kCellKinds; ++kind) {
    const auto cell = static_cast<CellKind>(kind);
    const std::int64_t line = column.first_line[kind];
    if (cell == CellKind::missing || is_number_under(cell, decimal_mark) || line == 0) continue;
    if (facts.misfit->line == 0 || line < facts.misfit->line) facts.misfit->line = line;
  }
  return facts;
}

std::optional<std::string> remark_on(const std::string& misfit, char decimal_mark) {
  const CellKind kind = read_cell(misfit, MissingSpellings({})).kind;
  if (kind == CellKind::comma_thousands && decimal_mark == '.')
    return "its commas could be decimal or group thousands; say that the decimal mark is a comma, or remove "
           "them";
  if (kind == CellKind::point_thousands && decimal_mark == ',')
    return "its points could be decimal or group thousands; say that the decimal mark is a point, or remove "
           "them";
  if (kind == CellKind::comma || kind == CellKind::point)
    return decimal_mark == '.'
               ? "decimal commas in a file whose decimal mark is a point; write one mark throughout"
               : "decimal points in a file whose decimal mark is a comma; write one mark throughout";
  if (has_thousands_groups(misfit)) return "thousands separators are not read; remove them";
  return std::nullopt;
}

}  // namespace headspan::table
