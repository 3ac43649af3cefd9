#include "cli/table_input.h"

#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <iterator>

#include "cli/exit_code.h"

namespace headspan::cli {
namespace {

char separator_named(const std::string& word) {
  if (word == "tab" || word == "\\t") return '\t';
  if (word == "none") return '\0';
  if (word.size() != 1)
    throw UsageError(fmt::format("--separator {}: must be one character, tab or none", word));
  return word[0];
}

char decimal_mark_named(const std::string& word) {
  if (word == "point" || word == ".") return '.';
  if (word == "comma" || word == ",") return ',';
  throw UsageError(fmt::format("--decimal {}: must be point or comma", word));
}

std::string without_blanks(const std::string& text) {
  const std::size_t start = text.find_first_not_of(' ');
  if (start == std::string::npos) return {};
  return text.substr(start, text.find_last_not_of(' ') - start + 1);
}

}  // namespace

void declare_table_options(CLI::App& command, TableArguments& a) {
  const char* group = "Reading the table";
  command.add_option("--separator", a.separator, "One character, tab or none [found]")
      ->type_name("C")
      ->group(group);
  command.add_option("--decimal", a.decimal_mark, "point or comma [found]")->type_name("MARK")->group(group);
  command.add_option("--header", a.header, "Whether the first line holds names: auto, yes, no [auto]")
      ->type_name("WHEN")
      ->group(group);
  command
      .add_option("--missing", a.missing,
                  "Cells that are missing too, between commas, e.g. -999 [NA and the like]")
      ->type_name("WORDS")
      ->group(group);
}

table::CsvOptions csv_options(const TableArguments& a) {
  table::CsvOptions options;
  if (a.separator) options.separator = separator_named(*a.separator);
  if (a.decimal_mark) options.decimal_mark = decimal_mark_named(*a.decimal_mark);
  if (a.header == "yes")
    options.header = table::Header::present;
  else if (a.header == "no")
    options.header = table::Header::absent;
  else if (a.header != "auto")
    throw UsageError(fmt::format("--header {}: must be auto, yes or no", a.header));
  if (a.missing)
    for (const std::string& word : between_commas(*a.missing)) options.missing.push_back(word);
  return options;
}

table::Table read_table(const std::string& path, const table::CsvOptions& options) {
  if (path != "-") return table::read_csv(path, options);
  const std::string text(std::istreambuf_iterator<char>(std::cin), {});
  return table::parse_csv(text, "standard input", options);
}

std::vector<std::string> between_commas(const std::string& word) {
  std::vector<std::string> parts;
  std::size_t start = 0;
  for (;;) {
    const std::size_t comma = word.find(',', start);
    parts.push_back(word.substr(start, comma - start));
    if (comma == std::string::npos) return parts;
    start = comma + 1;
  }
}

std::vector<std::string> column_names(const table::Table& table, const std::vector<std::string>& words,
                                      const std::string& option) {
  const auto& columns = table.understood.columns;
  std::vector<std::string> names;
  for (const std::string& word : words) {
    const bool is_column = std::any_of(columns.begin(), columns.end(),
                                       [&](const table::ColumnFacts& column) { return column.name == word; });
    if (is_column) {
      names.push_back(word);
      continue;
    }
    for (const std::string& part : between_commas(word)) {
      const std::string name = without_blanks(part);
      if (name.empty()) throw UsageError(fmt::format("{} {}: a name is empty", option, word));
      names.push_back(name);
    }
  }
  return names;
}

}  // namespace headspan::cli
