#include "headspan/table/csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <unordered_map>
#include <utility>

#include "headspan/numeric/error.h"
#include "headspan/numeric/io.h"
#include "table/csv_columns.h"
#include "table/csv_records.h"
#include "table/csv_separator.h"
#include "table/csv_text.h"

namespace headspan::table {
namespace {

void check_options(const CsvOptions& options) {
  if (options.separator &&
      (*options.separator == '"' || *options.separator == '\n' || *options.separator == '\r' ||
       static_cast<unsigned char>(*options.separator) >= 0x80))
    throw ArgumentError("separator: must be one ASCII character, neither a quote nor a line end");
  if (options.decimal_mark && *options.decimal_mark != '.' && *options.decimal_mark != ',')
    throw ArgumentError(
        fmt::format("decimal_mark: must be '.' or ',', not {}", excerpt({&*options.decimal_mark, 1})));
}

// The text between what stands before a table and its end.
struct Body {
  std::string_view text;
  std::int64_t first_line = 1;
  std::optional<char> separator;  // as the file itself says
};

// A spreadsheet program may write the line "sep=;" before the table.
void take_separator_line(Body& body) {
  constexpr std::string_view kPrefix = "sep=";
  const std::size_t end = body.text.find_first_of("\r\n");
  if (end != kPrefix.size() + 1 || body.text.substr(0, kPrefix.size()) != kPrefix) return;
  body.separator = body.text[kPrefix.size()];
  body.text.remove_prefix(end + (body.text.substr(end, 2) == "\r\n" ? 2 : 1));
  body.first_line = 2;
}

std::string counted(std::size_t n, const std::string& what) {
  return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s");
}

[[noreturn]] void fail_ragged(const std::string& path, const RecordReader& reader, const Scan& scan) {
  const std::size_t wanted = scan.first.size();
  const std::size_t found = reader.fields().size();
  std::string remedy = "quote a field that contains the separator, or correct the line";
  if (scan.lines.size() == 1 && wanted == 1)
    remedy = "if a title stands above the table, remove it";
  else if (scan.lines.size() == 1 && found == wanted + 1)
    remedy = "if the first column holds names of rows, name it in the header too";
  fail_at_line(path, reader.line(), {}, FileFault::malformed,
               fmt::format("{} where line {} has {}; {}", counted(found, "field"), scan.lines.front(),
                           counted(wanted, "field"), remedy));
}

void start(const RecordReader& reader, const MissingSpellings& missing, Scan& scan) {
  scan.columns.resize(reader.fields().size());
  for (std::size_t j = 0; j < scan.columns.size(); ++j) {
    const Cell cell = read_cell(reader.fields()[j].text, missing);
    scan.first.emplace_back(reader.fields()[j].text);
    scan.first_kinds.push_back(cell.kind);
    scan.columns[j].values.push_back(cell.value);
  }
  scan.lines.push_back(reader.line());
}

Scan scan_records(RecordReader& reader, const std::string& path, const MissingSpellings& missing) {
  Scan scan;
  if (reader.next()) start(reader, missing, scan);
  while (reader.next()) {
    if (reader.fields().size() != scan.columns.size()) fail_ragged(path, reader, scan);
    for (std::size_t j = 0; j < scan.columns.size(); ++j) {
      const Cell cell = read_cell(reader.fields()[j].text, missing);
      scan.columns[j].count(cell.kind, reader.line());
      scan.columns[j].values.push_back(cell.value);
    }
    scan.lines.push_back(reader.line());
  }
  if (reader.defect())
    fail_at_line(path, reader.defect()->line, {},
                 reader.defect()->is_open_quote ? FileFault::truncated : FileFault::malformed,
                 reader.defect()->reason);
  return scan;
}

// Settles the first record: names, taken out of the rows, or a row like the others.
std::vector<std::string> settle_first_record(Scan& scan, bool is_header) {
  std::vector<std::string> names;
  for (std::size_t j = 0; j < scan.columns.size(); ++j) {
    const bool is_named = is_header && !scan.first[j].empty();
    names.push_back(is_named ? scan.first[j] : fmt::format("V{}", j + 1));
    if (is_header)
      scan.columns[j].values.erase(scan.columns[j].values.begin());
    else
      scan.columns[j].count(scan.first_kinds[j], scan.lines.front());
  }
  if (is_header) scan.lines.erase(scan.lines.begin());
  return names;
}

LineEnding line_ending(const LineEndCounts& ends) {
  const int kinds = (ends.lf > 0) + (ends.crlf > 0) + (ends.cr > 0);
  if (kinds > 1) return LineEnding::mixed;
  if (kinds == 0) return LineEnding::none;
  return ends.lf > 0 ? LineEnding::lf : ends.crlf > 0 ? LineEnding::crlf : LineEnding::cr;
}

struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
};
using LevelCodes = std::unordered_map<std::string, std::int32_t, TextHash, std::equal_to<>>;

void add_text(std::string_view text, bool is_missing, LevelCodes& codes, Column& column) {
  if (is_missing) {
    column.codes.push_back(kMissingCode);
    return;
  }
  auto found = codes.find(text);
  if (found == codes.end()) {
    found = codes.emplace(text, static_cast<std::int32_t>(column.levels.size())).first;
    column.levels.emplace_back(text);
    column.level_counts.push_back(0);
  }
  ++column.level_counts[static_cast<std::size_t>(found->second)];
  column.codes.push_back(found->second);
}

// A second reading for the columns that turned out to be text, so that numbers never become strings.
void read_texts(RecordReader reader, const MissingSpellings& missing, Table& table) {
  std::vector<std::size_t> texts;
  for (std::size_t j = 0; j < table.columns.size(); ++j)
    if (table.understood.columns[j].type == ColumnType::text) texts.push_back(j);
  if (texts.empty()) return;
  std::vector<LevelCodes> codes(table.columns.size());
  if (table.understood.header) reader.next();
  while (reader.next())
    for (const std::size_t j : texts) {
      const std::string_view text = reader.fields()[j].text;
      add_text(text, missing.contains(text), codes[j], table.columns[j]);
    }
}

// What only the second reading knows of a text column.
void complete_text_facts(const Table& table, const Column& column, ColumnFacts& facts) {
  if (facts.type != ColumnType::text) return;
  facts.n_levels = static_cast<std::int64_t>(column.levels.size());
  const auto at = std::lower_bound(table.lines.begin(), table.lines.end(), facts.misfit->line);
  const std::int32_t code = column.codes[static_cast<std::size_t>(at - table.lines.begin())];
  facts.misfit->text = column.levels[static_cast<std::size_t>(code)];
  facts.remark = remark_on(facts.misfit->text, table.understood.decimal_mark);
}

void make_columns(Scan& scan, const std::vector<std::string>& names, Table& table) {
  table.lines = std::move(scan.lines);
  for (std::size_t j = 0; j < scan.columns.size(); ++j) {
    ColumnFacts facts = column_facts(scan.columns[j], table.understood.decimal_mark);
    facts.name = names[j];
    Column column;
    if (facts.type == ColumnType::number) column.values = std::move(scan.columns[j].values);
    table.understood.columns.push_back(std::move(facts));
    table.columns.push_back(std::move(column));
  }
}

Body body_of(std::string_view text, Understood& understood) {
  check_text(text, understood.path);
  understood.byte_order_mark = text.substr(0, kByteOrderMark.size()) == kByteOrderMark;
  if (understood.byte_order_mark) text.remove_prefix(kByteOrderMark.size());
  Body body{text, 1, std::nullopt};
  take_separator_line(body);
  return body;
}

char separator_of(const Body& body, const CsvOptions& options) {
  if (options.separator) return *options.separator;
  return body.separator ? *body.separator : find_separator(body.text);
}

void settle_file_facts(const RecordReader& reader, const Scan& scan, const CsvOptions& options,
                       Understood& understood) {
  if (scan.lines.empty())
    throw DataError(FileFault::refused, {understood.path, {}, {}, 1},
                    "a header and no row below it; is the file complete?");
  understood.decimal_mark = options.decimal_mark ? *options.decimal_mark : find_decimal_mark(scan);
  understood.quotes = reader.has_quotes();
  understood.line_ending = line_ending(reader.line_ends());
  understood.n_blank_lines = reader.n_blank_lines();
  understood.n_rows = static_cast<std::int64_t>(scan.lines.size());
}

Table parse(std::string_view text, const std::string& name, const CsvOptions& options) {
  Table table;
  Understood& understood = table.understood;
  understood.path = name;
  const Body body = body_of(text, understood);
  understood.separator = separator_of(body, options);
  const MissingSpellings missing(options.missing);
  RecordReader reader(body.text, understood.separator, body.first_line);
  Scan scan = scan_records(reader, name, missing);
  understood.header_was_set = options.header != Header::detect;
  understood.header =
      understood.header_was_set ? options.header == Header::present : first_record_is_header(scan);
  const std::vector<std::string> names = settle_first_record(scan, understood.header);
  settle_file_facts(reader, scan, options, understood);
  make_columns(scan, names, table);
  read_texts(RecordReader(body.text, understood.separator, body.first_line), missing, table);
  for (std::size_t j = 0; j < table.columns.size(); ++j)
    complete_text_facts(table, table.columns[j], understood.columns[j]);
  return table;
}

std::string read_whole(const std::string& path) {
  try {
    const InputFile file(path);
    std::string text(static_cast<std::size_t>(file.size()), '\0');
    file.read(0, text.data(), text.size());
    return text;
  } catch (const FileError& error) {
    throw DataError(error.fault(), error.place(), error.reason());
  }
}

}  // namespace

Table parse_csv(const std::string& text, const std::string& name, const CsvOptions& options) {
  check_options(options);
  return parse(text, name, options);
}

Table read_csv(const std::string& path, const CsvOptions& options) {
  check_options(options);
  return parse(read_whole(path), path, options);
}

const char* to_string(LineEnding ending) {
  switch (ending) {
    case LineEnding::none:
      return "none";
    case LineEnding::lf:
      return "LF";
    case LineEnding::crlf:
      return "CRLF";
    case LineEnding::cr:
      return "CR";
    case LineEnding::mixed:
      return "mixed";
  }
  throw ArgumentError("to_string(LineEnding): value outside the enumeration");
}

}  // namespace headspan::table
