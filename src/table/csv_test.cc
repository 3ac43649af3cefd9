#include "headspan/table/csv.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "headspan/numeric/error.h"

namespace headspan::table {
namespace {

using namespace std::string_literals;

Table read(const std::string& text, const CsvOptions& options = {}) {
  return parse_csv(text, "t.csv", options);
}

std::vector<std::string> names(const Table& table) {
  std::vector<std::string> result;
  for (const ColumnFacts& column : table.understood.columns) result.push_back(column.name);
  return result;
}

std::vector<ColumnType> types(const Table& table) {
  std::vector<ColumnType> result;
  for (const ColumnFacts& column : table.understood.columns) result.push_back(column.type);
  return result;
}

using Names = std::vector<std::string>;
using Values = std::vector<double>;
constexpr auto kNumber = ColumnType::number;
constexpr auto kText = ColumnType::text;

TEST(Csv, ReadsAPlainTable) {
  const Table table = read("a,b\n1,2.5\n-3,4e2\n");
  EXPECT_EQ(names(table), (Names{"a", "b"}));
  EXPECT_EQ(table.columns[0].values, (Values{1, -3}));
  EXPECT_EQ(table.columns[1].values, (Values{2.5, 400}));
  EXPECT_EQ(table.lines, (std::vector<std::int64_t>{2, 3}));
  const Understood& understood = table.understood;
  EXPECT_EQ(understood.separator, ',');
  EXPECT_EQ(understood.decimal_mark, '.');
  EXPECT_EQ(understood.line_ending, LineEnding::lf);
  EXPECT_TRUE(understood.header);
  EXPECT_FALSE(understood.header_was_set || understood.quotes || understood.byte_order_mark);
  EXPECT_EQ(understood.n_rows, 2);
}

TEST(Csv, EverySpellingOfANumber) {
  const Table table = read("x\n+1\n-2.\n.5\n1e5\n1E-2\n-.25e+1\n 7 \n\"8\"\n00012\n1e-400\n4.9e-324\n");
  EXPECT_EQ(table.understood.columns[0].type, kNumber);
  EXPECT_EQ(table.columns[0].values,
            (Values{1, -2, .5, 1e5, .01, -2.5, 7, 8, 12, 0, std::numeric_limits<double>::denorm_min()}));
}

TEST(Csv, WhatIsNoNumberMakesText) {
  for (const std::string cell : {"0x1F", "1e", "1.2.3", "--1", "+", "e5", "1 2", "12%", "$3", "1d5", "1_000",
                                 "infinite", "\xd9\xa1\xd9\xa2", "1.5f"}) {
    const Table table = read(fmt::format("x,y\n1,1\n{},2\n", cell));
    EXPECT_EQ(types(table), (std::vector<ColumnType>{kText, kNumber})) << cell;
    ASSERT_TRUE(table.understood.columns[0].misfit);
    EXPECT_EQ(table.understood.columns[0].misfit->line, 3);
    EXPECT_EQ(table.understood.columns[0].misfit->text, cell);
    EXPECT_EQ(table.understood.columns[0].misfit->n_rows, 1);
  }
}

TEST(Csv, InfinityIsKeptAndCounted) {
  const std::string beyond = fmt::format("1{}e-10", std::string(400, '0'));
  const Table table =
      read(fmt::format("x\n1\n-Inf\n+infinity\n1e999\n{}\n0.{}1\n", beyond, std::string(400, '0')));
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(table.columns[0].values, (Values{1, -infinity, infinity, infinity, infinity, 0}));
  EXPECT_EQ(table.understood.columns[0].n_infinite, 4);
}

TEST(Csv, EverySpellingOfMissing) {
  const Table table = read(
      "x,y\n,1\nNA,1\nN/A,1\nn/a,1\n#N/A,1\n<NA>,1\nNaN,1\nnan,1\nnull,1\nNULL,1\n.,1\n?,1\n"
      "\"NA\",1\n  ,1\n\"\",1\n3,1\n");
  EXPECT_EQ(table.understood.columns[0].type, kNumber);
  EXPECT_EQ(table.understood.columns[0].n_missing, 15);
  EXPECT_TRUE(std::isnan(table.columns[0].values[0]));
  EXPECT_EQ(table.columns[0].values.back(), 3.0);
}

TEST(Csv, MissingSpellingsOfOnesOwn) {
  CsvOptions options;
  options.missing = {"-999", "none"};
  const Table table = read("x,y\n-999,none\n-9,NA\n1,none\n", options);
  EXPECT_EQ(table.understood.columns[0].n_missing, 1);
  EXPECT_EQ(table.columns[0].values[1], -9.0);
  EXPECT_EQ(table.columns[1].levels, Names{"NA"});
  EXPECT_EQ(table.columns[1].codes, (std::vector<std::int32_t>{kMissingCode, 0, kMissingCode}));
}

TEST(Csv, AColumnWithoutValuesIsEmpty) {
  const Table table = read("x,y,z\n1,,a\n2,NA,b\n");
  EXPECT_EQ(types(table), (std::vector<ColumnType>{kNumber, ColumnType::empty, kText}));
  EXPECT_EQ(table.understood.columns[1].n_missing, 2);
}

TEST(Csv, QuotesHoldSeparatorsLineEndsAndQuotes) {
  const Table table =
      read("name,v\n\"Smith, \"\"J.\"\"\",1\n\"two\nlines\r\nthree\",2\n  \"padded\"  ,3\nsize 5\" x,4\n");
  EXPECT_EQ(table.columns[0].levels, (Names{"Smith, \"J.\"", "two\nlines\r\nthree", "padded", "size 5\" x"}));
  EXPECT_EQ(table.lines, (std::vector<std::int64_t>{2, 3, 6, 7}));
  EXPECT_TRUE(table.understood.quotes);
}

TEST(Csv, TextLevelsInOrderOfAppearanceWithCounts) {
  const Table table = read("g,v\nb,1\na,2\nNA,3\nb,4\nc,5\nb,6\n");
  EXPECT_EQ(table.columns[0].levels, (Names{"b", "a", "c"}));
  EXPECT_EQ(table.columns[0].level_counts, (std::vector<std::int64_t>{3, 1, 1}));
  EXPECT_EQ(table.columns[0].codes, (std::vector<std::int32_t>{0, 1, kMissingCode, 0, 2, 0}));
  EXPECT_EQ(table.understood.columns[0].n_levels, 3);
  EXPECT_EQ(table.understood.columns[0].n_missing, 1);
}

TEST(Csv, FindsEverySeparator) {
  for (const char separator : {',', ';', '\t', '|'}) {
    std::string text = "a,b,c\n1,2,3\n4,,6\n";
    for (char& c : text)
      if (c == ',') c = separator;
    const Table table = read(text);
    EXPECT_EQ(table.understood.separator, separator);
    EXPECT_EQ(table.understood.columns.size(), 3u);
    EXPECT_EQ(table.columns[2].values, (Values{3, 6})) << separator;
  }
}

TEST(Csv, SeparatorsInsideFieldsDoNotMislead) {
  EXPECT_EQ(read("n;v\nMiller, Ann;1,5\nLee, Bo;2,5\n").understood.separator, ';');
  EXPECT_EQ(read("n,v\n\"a;b;c\",1\n\"d;e;f\",2\n").understood.separator, ',');
  EXPECT_EQ(read("1,5;2,25\n3,5;4,75\n").understood.separator, ';');
  EXPECT_EQ(read("a|b\tc\n1|2\t3\n").understood.separator, '\t');
}

TEST(Csv, OneColumnHasNoSeparator) {
  EXPECT_EQ(read("x\n1\n2\n").understood.separator, '\0');
  const Table decimal = read("x\n1,5\n2,75\n3\n");
  EXPECT_EQ(decimal.understood.separator, '\0');
  EXPECT_EQ(decimal.understood.decimal_mark, ',');
  EXPECT_EQ(decimal.columns[0].values, (Values{1.5, 2.75, 3}));
  const Table words = read("comment\nhello\nwell, well\nno\n");
  EXPECT_EQ(words.understood.separator, '\0');
  EXPECT_EQ(words.columns[0].levels[1], "well, well");
}

TEST(Csv, TheSeparatorCanBeSaid) {
  CsvOptions options;
  options.separator = ',';
  EXPECT_EQ(names(read("a;b,c\n1;2,3\n", options)), (Names{"a;b", "c"}));
  options.separator = ':';
  EXPECT_EQ(names(read("a:b\n1:2\n", options)), (Names{"a", "b"}));
  EXPECT_EQ(names(read("sep=:\na:b\n1:2\n")), (Names{"a", "b"}));
  EXPECT_EQ(read("sep=;\r\na;b\r\n1;2\r\n").lines, std::vector<std::int64_t>{3});
  for (const char bad : {'"', '\n', '\r', '\xe9'}) {
    options.separator = bad;
    EXPECT_THROW(read("a\n1\n", options), ArgumentError);
  }
}

TEST(Csv, DecimalCommasWithSemicolonsOrQuotes) {
  const Table semicolon = read("a;b\n1,5;-2,25e1\n1,234;3\n");
  EXPECT_EQ(semicolon.understood.decimal_mark, ',');
  EXPECT_EQ(semicolon.columns[0].values, (Values{1.5, 1.234}));
  EXPECT_EQ(semicolon.columns[1].values, (Values{-22.5, 3}));
  const Table quoted = read("a,b\n\"1,5\",x\n\"0,25\",y\n");
  EXPECT_EQ(quoted.columns[0].values, (Values{1.5, .25}));
}

TEST(Csv, CommasThatCouldBeThousandsAreNotGuessed) {
  const Table table = read("pay,v\n\"1,234\",1\n\"12,500\",2\n");
  EXPECT_EQ(table.understood.decimal_mark, '.');
  EXPECT_EQ(types(table), (std::vector<ColumnType>{kText, kNumber}));
  ASSERT_TRUE(table.understood.columns[0].remark);
  EXPECT_NE(table.understood.columns[0].remark->find("thousands"), std::string::npos);
  CsvOptions options;
  options.decimal_mark = ',';
  EXPECT_EQ(read("pay,v\n\"1,234\",1\n\"12,500\",2\n", options).columns[0].values, (Values{1.234, 12.5}));
  for (const std::string cell : {"1,234,567", "1.234.567", "1 234", "1'234.50", "1.234,5"}) {
    const Table grouped = read(fmt::format("pay;v\n{};1\n", cell));
    EXPECT_EQ(grouped.understood.columns[0].type, kText) << cell;
    EXPECT_TRUE(grouped.understood.columns[0].remark) << cell;
  }
}

TEST(Csv, PointsThatCouldBeThousandsBesideDecimalCommasAreNotGuessed) {
  const Table table = read("income;share\n12.351;13,11\n25.879;12,26\n");
  EXPECT_EQ(table.understood.decimal_mark, ',');
  EXPECT_EQ(types(table), (std::vector<ColumnType>{kText, kNumber}));
  EXPECT_TRUE(table.understood.columns[0].remark);
}

TEST(Csv, BothMarksInOneFileKeepTheCommoner) {
  const Table table = read("a;b;c\n1.5;2.5;1,5\n1.25;2;2,5\n");
  EXPECT_EQ(table.understood.decimal_mark, '.');
  EXPECT_EQ(types(table), (std::vector<ColumnType>{kNumber, kNumber, kText}));
  EXPECT_EQ(types(read("a;b\n1.5;x\n2,5;y\n")), (std::vector<ColumnType>{kText, kText}));
}

TEST(Csv, LineEnds) {
  EXPECT_EQ(read("a,b\r\n1,2\r\n").understood.line_ending, LineEnding::crlf);
  EXPECT_EQ(read("a,b\r1,2\r3,4\r").understood.line_ending, LineEnding::cr);
  EXPECT_EQ(read("a,b\n1,2\r\n3,4").understood.line_ending, LineEnding::mixed);
  EXPECT_EQ(read("a,b\r1,2\r3,4").columns[1].values, (Values{2, 4}));
  CsvOptions options;
  options.header = Header::absent;
  EXPECT_EQ(read("1,2", options).understood.line_ending, LineEnding::none);
}

TEST(Csv, ByteOrderMarkAndBlankLinesAreSkipped) {
  const Table table = read("\xef\xbb\xbf\na,b\n\n1,2\n   \n3,4\n\n\n");
  EXPECT_TRUE(table.understood.byte_order_mark);
  EXPECT_EQ(names(table), (Names{"a", "b"}));
  EXPECT_EQ(table.lines, (std::vector<std::int64_t>{4, 6}));
  EXPECT_EQ(table.understood.n_blank_lines, 5);
}

TEST(Csv, ALineOfTabsIsARow) {
  const Table table = read("a\tb\n\t\n1\t2\n");
  EXPECT_EQ(table.understood.n_rows, 2);
  EXPECT_EQ(table.understood.columns[0].n_missing, 1);
}

TEST(Csv, FindsWhetherThereIsAHeader) {
  EXPECT_TRUE(read("a,b\nx,y\nu,v\n").understood.header);                   // words over words
  EXPECT_TRUE(read("id,1990,1991\n1,2.5,3\n2,3.5,4\n").understood.header);  // years are names
  EXPECT_TRUE(read("\"\",\"x\"\n\"1\",5\n\"2\",6\n").understood.header);    // R's column of row numbers
  EXPECT_FALSE(read("1,2\n3,4\n").understood.header);
  EXPECT_FALSE(read("Albania,1925,57.63\nAlgeria,10620,76\n").understood.header);
  EXPECT_FALSE(read("NA,red\n1,blue\n").understood.header);
  EXPECT_FALSE(read("bad,2.5\n1,3.5\n").understood.header);
  EXPECT_FALSE(read("7\n").understood.header);
}

TEST(Csv, WithoutAHeaderNamesArePositions) {
  const Table table = read("1,x\n3,y\n");
  EXPECT_EQ(names(table), (Names{"V1", "V2"}));
  EXPECT_EQ(table.understood.n_rows, 2);
  EXPECT_EQ(table.columns[0].values, (Values{1, 3}));
  EXPECT_EQ(table.columns[1].levels, (Names{"x", "y"}));
  EXPECT_EQ(names(read("a,,c\n1,2,3\n")), (Names{"a", "V2", "c"}));
}

TEST(Csv, TheHeaderCanBeSaid) {
  CsvOptions options;
  options.header = Header::present;
  const Table named = read("1,2\n3,4\n", options);
  EXPECT_EQ(names(named), (Names{"1", "2"}));
  EXPECT_TRUE(named.understood.header && named.understood.header_was_set);
  options.header = Header::absent;
  const Table unnamed = read("a,b\n3,4\n", options);
  EXPECT_EQ(names(unnamed), (Names{"V1", "V2"}));
  EXPECT_EQ(unnamed.understood.columns[0].misfit->line, 1);
  EXPECT_EQ(unnamed.understood.columns[0].misfit->text, "a");
}

struct Defect {
  const char* name;
  std::string text;
  FileFault fault;
  std::optional<std::uint64_t> line;
  const char* says;
};

std::vector<Defect> defects() {
  constexpr auto kMalformed = FileFault::malformed;
  constexpr auto kUnsupported = FileFault::unsupported;
  return {
      {"empty", "", FileFault::truncated, {}, "empty"},
      {"blank lines only", "\n \r\n", FileFault::truncated, {}, "nothing but blank lines"},
      {"mark only", "\xef\xbb\xbf", FileFault::truncated, {}, "nothing but blank lines"},
      {"header only", "a,b\n", FileFault::refused, 1, "no row"},
      {"short row", "a,b\n1,2\n3\n", kMalformed, 3, "1 field where line 1 has 2 fields"},
      {"long row", "a,b\n1,2\n3,4,5\n", kMalformed, 3, "3 fields where line 1 has 2"},
      {"row names without a name", "a,b\nr1,1,2\nr2,3,4\n", kMalformed, 2, "names of rows"},
      {"a title", "My data\na,b\n1,2\n3,4\n", kMalformed, 2, "title"},
      {"open quote", "a,b\n1,2\n\"3,4\n5,6\n", FileFault::truncated, 3, "quote opens here"},
      {"text after a quote", "a,b\n1,2\n\"x\"y,4\n", kMalformed, 3, "'x'"},
      {"NUL", "a,b\n1,2\n3,\0004\n"s, kMalformed, 3, "zero byte"},
      {"Latin-1", "a,b\n1,caf\xe9\n", kMalformed, 2, "0xe9"},
      {"overlong UTF-8", "a,b\n1,\xc0\xaf\n", kMalformed, 2, "UTF-8"},
      {"surrogate in UTF-8", "a,b\n1,2\n1,\xed\xa0\x80\n", kMalformed, 3, "UTF-8"},
      {"UTF-8 cut short", "a,b\n1,\xe2\x82", kMalformed, 2, "UTF-8"},
      {"UTF-16 little-endian", "\xff\xfe"s + "a\0,\0b\0\n\0"s, kUnsupported, {}, "UTF-16"},
      {"UTF-16 big-endian", "\xfe\xff"s + "\0a\0,"s, kUnsupported, {}, "UTF-16"},
      {"UTF-16 without mark", "a\0,\0b\0\n\0001\0,\0002\0"s, kUnsupported, {}, "UTF-16"},
      {"gzip", "\x1f\x8b\x08\0\0"s, kUnsupported, {}, "gunzip"},
      {"bzip2", "BZh91AY", kUnsupported, {}, "bunzip2"},
      {"xz", "\xfd" + "7zXZ\0"s, kUnsupported, {}, "unxz"},
      {"zstd", "\x28\xb5\x2f\xfd\x01", kUnsupported, {}, "unzstd"},
      {"spreadsheet", "PK\x03\x04\x14", kUnsupported, {}, "save it as CSV"},
      {"old spreadsheet", "\xd0\xcf\x11\xe0\xa1", kUnsupported, {}, "save it as CSV"},
      {"HTML", "\n<!DOCTYPE html><html>", kUnsupported, {}, "HTML"},
      {"XML", "<?xml version=\"1.0\"?>", kUnsupported, {}, "XML"},
      {"JSON lines", "{\"a\": 1}\n{\"a\": 2}\n", kUnsupported, {}, "JSON"},
      {"JSON list", "[\n  {\"a\": 1}]", kUnsupported, {}, "JSON"},
      {"git-LFS pointer", "version https://git-lfs.github.com/spec/v1\n", kUnsupported, {}, "git lfs pull"},
      {"Parquet", "PAR1\x15\x04", kUnsupported, {}, "Parquet"},
      {"NumPy", "\x93NUMPY\x01", kUnsupported, {}, "NumPy"},
  };
}

TEST(Csv, EachDefectIsNamed) {
  for (const Defect& defect : defects()) {
    SCOPED_TRACE(defect.name);
    try {
      read(defect.text);
      ADD_FAILURE() << "it was accepted";
    } catch (const DataError& error) {
      EXPECT_EQ(error.fault(), defect.fault) << error.what();
      EXPECT_EQ(error.place().path, "t.csv");
      EXPECT_EQ(error.place().line, defect.line) << error.what();
      EXPECT_NE(error.reason().find(defect.says), std::string::npos) << error.what();
    }
  }
}

TEST(Csv, NoFileAndAFolder) {
  const auto fault = [](const std::string& path) -> std::optional<FileFault> {
    try {
      read_csv(path);
    } catch (const DataError& error) {
      return error.fault();
    }
    return std::nullopt;
  };
  EXPECT_EQ(fault(HEADSPAN_SOURCE_DIR "/there-is-no-such.csv"), FileFault::missing);
  EXPECT_EQ(fault(HEADSPAN_SOURCE_DIR), FileFault::unreadable);
}

TEST(Csv, ControlCharactersOfAFileDoNotReachAMessage) {
  try {
    read("a,b\n\"x\x1b[31m\"y,2\n");
    ADD_FAILURE();
  } catch (const DataError& error) {
    EXPECT_EQ(std::string(error.what()).find('\x1b'), std::string::npos);
  }
}

// A writer after RFC 4180 with every freedom that it leaves.
class RandomWriter {
 public:
  explicit RandomWriter(std::uint32_t seed) : random_(seed) {}
  std::size_t below(std::size_t n) { return random_() % n; }
  std::string cell() {
    static const std::vector<std::string> kPieces = {"a",    "\"", ",", ";",        "\n",
                                                     "\r\n", "7",  ".", "\xc3\xa9", "|"};
    std::string text = "w";  // never blank, never missing, never a number
    for (std::size_t n = below(5); n > 0; --n) text += kPieces[below(kPieces.size())];
    return text + "z";
  }
  std::string quoted(const std::string& cell) {
    const bool must = cell.find_first_of("\",;|\r\n") != std::string::npos;
    if (!must && below(2) == 0) return cell;
    std::string text = "\"";
    for (const char c : cell) text.append(c == '"' ? 2 : 1, c);
    return text + '"';
  }

