#pragma once
// Text cut into records and fields.

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headspan::table {

struct Field {
  std::string_view text;  ///< without quotes and without blanks around it; valid until the next record
  bool quoted = false;
};

/// What is wrong with the text itself.
struct RecordDefect {
  std::int64_t line = 0;
  std::string reason;
  bool is_open_quote = false;  ///< the text ended inside quotes
};

struct LineEndCounts {
  std::int64_t lf = 0, crlf = 0, cr = 0;
};

/// Cuts `text` at `separator` and at line ends, following quotes: a field that starts with a double quote,
/// blanks before it aside, reaches to its closing quote, two quotes inside standing for one. A quote
/// elsewhere is an ordinary character. Lines that are blank are skipped.
class RecordReader {
 public:
  RecordReader(std::string_view text, char separator, std::int64_t first_line = 1)
      : text_(text), separator_(separator), line_(first_line) {}

  /// Moves to the next record; false at the end of the text or at a defect.
  bool next();

  const std::vector<Field>& fields() const { return fields_; }
  /// Line on which the record starts.
  std::int64_t line() const { return record_line_; }
  const std::optional<RecordDefect>& defect() const { return defect_; }
  const LineEndCounts& line_ends() const { return line_ends_; }
  std::int64_t n_blank_lines() const { return n_blank_lines_; }
  bool has_quotes() const { return has_quotes_; }

 private:
  bool skip_blank_line();
  bool take_field();
  bool take_quoted(std::size_t open);
  bool take_rest_after_quote(std::string_view field);
  void take_line_end();
  std::string_view without_doubled_quotes(std::string_view inside);

  std::string_view text_;
  char separator_;
  std::size_t at_ = 0;
  std::int64_t line_;
  std::int64_t record_line_ = 0;
  std::vector<Field> fields_;
  std::deque<std::string> unescaped_;  // fields of the present record that had doubled quotes
  std::optional<RecordDefect> defect_;
  LineEndCounts line_ends_;
  std::int64_t n_blank_lines_ = 0;
  bool has_quotes_ = false;
};

/// Without blanks (space, tab, no-break space) at either end.
std::string_view trimmed(std::string_view text);

}  // namespace headspan::table
