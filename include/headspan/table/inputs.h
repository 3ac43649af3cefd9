#pragma once
// Columns of a table as the inputs of a smoother: numbers, and categories as codes.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "headspan/numeric/matrix.h"
#include "headspan/table/columns.h"

namespace headspan::table {

/// A column whose cells are names of levels.
struct CategoryColumn {
  std::string name;
  bool is_ordered = false;
  /// Of the rows it was learnt on: numbers ascending, words in the order of their bytes.
  std::vector<std::string> levels;
};

/// Inputs by kind, each in the order asked for.
struct InputColumns {
  std::vector<std::string> numbers;
  std::vector<CategoryColumn> categories;
};

struct InputRows {
  NumericRows numbers;            ///< x [n, columns of numbers]
  RowMatrix<std::int32_t> codes;  ///< [n, columns of categories] place in levels; those after in `unseen`
  std::vector<std::vector<std::string>> unseen;  ///< [columns of categories] levels not among the column's
};

/// What a cell says: a word, or a number as its shortest decimal; nothing where it is missing.
std::optional<std::string> cell_text(const Table& table, std::size_t column, Index row);

/// The kinds of `inputs`: those named in `ordered` are ordered categories, of words or numbers; other columns
/// most of whose cells are words are unordered ones; all others are numbers, to be refused by select_inputs()
/// where they are not. No levels yet. Throws ArgumentError for no input, one named twice, and a name in
/// `ordered` that is no input; DataError for an unknown or doubly named column.
InputColumns input_columns(const Table& table, const std::vector<std::string>& inputs,
                           const std::vector<std::string>& ordered);

/// The rows with a value in every input and in `target`, in the order of the file, with codes by the levels
/// that the columns have. Throws as select_numeric(), and DataError refused, with the line, for a level that
/// an ordered column does not have.
InputRows select_inputs(const Table& table, const InputColumns& columns,
                        const std::optional<std::string>& target);

/// The same, with the levels of the columns set to those of these rows first.
InputRows learn_inputs(const Table& table, InputColumns& columns, const std::optional<std::string>& target);

}  // namespace headspan::table