 private:
  std::mt19937 random_;
};

TEST(Csv, RandomTablesComeBackAsWritten) {
  const std::vector<std::string> ends = {"\n", "\r\n", "\r"};
  for (std::uint32_t seed = 0; seed < 300; ++seed) {
    RandomWriter writer(seed);
    CsvOptions options;
    options.separator = ",;|\t"[writer.below(4)];
    options.header = Header::present;
    const std::string end = ends[writer.below(ends.size())];
    const std::size_t width = 1 + writer.below(4);
    std::vector<Names> cells(2 + writer.below(6), Names(width));
    std::string text;
    for (Names& row : cells) {
      for (std::size_t j = 0; j < width; ++j) {
        row[j] = writer.cell();
        if (j > 0) text += *options.separator;
        text += writer.quoted(row[j]);
      }
      text += end;
    }
    SCOPED_TRACE(text);
    const Table table = read(text, options);
    EXPECT_EQ(names(table), cells[0]);
    ASSERT_EQ(table.understood.n_rows + 1, static_cast<std::int64_t>(cells.size()));
    for (std::size_t i = 1; i < cells.size(); ++i)
      for (std::size_t j = 0; j < width; ++j) {
        const Column& column = table.columns[j];
        EXPECT_EQ(column.levels[static_cast<std::size_t>(column.codes[i - 1])], cells[i][j]);
      }
  }
}

TEST(Csv, AnyTextIsReadOrRefused) {
  const std::string alphabet = "a1,;\"\n\r\t |.-e\xc3\xa9";
  std::mt19937 random(1);
  int n_read = 0;
  for (int trial = 0; trial < 20000; ++trial) {
    std::string text;
    for (std::size_t n = random() % 24; n > 0; --n) text += alphabet[random() % alphabet.size()];
    try {
      const Table table = read(text);
      ++n_read;
      for (std::size_t j = 0; j < table.columns.size(); ++j) {
        const std::size_t held = std::max(table.columns[j].values.size(), table.columns[j].codes.size());
        const bool is_empty = table.understood.columns[j].type == ColumnType::empty;
        ASSERT_EQ(static_cast<std::int64_t>(held), is_empty ? 0 : table.understood.n_rows) << text;
      }
    } catch (const DataError& error) {
      ASSERT_FALSE(error.reason().empty());
    }
  }
  EXPECT_GT(n_read, 1000);
}

// Beyond the sample from which the separator is found.
TEST(Csv, ALongTableKeepsEveryRow) {
  std::string text = "i,half,word\n";
  constexpr int kRows = 60000;
  for (int i = 0; i < kRows; ++i) text += fmt::format("{0},{0}.5,\"w, {1}\"\n", i, i % 7);
  const Table table = read(text);
  ASSERT_EQ(table.understood.n_rows, kRows);
  EXPECT_EQ(table.lines.back(), kRows + 1);
  for (int i = 0; i < kRows; ++i) {
    ASSERT_EQ(table.columns[0].values[static_cast<std::size_t>(i)], i);
    ASSERT_EQ(table.columns[1].values[static_cast<std::size_t>(i)], i + 0.5);
    ASSERT_EQ(table.columns[2].codes[static_cast<std::size_t>(i)], i % 7);
  }
}

}  // namespace
}  // namespace headspan::table
