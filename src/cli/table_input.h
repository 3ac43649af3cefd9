#pragma once
// Tables named on the command line.

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "headspan/table/columns.h"
#include "headspan/table/csv.h"

namespace headspan::cli {

/// The words that say how to read a table.
struct TableArguments {
  std::optional<std::string> separator, decimal_mark, missing;
  std::string header = "auto";
};

/// Declares --separator, --decimal, --header and --missing in a group of their own.
void declare_table_options(CLI::App& command, TableArguments& arguments);

/// Throws UsageError.
table::CsvOptions csv_options(const TableArguments& arguments);

/// The table in a file, or in standard input where `path` is "-". Throws what read_csv throws.
table::Table read_table(const std::string& path, const table::CsvOptions& options);

/// The parts of a word that commas separate.
std::vector<std::string> between_commas(const std::string& word);

/// Column names from words: each word is the name of a column, or several names between commas. Empty names
/// are a UsageError of `option`.
std::vector<std::string> column_names(const table::Table& table, const std::vector<std::string>& words,
                                      const std::string& option);

}  // namespace headspan::cli
