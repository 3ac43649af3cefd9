#pragma once
// A table of numbers and words as inputs of a regression, learnt on training rows and applied by column name.

#include <optional>
#include <string>
#include <vector>

#include "headspan/estimator/facts.h"
#include "headspan/numeric/matrix.h"
#include "headspan/table/columns.h"

namespace headspan::estimator {

struct EncodingOptions {
  std::vector<std::string> not_inputs;  ///< target and weights: passed over
  std::vector<std::string> drop;        ///< to be left out
  std::vector<std::string> keep;  ///< to be used though they are constant, duplicate, leaking ... : dates
                                  ///< and free-form text as categories
  Index max_levels = 64;          ///< text of more levels is free-form
  double rows_per_level = 3.0;    ///< and so is text with fewer rows per level, on average
};

/// One column that is used. Numbers: a missing one gets `fill`, the median; where some training row misses
/// it, a second input is 1 in such rows and 0 in others. Categories of two levels: one input, -1/2 and 1/2;
/// of more: one input per level, 1 in its rows and 0 in others. A level that no input stands for is 0 in all
/// of them.
struct EncodedColumn {
  std::string name;
  bool is_category = false;
  double fill = 0.0;
  bool has_missing = false;         ///< some training row misses it; of a category, that is its last level
  std::vector<std::string> levels;  ///< that have inputs, sorted
  /// Inputs that it becomes.
  Index width() const;
};

/// Everything needed to encode another table.
struct Encoding {
  std::vector<EncodedColumn> columns;
  EncodingFacts facts;
  std::vector<std::string> not_inputs;  ///< of the options it was learnt with
  /// Columns of an encoded matrix: facts.inputs.size().
  Index width() const;
};

/// Rows of a table that a regression can learn from.
struct TargetRows {
  std::vector<Index> rows;                 ///< of the table, ascending
  Vector target, weight;                   ///< [rows]; `weight` is empty where no column was named
  std::vector<table::DroppedRow> dropped;  ///< a missing target or weight
};

/// Rows that have a target, and a weight if `weight` names a column. Throws DataError as
/// table::select_numeric(), and for a negative weight (with its line).
TargetRows target_rows(const table::Table& table, const std::string& target,
                       const std::optional<std::string>& weight);

/// Learns from `rows` of `table` only. `target` [rows] serves to find columns that leak it; `weight` [rows]
/// counts rows, and those of weight 0 are not looked at; empty for one each. A level, and a missing value,
/// has an input if one training row in 200, or 10, have it: rarer ones are as good as unseen. An affine copy
/// is one whose residuals all lie within 3e-5 standard deviations, so that |correlation| is 1 to 1e-9; two
/// columns are compared in the rows that have both, of which there must be 3. Does not depend on the order of
/// rows. O(rows x columns), and at most O(rows x columns^2) for the comparison. Throws ArgumentError on sizes
/// that disagree; DataError for an unknown name in the options, an infinite number (with its line), and where
/// no column is left (saying why each was left out).
Encoding learn_encoding(const table::Table& table, const std::vector<Index>& rows, VectorView target,
                        VectorView weight, const EncodingOptions& options = {});

struct EncodedRows {
  Matrix x;                           ///< [rows, Encoding::width()]
  std::vector<ColumnRepair> repairs;  ///< of columns that needed any
  std::vector<std::string> ignored;   ///< columns of the table that the training table did not have
};

/// `rows` of `table`, columns found by name. O(rows x width). Throws DataError for a column that is missing
/// or there twice, words where numbers were learnt (with the line), and infinite numbers (with the line).
EncodedRows encode(const Encoding& encoding, const table::Table& table, const std::vector<Index>& rows);

/// Every row of `table`: 0, 1, ...
std::vector<Index> all_rows(const table::Table& table);

}  // namespace headspan::estimator
