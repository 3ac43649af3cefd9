#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <unordered_map>

#include "estimator/prepare.h"
#include "headspan/estimator/encoding.h"
#include "headspan/numeric/error.h"
#include "headspan/table/inputs.h"

namespace headspan::estimator {
namespace {

using table::ColumnType;
using table::Table;

[[noreturn]] void refuse_cell(const Table& table, const std::string& name, std::int64_t line,
                              const std::string& reason) {
  throw DataError(
      FileFault::refused,
      {table.understood.path, fmt::format("column '{}'", name), {}, static_cast<std::uint64_t>(line)},
      reason);
}

void check_numbers(const Table& table, std::size_t at, const std::vector<Index>& rows) {
  const table::ColumnFacts& facts = table.understood.columns[at];
  if (facts.type == ColumnType::text)
    refuse_cell(
        table, facts.name, facts.misfit ? facts.misfit->line : table.lines.front(),
        fmt::format("the model learnt numbers here and this says '{}'; correct it, or leave it empty if it "
                    "is missing",
                    facts.misfit ? facts.misfit->text : table.columns[at].levels.front()));
  if (facts.type == ColumnType::empty) return;
  for (const Index row : rows) {
    const auto i = static_cast<std::size_t>(row);
    if (std::isinf(table.columns[at].values[i]))
      refuse_cell(table, facts.name, table.lines[i],
                  "an infinite value, or one beyond the largest double; correct it, or leave it empty if it "
                  "is missing");
  }
}

void note_unseen(const Table& table, Index row, const std::string& cell, ColumnRepair& repair) {
  if (repair.n_unseen++ > 0) return;
  repair.first_unseen = table.lines[static_cast<std::size_t>(row)];
  repair.unseen = cell;
}

void encode_number(const EncodedColumn& learnt, const Table& table, std::size_t at,
                   const std::vector<Index>& rows, Matrix& x, Index first, ColumnRepair& repair) {
  check_numbers(table, at, rows);
  const bool is_empty = table.understood.columns[at].type == ColumnType::empty;
  for (Index i = 0; i < x.rows(); ++i) {
    const auto row = static_cast<std::size_t>(rows[static_cast<std::size_t>(i)]);
    const double value = is_empty ? std::nan("") : table.columns[at].values[row];
    const bool is_missing = std::isnan(value);
    x(i, first) = is_missing ? learnt.fill : value;
    if (learnt.has_missing) x(i, first + 1) = is_missing ? 1.0 : 0.0;
    if (is_missing) ++repair.n_filled;
  }
}

void encode_category(const EncodedColumn& learnt, const Table& table, std::size_t at,
                     const std::vector<Index>& rows, Matrix& x, Index first, ColumnRepair& repair) {
  std::unordered_map<std::string, Index> places;
  for (const std::string& level : learnt.levels) places.emplace(level, static_cast<Index>(places.size()));
  const Index missing_place = learnt.has_missing ? std::ssize(learnt.levels) : -1;
  const bool is_pair = std::ssize(learnt.levels) + (learnt.has_missing ? 1 : 0) == 2;
  for (Index i = 0; i < x.rows(); ++i) {
    const Index row = rows[static_cast<std::size_t>(i)];
    const std::optional<std::string> cell = table::cell_text(table, at, row);
    Index place = missing_place;
    if (cell) {
      const auto found = places.find(*cell);
      place = found == places.end() ? -1 : found->second;
    }
    if (place < 0)
      note_unseen(table, row, cell.value_or(""), repair);
    else if (is_pair)
      x(i, first) = place == 0 ? -0.5 : 0.5;
    else
      x(i, first + place) = 1.0;
  }
}

std::vector<std::string> unknown_columns(const Encoding& encoding, const Table& table) {
  std::vector<std::string> unknown;
  for (const table::ColumnFacts& facts : table.understood.columns) {
    const auto& known = encoding.facts.columns;
    const bool was_there = std::any_of(
        known.begin(), known.end(), [&](const ColumnDecision& column) { return column.name == facts.name; });
    const auto& passed = encoding.not_inputs;
    if (!was_there && std::find(passed.begin(), passed.end(), facts.name) == passed.end())
      unknown.push_back(facts.name);
  }
  return unknown;
}

}  // namespace

Index EncodedColumn::width() const {
  const Index missing = has_missing ? 1 : 0;
  if (!is_category) return 1 + missing;
  const Index n_levels = std::ssize(levels) + missing;
  return n_levels == 2 ? 1 : n_levels;
}

Index Encoding::width() const {
  return std::accumulate(columns.begin(), columns.end(), Index{0},
                         [](Index sum, const EncodedColumn& column) { return sum + column.width(); });
}

TargetRows target_rows(const Table& table, const std::string& target,
                       const std::optional<std::string>& weight) {
  std::vector<std::string> names = {target};
  if (weight) names.push_back(*weight);
  const table::NumericRows numbers = table::select_numeric(table, names, std::nullopt);
  for (Index i = 0; weight && i < numbers.x.rows(); ++i)
    if (numbers.x(i, 1) < 0.0)
      refuse_cell(table, *weight, numbers.lines[static_cast<std::size_t>(i)],
                  fmt::format("a weight of {}; weights count rows and are not negative", numbers.x(i, 1)));
  TargetRows out{{}, numbers.x.col(0), weight ? Vector(numbers.x.col(1)) : Vector(), numbers.dropped};
  std::size_t next_dropped = 0;
  for (std::size_t i = 0; i < table.lines.size(); ++i) {
    if (next_dropped < out.dropped.size() && out.dropped[next_dropped].line == table.lines[i])
      ++next_dropped;
    else
      out.rows.push_back(static_cast<Index>(i));
  }
  return out;
}

EncodedRows encode(const Encoding& encoding, const Table& table, const std::vector<Index>& rows) {
  EncodedRows out{Matrix::Zero(std::ssize(rows), encoding.width()), {}, unknown_columns(encoding, table)};
  Index first = 0;
  for (const EncodedColumn& column : encoding.columns) {
    const std::size_t at = table::column_index(table, column.name);
    ColumnRepair repair;
    repair.name = column.name;
    (column.is_category ? encode_category : encode_number)(column, table, at, rows, out.x, first, repair);
    if (repair.n_filled > 0 || repair.n_unseen > 0) out.repairs.push_back(std::move(repair));
    first += column.width();
  }
  return out;
}

std::vector<Index> all_rows(const Table& table) { return all_rows(std::ssize(table.lines)); }

}  // namespace headspan::estimator
