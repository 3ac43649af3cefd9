#include "report/input_facts.h"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <ostream>

#include "report/number_text.h"
#include "report/terminal.h"

namespace headspan::report {
namespace {

using Json = nlohmann::ordered_json;
using table::ColumnFacts;
using table::ColumnType;
using table::Understood;

constexpr std::size_t kColumnsShown = 12;
constexpr std::size_t kLinesShown = 8;

Json misfit_object(const std::optional<table::Misfit>& misfit) {
  if (!misfit) return {};
  return {{"n_rows", misfit->n_rows}, {"line", misfit->line}, {"text", misfit->text}};
}

Json column_object(const ColumnFacts& column) {
  return {{"name", column.name},
          {"type", to_string(column.type)},
          {"n_missing", column.n_missing},
          {"n_infinite", column.n_infinite},
          {"n_levels", column.n_levels},
          {"misfit", misfit_object(column.misfit)},
          {"remark", column.remark ? Json(*column.remark) : Json()}};
}

std::string separator_text(char separator) {
  switch (separator) {
    case '\0':
      return "none (one column)";
    case ',':
      return "comma";
    case ';':
      return "semicolon";
    case '\t':
      return "tab";
    case '|':
      return "bar";
    default:
      return printable({&separator, 1});
  }
}

std::string dialect_text(const Understood& understood) {
  std::string text = fmt::format("separator {}, decimal {}", separator_text(understood.separator),
                                 understood.decimal_mark == ',' ? "comma" : "point");
  if (understood.quotes) text += ", quotes";
  if (understood.line_ending != table::LineEnding::none)
    text += fmt::format(", {} line ends", to_string(understood.line_ending));
  if (understood.byte_order_mark) text += ", byte order mark";
  if (understood.n_blank_lines > 0)
    text += fmt::format(", {} skipped", counted(understood.n_blank_lines, "blank line"));
  return text;
}

std::string header_text(const Understood& understood) {
  const char* found = understood.header ? "names in the first line" : "no names, so columns are V1, V2 ...";
  return fmt::format("{}{}", found, understood.header_was_set ? " (as told)" : "");
}

std::string column_text(const ColumnFacts& column) {
  std::string text = fmt::format("{} {}", printable(column.name), to_string(column.type));
  if (column.n_missing > 0 && column.type != ColumnType::empty)
    text += fmt::format(" ({} missing)", column.n_missing);
  return text;
}

void write_columns(std::ostream& out, const Understood& understood, const TerminalStyle& style) {
  std::string text;
  for (std::size_t j = 0; j < std::min(understood.columns.size(), kColumnsShown); ++j)
    append(text, ", ", column_text(understood.columns[j]));
  if (understood.columns.size() > kColumnsShown)
    text += fmt::format(" and {} more", understood.columns.size() - kColumnsShown);
  write_entry(out, "columns", text, style);
  for (const ColumnFacts& column : understood.columns)
    if (column.remark)
      write_entry(out, "note", fmt::format("column {} is text: {}", printable(column.name), *column.remark),
                  style);
}

void write_dropped(std::ostream& out, const InputFacts& facts, const TerminalStyle& style) {
  if (facts.dropped.empty()) return;
  const auto n_dropped = static_cast<std::int64_t>(facts.dropped.size());
  std::map<std::string, int> missing;
  for (const table::DroppedRow& row : facts.dropped) ++missing[row.column];
  std::string columns;
  for (const auto& [name, count] : missing)
    append(columns, ", ", fmt::format("{} {}", count, printable(name)));
  std::string lines;
  for (std::size_t i = 0; i < std::min(facts.dropped.size(), kLinesShown); ++i)
    append(lines, ", ", std::to_string(facts.dropped[i].line));
  if (facts.dropped.size() > kLinesShown) lines += " ...";
  write_entry(out, "left out",
              fmt::format("{} for a missing value ({}): line{} {}", counted(n_dropped, "row"), columns,
                          n_dropped == 1 ? "" : "s", lines),
              style);
}

}  // namespace

Json input_object(const InputFacts& facts) {
  const Understood& understood = facts.understood;
  Json columns = Json::array();
  for (const ColumnFacts& column : understood.columns) columns.push_back(column_object(column));
  Json dropped = Json::array();
  for (const table::DroppedRow& row : facts.dropped)
    dropped.push_back({{"line", row.line}, {"column", row.column}});
  return {
      {"path", understood.path},
      {"separator", understood.separator == '\0' ? Json() : Json(std::string(1, understood.separator))},
      {"decimal_mark", std::string(1, understood.decimal_mark)},
      {"quotes", understood.quotes},
      {"line_ending", to_string(understood.line_ending)},
      {"byte_order_mark", understood.byte_order_mark},
      {"header", understood.header},
      {"header_was_set", understood.header_was_set},
      {"n_rows", understood.n_rows},
      {"n_blank_lines", understood.n_blank_lines},
      {"columns", std::move(columns)},
      {"n_dropped", facts.dropped.size()},
      {"dropped", std::move(dropped)},
  };
}

void write_input(std::ostream& out, const std::string& what, const InputFacts& facts,
                 const TerminalStyle& style) {
  const Understood& understood = facts.understood;
  write_entry(out, what, printable(understood.path), style);
  write_entry(out, "read as", dialect_text(understood), style);
  write_entry(out, "header", header_text(understood), style);
  write_columns(out, understood, style);
  write_entry(out, "rows", std::to_string(understood.n_rows), style);
  write_dropped(out, facts, style);
}

}  // namespace headspan::report
