#pragma once
// Rows of a long table put in a grid: one row for every pair of labels of two columns.

#include <string>
#include <vector>

#include "headspan/numeric/matrix.h"
#include "headspan/table/columns.h"

namespace headspan::table {

/// Labels are in the order of their first appearance among the rows used; numbers are written in the shortest
/// way.
struct Grid {
  std::vector<std::string> outer, inner;  ///< labels of the two columns
  std::vector<Index> row;  ///< [outer.size() * inner.size()], place in NumericRows of outer label o and inner
                           ///< label i at o * inner.size() + i
};

/// The rows of `rows`, taken from `table`, by their labels in the columns `outer` and `inner`, of numbers or
/// text. Throws ArgumentError where both are one column; DataError, with line and labels, where a label is
/// missing, a pair has two rows, or a pair has none; where a row was there but left out for a missing value,
/// the message says so. O(rows log labels).
Grid arrange_rows(const Table& table, const NumericRows& rows, const std::string& outer,
                  const std::string& inner);

}  // namespace headspan::table
