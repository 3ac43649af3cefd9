#pragma once
// Tables in text files: comma-separated values and what goes by that name.

#include <optional>
#include <string>
#include <vector>

#include "headspan/table/columns.h"

namespace headspan::table {

enum class Header { detect, present, absent };

struct CsvOptions {
  /// Between fields; NUL says that there is one column. Unset: found among comma, semicolon, tab and bar.
  std::optional<char> separator;
  /// '.' or ','. Unset: found from the numbers; where commas could be thousands, the column stays text.
  std::optional<char> decimal_mark;
  Header header = Header::detect;
  /// Cells that say that a value is missing, compared after trimming blanks, quoted or not.
  std::vector<std::string> missing = {"",    "NA",  "N/A",  "n/a",  "#N/A", "<NA>", "NaN",
                                      "nan", "NAN", "-nan", "null", "NULL", ".",    "?"};
};

/// The table in a file. Fields, quotes and line ends follow RFC 4180, read generously: UTF-8 with or without
/// a byte order mark; LF, CRLF or CR; blanks around fields; blank lines skipped. A column is numbers when
/// each of its cells is missing, a decimal number (optional sign, point or decimal comma, exponent) or an
/// infinity; thousands separators, hexadecimal digits and units make it text. docs/formats/csv.md has every
/// rule. Throws ArgumentError for a separator or a decimal mark that cannot be one; DataError with the line
/// for text that is not UTF-8 or holds a NUL, an open quote, text after a closing quote, rows of different
/// lengths, a file without rows, and for what is no CSV at all (UTF-16, HTML, JSON, compressed, a
/// spreadsheet). The file is held in memory: about 1 byte per byte and 8 per number; about 100 MB a second.
Table read_csv(const std::string& path, const CsvOptions& options = {});

/// The same of text already read; `name` stands for the path in facts and errors.
Table parse_csv(const std::string& text, const std::string& name, const CsvOptions& options = {});

}  // namespace headspan::table
