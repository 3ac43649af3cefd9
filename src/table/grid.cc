#include "headspan/table/grid.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "headspan/numeric/error.h"
#include "table/csv_text.h"

namespace headspan::table {
namespace {

constexpr Index kNone = -1;

/// The cells of one column as labels.
class LabelColumn {
 public:
  LabelColumn(const Table& table, const std::string& name)
      : name_(name),
        facts_(table.understood.columns[column_index(table, name)]),
        column_(table.columns[column_index(table, name)]) {}

  const std::string& name() const { return name_; }
  const std::vector<std::string>& labels() const { return labels_; }

  /// Number of the label of table row `i`, given when it is first seen; kNone where the cell is missing.
  Index take(std::size_t i) {
    const std::optional<double> key = key_of(i);
    if (!key) return kNone;
    const auto [place, is_new] = numbers_.try_emplace(*key, static_cast<Index>(labels_.size()));
    if (is_new) labels_.push_back(text_of(*key));
    return place->second;
  }
  /// The same for a label that may not have been seen.
  Index find(std::size_t i) const {
    const std::optional<double> key = key_of(i);
    const auto place = key ? numbers_.find(*key) : numbers_.end();
    return place == numbers_.end() ? kNone : place->second;
  }

 private:
  std::optional<double> key_of(std::size_t i) const {
    if (facts_.type == ColumnType::number && !std::isnan(column_.values[i])) return column_.values[i];
    if (facts_.type == ColumnType::text && column_.codes[i] != kMissingCode) return column_.codes[i];
    return std::nullopt;
  }
  std::string text_of(double key) const {
    return facts_.type == ColumnType::number ? fmt::format("{}", key)
                                             : column_.levels[static_cast<std::size_t>(key)];
  }

  std::string name_;
  const ColumnFacts& facts_;
  const Column& column_;
  std::map<double, Index> numbers_;
  std::vector<std::string> labels_;
};

std::size_t row_at_line(const Table& table, std::int64_t line) {
  return static_cast<std::size_t>(std::lower_bound(table.lines.begin(), table.lines.end(), line) -
                                  table.lines.begin());
}

class Arrangement {
 public:
  Arrangement(const Table& table, const NumericRows& rows, const std::string& outer, const std::string& inner)
      : table_(table), rows_(rows), outer_(table, outer), inner_(table, inner) {}

  Grid grid() {
    std::vector<std::pair<Index, Index>> labels;
    for (const std::int64_t line : rows_.lines) labels.emplace_back(taken(outer_, line), taken(inner_, line));
    const auto n_inner = static_cast<Index>(inner_.labels().size());
    const auto n_outer = static_cast<Index>(outer_.labels().size());
    Grid out{outer_.labels(), inner_.labels(), {}};
    // A grid far larger than the rows that could fill it is not made before that is known.
    if (n_outer > static_cast<Index>(labels.size()) / std::max<Index>(n_inner, 1)) fill_sparse(labels);
    out.row.assign(static_cast<std::size_t>(n_outer * n_inner), kNone);
    for (std::size_t i = 0; i < labels.size(); ++i) {
      Index& cell = out.row[static_cast<std::size_t>(labels[i].first * n_inner + labels[i].second)];
      if (cell != kNone) fail_twice(static_cast<std::size_t>(cell), i);
      cell = static_cast<Index>(i);
    }
    for (std::size_t cell = 0; cell < out.row.size(); ++cell)
      if (out.row[cell] == kNone)
        fail_absent(static_cast<Index>(cell) / n_inner, static_cast<Index>(cell) % n_inner);
    return out;
  }

 private:
  Index taken(LabelColumn& column, std::int64_t line) const {
    const Index label = column.take(row_at_line(table_, line));
    if (label == kNone)
      fail_at_line(
          table_.understood.path, line, column.name(), FileFault::refused,
          fmt::format("the row has no value here, so it belongs to no {}; fill it in, or remove the row",
                      column.name()));
    return label;
  }

  /// Throws for the first pair that has two rows or none.
  [[noreturn]] void fill_sparse(const std::vector<std::pair<Index, Index>>& labels) const {
    std::map<std::pair<Index, Index>, std::size_t> seen;
    for (std::size_t i = 0; i < labels.size(); ++i) {
      const auto [place, is_new] = seen.try_emplace(labels[i], i);
      if (!is_new) fail_twice(place->second, i);
    }
    for (Index outer = 0;; ++outer)
      for (Index inner = 0; inner < static_cast<Index>(inner_.labels().size()); ++inner)
        if (!seen.contains({outer, inner})) fail_absent(outer, inner);
  }

  std::string pair_text(Index outer, Index inner) const {
    return fmt::format("{} {} of {} {}", inner_.name(),
                       excerpt(inner_.labels()[static_cast<std::size_t>(inner)]), outer_.name(),
                       excerpt(outer_.labels()[static_cast<std::size_t>(outer)]));
  }

  [[noreturn]] void fail_twice(std::size_t first, std::size_t second) const {
    const std::size_t at = row_at_line(table_, rows_.lines[second]);
    fail_at_line(table_.understood.path, rows_.lines[second], {}, FileFault::refused,
                 fmt::format("{} is on line {} already; remove one, or name other columns",
                             pair_text(outer_.find(at), inner_.find(at)), rows_.lines[first]));
  }

  [[noreturn]] void fail_absent(Index outer, Index inner) const {
    const std::string pair = pair_text(outer, inner);
    for (const DroppedRow& dropped : rows_.dropped) {
      const std::size_t at = row_at_line(table_, dropped.line);
      if (outer_.find(at) == outer && inner_.find(at) == inner)
        fail_at_line(
            table_.understood.path, dropped.line, dropped.column, FileFault::refused,
            fmt::format("missing, so {} has no usable row, and every {} must be there in every {}; fill it "
                        "in, or remove this {} everywhere",
                        pair, inner_.name(), outer_.name(), inner_.name()));
    }
    throw DataError(
        FileFault::refused, {table_.understood.path, {}, {}},
        fmt::format("{} has no row, and every {} must be there in every {}; add it, or remove this {} "
                    "everywhere",
                    pair, inner_.name(), outer_.name(), inner_.name()));
  }

  const Table& table_;
  const NumericRows& rows_;
  LabelColumn outer_, inner_;
};

}  // namespace

Grid arrange_rows(const Table& table, const NumericRows& rows, const std::string& outer,
                  const std::string& inner) {
  if (outer == inner)
    throw ArgumentError(fmt::format("column {} cannot label both directions of a grid", excerpt(outer)));
  return Arrangement(table, rows, outer, inner).grid();
}

}  // namespace headspan::table
