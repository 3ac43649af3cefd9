#pragma once
// A table in memory, and numbers taken out of it by column name.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "headspan/numeric/matrix.h"
#include "headspan/table/facts.h"

namespace headspan::table {

/// The cells of one column; which vector is filled depends on its type.
struct Column {
  std::vector<double> values;       ///< number: [rows], NaN where missing, never otherwise; may be infinite
  std::vector<std::int32_t> codes;  ///< text: [rows], place in `levels`, kMissingCode where missing
  std::vector<std::string> levels;  ///< text: distinct cells in order of first appearance
  std::vector<std::int64_t> level_counts;  ///< text: rows of each level
};

inline constexpr std::int32_t kMissingCode = -1;

struct Table {
  Understood understood;  ///< understood.columns[j] describes columns[j]
  std::vector<Column> columns;
  std::vector<std::int64_t> lines;  ///< [rows], source line on which each row starts, from 1
};

/// Place of the column called `name`. Throws DataError missing, with the nearest name and the names there
/// are; DataError refused where several columns are called so.
std::size_t column_index(const Table& table, const std::string& name);

/// A row left out, and the first column in which its value is missing.
struct DroppedRow {
  std::int64_t line = 0;
  std::string column;
};

struct NumericRows {
  Matrix x;                         ///< [n, inputs], columns in the order asked for
  Vector y;                         ///< [n]; length 0 where no target was asked for
  std::vector<std::int64_t> lines;  ///< [n], source line of each row
  std::vector<DroppedRow> dropped;
};

/// The rows of `table` that have a value in every column of `inputs` and in `target`, in the order of the
/// file. Throws ArgumentError for no input, an input named twice and a target among the inputs; DataError for
/// an unknown or doubly named column, one that is not numbers (with the first line that is not), an infinite
/// value (with its line), and where no row is left. O(rows x columns asked for).
NumericRows select_numeric(const Table& table, const std::vector<std::string>& inputs,
                           const std::optional<std::string>& target);

}  // namespace headspan::table
