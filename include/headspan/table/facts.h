#pragma once
// What was understood of a table file, for people to check.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace headspan::table {

/// What the cells of a column are.
enum class ColumnType {
  number,  ///< every cell that is not missing is a number
  text,    ///< some cell is neither missing nor a number
  empty,   ///< every cell is missing
};

/// Lower-case word for a type, as printed and in JSON.
const char* to_string(ColumnType type);

/// The cells that keep a column from being numbers.
struct Misfit {
  std::int64_t n_rows = 0;  ///< how many there are
  std::int64_t line = 0;    ///< source line of the first, from 1
  std::string text;         ///< what the first says
};

struct ColumnFacts {
  std::string name;  ///< from the header; V1, V2 ... by position where it has none
  ColumnType type = ColumnType::empty;
  std::int64_t n_missing = 0;
  std::int64_t n_infinite = 0;     ///< cells of a number column that say infinity, or a number beyond double
  std::int64_t n_levels = 0;       ///< distinct texts of a text column
  std::optional<Misfit> misfit{};  ///< of a text column
  std::optional<std::string> remark{};  ///< what a person should know, e.g. of commas that could be thousands
};

enum class LineEnding { none, lf, crlf, cr, mixed };

/// "none" (one line without end), "LF", "CRLF", "CR", "mixed".
const char* to_string(LineEnding ending);

/// Everything the reader decided about a file.
struct Understood {
  std::string path;         ///< the file, or what its text was called
  char separator = '\0';    ///< between fields; NUL where there is one column
  char decimal_mark = '.';  ///< '.' or ','
  bool quotes = false;      ///< some field stood in double quotes
  LineEnding line_ending = LineEnding::none;
  bool byte_order_mark = false;
  bool header = false;          ///< the first record holds the names
  bool header_was_set = false;  ///< by the caller, so not concluded from the cells
  std::int64_t n_rows = 0;      ///< records without the header
  std::int64_t n_blank_lines = 0;
  std::vector<ColumnFacts> columns;
};

}  // namespace headspan::table
