#pragma once
// From the cells of a text to typed columns.

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "headspan/table/columns.h"
#include "headspan/table/csv.h"
#include "table/csv_cell.h"

namespace headspan::table {

/// The cells of one column, counted by what they say.
struct ColumnScan {
  std::vector<double> values;                         ///< every record, the first one too
  std::array<std::int64_t, kCellKinds> counts{};      ///< of the records after the first
  std::array<std::int64_t, kCellKinds> first_line{};  ///< of each kind, from 1; 0 where there is none
  void count(CellKind kind, std::int64_t line);
};

/// All records of a text, read once.
struct Scan {
  std::vector<std::string> first;  ///< cells of the first record
  std::vector<CellKind> first_kinds;
  std::vector<ColumnScan> columns;
  std::vector<std::int64_t> lines;  ///< of every record
};

/// Whether the first record holds names. It does where one of its words stands over numbers and its numbers,
/// if any, could be names (whole and not negative, as years are); without such evidence where it has words,
/// no numbers, and nothing missing over numbers.
bool first_record_is_header(const Scan& scan);

/// ',' where more columns are numbers with decimal comma than with decimal point, else '.'.
char find_decimal_mark(const Scan& scan);

/// Type, counts and the misfits of a column under a decimal mark; misfit.text stays empty and name as well.
ColumnFacts column_facts(const ColumnScan& column, char decimal_mark);

/// Why a cell that looks like a number is none, with the remedy; empty for other text.
std::optional<std::string> remark_on(const std::string& misfit, char decimal_mark);

}  // namespace headspan::table
