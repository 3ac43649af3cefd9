#include "headspan/estimator/table_fit.h"

#include <fmt/format.h>

#include <cmath>

#include "estimator/error_facts.h"
#include "estimator/folds.h"
#include "headspan/estimator/fit.h"

namespace headspan::estimator {
namespace {

ErrorFacts error_of(const Vector& residual, const Model& model) {
  const double relative = std::sqrt(model.frequency.dot(residual.cwiseAbs2()) / model.frequency.sum());
  return {relative * model.target_scale, relative};
}

}  // namespace

ErrorFacts leave_one_out_error(const Model& model) { return error_of(model.loo_residual, model); }

std::optional<ErrorFacts> held_out_error(const Model& model) {
  if (model.fold_residual.size() == 0) return std::nullopt;
  return error_of(model.fold_residual, model);
}

std::vector<EstimateFacts> estimate_facts(const Model& model) {
  std::vector<EstimateFacts> facts;
  for (const MultiHead& estimate : model.ensemble.estimates)
    facts.push_back({estimate.recipe, estimate.weight, std::ssize(estimate.heads)});
  return facts;
}

namespace {

SearchFacts search_facts(const AutoResult& found, const AutoOptions& options) {
  SearchFacts facts{{}, found.plan, options.effort, found.effort_spent, found.partial};
  for (const Candidate& candidate : found.candidates)
    facts.candidates.push_back({candidate.recipe, candidate.n_chains, candidate.tried, candidate.n_heads,
                                candidate.error, candidate.weight, candidate.planned});
  return facts;
}

/// Why `model` has no members of folds; empty where it has.
std::string no_folds_because(const Model& model, const TableFitOptions& options) {
  if (!model.folds.empty()) return {};
  const Index n = model.target.size();
  if (n < kFewestForFolds)
    return fmt::format("folds need {} distinct rows, there are {}", kFewestForFolds, n);
  if (!options.search) return "no inner folds were asked for";
  if (n > options.search->select_rows)
    return fmt::format("the table has {} distinct rows; refits are kept up to {}", n,
                       options.search->select_rows);
  return "nothing varies that could be learned: the model is the mean";
}

/// Fits by the recipe given, or by the search for one.
FitResult fit_inputs(const Matrix& x, const TargetRows& rows, const TableFitOptions& options,
                     FitFacts& facts) {
  if (!options.search) {
    FitResult fitted = fit(x, rows.target, rows.weight, options.fit);
    facts.held_out = held_out_error(fitted.model);
    return fitted;
  }
  AutoResult found = fit_auto(x, rows.target, rows.weight, *options.search);
  facts.search = search_facts(found, *options.search);
  if (!found.candidates.empty())
    facts.held_out = ErrorFacts{found.error * found.fit.model.target_scale, found.error};
  return std::move(found.fit);
}

}  // namespace

TableFit fit_table(const table::Table& table, const TargetRows& rows, const TableFitOptions& options) {
  EncodingOptions encoding = options.encoding;
  encoding.not_inputs = {options.target};
  if (options.weight) encoding.not_inputs.push_back(*options.weight);
  TableFit result{{options.target, options.weight, {}, {}, {}}, {}};
  result.model.encoding = learn_encoding(table, rows.rows, rows.target, rows.weight, encoding);
  EncodedRows inputs = encode(result.model.encoding, table, rows.rows);
  FitResult fitted = fit_inputs(inputs.x, rows, options, result.facts);
  result.model.model = std::move(fitted.model);
  FitFacts& facts = result.facts;
  facts.n_rows = std::ssize(rows.rows);
  if (rows.weight.size() > 0) facts.total_weight = rows.weight.sum();
  facts.encoding = result.model.encoding.facts;
  facts.repairs = std::move(inputs.repairs);
  facts.estimates = estimate_facts(result.model.model);
  facts.leave_one_out = leave_one_out_error(result.model.model);
  facts.no_folds = no_folds_because(result.model.model, options);
  facts.n_evaluations = fitted.n_evaluations;
  return result;
}

}  // namespace headspan::estimator
