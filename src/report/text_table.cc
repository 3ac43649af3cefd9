#include "report/text_table.h"

#include <algorithm>
#include <ostream>
#include <sstream>

namespace headspan::report {

std::string paint(const std::string& text, Tone tone, bool colour) {
  if (!colour || text.empty()) return text;
  const char* code = "";
  switch (tone) {
    case Tone::plain:
      return text;
    case Tone::heading:
      code = "1";
      break;
    case Tone::quiet:
      code = "2";
      break;
    case Tone::good:
      code = "32";
      break;
    case Tone::warning:
      code = "33";
      break;
    case Tone::bad:
      code = "31";
      break;
  }
  return "\033[" + std::string(code) + "m" + text + "\033[0m";
}

std::string wrapped(const std::string& text, int indent, int width) {
  const std::string margin(static_cast<std::size_t>(indent), ' ');
  std::istringstream words(text);
  std::string out, line, word;
  while (words >> word) {
    const bool fits = margin.size() + line.size() + 1 + word.size() <= static_cast<std::size_t>(width);
    if (!line.empty() && !fits) {
      out += margin + line + "\n";
      line.clear();
    }
    if (!line.empty()) line += ' ';
    line += word;
  }
  return out + margin + line + "\n";
}

void TextTable::add_row(std::vector<Cell> cells) { rows_.push_back({std::move(cells), {}}); }

void TextTable::add_remark(const std::string& text, Tone tone) {
  rows_.back().remarks.push_back({text, tone});
}

std::vector<std::size_t> TextTable::column_widths() const {
  std::vector<std::size_t> widths;
  for (const TextColumn& column : columns_) widths.push_back(column.title.size());
  for (const Row& row : rows_)
    for (std::size_t i = 0; i < row.cells.size(); ++i)
      widths[i] = std::max(widths[i], row.cells[i].text.size());
  return widths;
}

std::string TextTable::line(const std::vector<Cell>& cells, const std::vector<std::size_t>& widths,
                            bool colour) const {
  std::string out;
  std::size_t pending = 0;  // blanks are held back, so that no line ends in them
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const std::size_t padding = widths[i] - cells[i].text.size();
    pending += static_cast<std::size_t>(columns_[i].gap) + (columns_[i].right ? padding : 0);
    if (!cells[i].text.empty()) {
      out += std::string(pending, ' ') + paint(cells[i].text, cells[i].tone, colour);
      pending = 0;
    }
    if (!columns_[i].right) pending += padding;
  }
  return out;
}

void TextTable::write(std::ostream& out, bool colour, int width) const {
  const std::vector<std::size_t> widths = column_widths();
  std::vector<Cell> titles;
  for (const TextColumn& column : columns_) titles.push_back({column.title, Tone::heading});
  out << line(titles, widths, colour) << '\n';
  for (const Row& row : rows_) {
    out << line(row.cells, widths, colour) << '\n';
    for (const Cell& remark : row.remarks)
      out << paint(wrapped(remark.text, columns_.front().gap + 4, width), remark.tone, colour);
  }
}

}  // namespace headspan::report
