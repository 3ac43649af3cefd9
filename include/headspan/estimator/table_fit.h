#pragma once
// From a table to a model that takes tables, and what it is worth.

#include <functional>
#include <optional>
#include <string>

#include "headspan/estimator/auto.h"
#include "headspan/estimator/encoding.h"
#include "headspan/estimator/model_file.h"
#include "headspan/estimator/options.h"

namespace headspan::estimator {

struct TableFitOptions {
  std::string target;
  std::optional<std::string> weight;  ///< column that counts rows
  EncodingOptions encoding;           ///< its not_inputs are set to target and weight
  std::optional<AutoOptions> search;  ///< set: recipes are found, and `fit` is not looked at
  FitOptions fit;
};

struct TableFit {
  TableModel model;
  FitFacts facts;
};

/// Learns an encoding on `rows` of `table` and fits the inputs it gives. Throws as learn_encoding(),
/// fit() and fit_auto().
TableFit fit_table(const table::Table& table, const TargetRows& rows, const TableFitOptions& options);

struct EvaluationOptions {
  int n_folds = 5;
  std::uint64_t seed = 0;  ///< of the folds
  double interval = 0.9;   ///< coverage asked of the intervals
};

/// Every fold's rows predicted by a fit, encoding included, that did not see them. The same rows, folds and
/// seed give the same numbers on any machine. `done` is called with the number of finished folds. Costs
/// n_folds fits. Throws ArgumentError for fewer than two folds, fewer than two rows per fold, or an interval
/// outside (0, 1), and as fit_table().
EvaluationFacts evaluate(const table::Table& table, const TargetRows& rows, const TableFitOptions& options,
                         const EvaluationOptions& evaluation, const std::function<void(Index)>& done);

/// What a model is made of. The shares are taken over at most 2000 training rows, evenly spread in their
/// canonical order. O(2000 n k) per head.
InspectionFacts inspect(const TableModel& model);

}  // namespace headspan::estimator
