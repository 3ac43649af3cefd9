#pragma once
// Columns lined up for a terminal.

#include <iosfwd>
#include <string>
#include <vector>

namespace headspan::report {

/// What a piece of text means; the colour follows from it, and only where colour is allowed.
enum class Tone { plain, heading, quiet, good, warning, bad };

/// `text` in the colour of its tone.
std::string paint(const std::string& text, Tone tone, bool colour);

/// `text` broken at spaces into lines of at most `width`, each after `indent` spaces; ends with a line break.
std::string wrapped(const std::string& text, int indent, int width);

struct Cell {
  std::string text;
  Tone tone = Tone::plain;
};

struct TextColumn {
  std::string title;
  bool right = true;  ///< numbers line up on the right, words on the left
  int gap = 2;        ///< spaces before it
};

/// Rows of cells; each column is as wide as its widest cell. Bytes are counted as columns: cells hold ASCII.
class TextTable {
 public:
  explicit TextTable(std::vector<TextColumn> columns) : columns_(std::move(columns)) {}
  /// Cells left out at the end stay empty.
  void add_row(std::vector<Cell> cells);
  /// A line of its own under the row added last.
  void add_remark(const std::string& text, Tone tone);
  void write(std::ostream& out, bool colour, int width) const;

 private:
  struct Row {
    std::vector<Cell> cells;
    std::vector<Cell> remarks;
  };
  std::string line(const std::vector<Cell>& cells, const std::vector<std::size_t>& widths, bool colour) const;
  std::vector<std::size_t> column_widths() const;

  std::vector<TextColumn> columns_;
  std::vector<Row> rows_;
};

}  // namespace headspan::report
