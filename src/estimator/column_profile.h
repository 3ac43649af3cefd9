#pragma once
// A column as one number per row, so that columns of any type can be compared.

#include <string>
#include <vector>

#include "headspan/numeric/matrix.h"
#include "headspan/table/columns.h"

namespace headspan::estimator {

/// The cells of one column in some rows of a table.
struct ColumnProfile {
  bool is_text = false;
  /// [rows] numbers as they are, NaN where missing; of a text column, the place of the level in the order of
  /// first appearance, NaN where missing.
  std::vector<double> values;
  Index n_distinct = 0;  ///< without the missing ones; of numbers counted up to 2
  Index n_missing = 0;
};

ColumnProfile profile_of(const table::Table& table, std::size_t column, const std::vector<Index>& rows);

/// Whether `b` = s `a` + c, s not 0, with all residuals within 3e-5 standard deviations of `b`, in the rows
/// where neither is NaN; false where these are fewer than 3 or `a` or `b` does not vary in them.
bool is_affine_copy(const std::vector<double>& a, const std::vector<double>& b);

/// Whether two columns say the same: affine copies with the same rows missing; or, of texts of more than two
/// levels, levels that correspond one to one.
bool say_the_same(const ColumnProfile& a, const ColumnProfile& b);

/// Whether `cell` reads as a date (2013-08-29, 29.8.2013, 8/29/13), a time of day (12:06:01), or both.
bool is_date(const std::string& cell);

}  // namespace headspan::estimator
