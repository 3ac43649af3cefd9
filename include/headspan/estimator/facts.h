#pragma once
// What was decided about a table, and what came of it, for people to check.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "headspan/ensemble/correlation.h"
#include "headspan/estimator/options.h"
#include "headspan/numeric/matrix.h"
#include "headspan/plan/allocate.h"

namespace headspan::estimator {

/// What a column of a table becomes.
enum class ColumnUse {
  number,    ///< one input
  category,  ///< one input per level
  left_out,  ///< none
};

/// Why a column is left out, or would be if it had not been asked for.
enum class Exclusion {
  none,
  asked,      ///< the caller wants it left out
  empty,      ///< no training row has a value
  constant,   ///< the same value in every training row
  duplicate,  ///< says what an earlier column says: an affine copy, or the same categories by other names
  leak,       ///< an affine copy of the target
  dates,      ///< cells that read as dates or times of day
  free_form,  ///< text of too many levels for the rows there are
};

/// Lower-case words, as printed and in JSON: "left out", "free form".
const char* to_string(ColumnUse use);
const char* to_string(Exclusion exclusion);

/// What became of one column of the training table.
struct ColumnDecision {
  std::string name;
  ColumnUse use = ColumnUse::left_out;
  Exclusion exclusion = Exclusion::none;  ///< with another use than left_out: kept because asked for
  std::int64_t n_missing = 0;             ///< training rows
  std::int64_t n_levels = 0;              ///< of a text column, in the training rows
  std::string note;                       ///< a sentence for people; empty where there is nothing to say
};

/// What had to be made up to encode the rows of a table.
struct ColumnRepair {
  std::string name;
  std::int64_t n_filled = 0;  ///< missing numbers that got the median of the training rows
  std::int64_t n_unseen =
      0;  ///< rows of a level, or missing, as no training row was, or too few: no input is theirs
  std::int64_t first_unseen = 0;  ///< source line of the first of them; 0 where there is none
  std::string unseen;             ///< what it says; empty where it is missing
};

struct EncodingFacts {
  std::vector<ColumnDecision> columns;  ///< of the training table, in its order
  std::vector<std::string> inputs;      ///< names of the inputs: "age", "age missing", "sex = male"
};

/// One multi-head estimate of a model.
struct EstimateFacts {
  Recipe recipe;
  double weight = 1.0;  ///< among the estimates of the model
  Index n_heads = 0;    ///< fitted; of `sum`, the stages
};

/// Root mean squared error in units of the target, and divided by the target's standard deviation.
struct ErrorFacts {
  double rmse = 0.0, relative = 0.0;
};

/// What the planner said of averaged heads on random projections, from a pilot on at most 500 rows.
struct HeadPlan {
  static constexpr Index kBudget = 16;  ///< dimensions of all heads together, at most
  std::vector<plan::Pair> pairs;        ///< the best, and the next among its near-ties if there is one
  double cost = 0.0;                    ///< of the pilot, in units of the effort
};

/// One recipe of a search, and what it would have given.
struct CandidateFacts {
  Recipe recipe;         ///< of `sum`, n_heads is the most that were tried
  Index n_chains = 1;    ///< fits from different random starts, averaged
  bool tried = false;    ///< false: beyond the budget or the clock
  Index n_heads = 0;     ///< heads kept
  double error = 0.0;    ///< held out, relative to the standard deviation of the target
  double weight = 0.0;   ///< in the model
  bool planned = false;  ///< the planner chose the number of heads and their dimension
};

/// How the recipes of a model were found.
struct SearchFacts {
  std::vector<CandidateFacts> candidates;
  std::optional<HeadPlan> plan;             ///< empty where the effort or the rows were too small for one
  double effort = 0.0, effort_spent = 0.0;  ///< counted evaluations: allowed, and used
  bool partial = false;                     ///< the clock ended it
};

struct FitFacts {
  Index n_rows = 0;                    ///< with a target
  std::optional<double> total_weight;  ///< of these rows, where a column of weights was named
  EncodingFacts encoding;
  std::vector<ColumnRepair> repairs;  ///< in the training rows
  std::vector<EstimateFacts> estimates;
  std::optional<SearchFacts> search;   ///< empty where the recipe was given
  ErrorFacts leave_one_out;            ///< heads fixed: too small where they were learned
  std::optional<ErrorFacts> held_out;  ///< by the models of the folds, or by the search; empty without folds
  /// Why intervals rest on leave-one-out residuals and not on refits without a fold each; empty where they
  /// rest on those.
  std::string no_folds;
  Index n_evaluations = 0;  ///< of a leave-one-out error and its gradient
};

/// How predictions did on rows that the fit did not see. Means are weighted where rows have weights.
struct ScoreFacts {
  double rmse = 0.0;
  double relative_rmse = 0.0;  ///< over the standard deviation of the target in all rows evaluated
  double mae = 0.0;            ///< mean absolute error
  double r2 = 0.0;             ///< 1 - squared error / squared deviations from the mean of the same rows
  double coverage = 0.0;       ///< share of targets inside their interval
  double width = 0.0;          ///< mean width of the intervals; infinite where one is
};

struct EvaluationFacts {
  Index n_rows = 0;
  double interval = 0.0;  ///< coverage asked for
  std::vector<ScoreFacts> folds;
  std::vector<Index> fold_rows;  ///< held-out rows of every fold
  ScoreFacts mean, sd;           ///< over the folds, divisor n - 1; sd is NaN for one fold
  EncodingFacts encoding;        ///< of the first fold
};

/// One head of a model as it stands.
struct HeadFacts {
  Index estimate = 0;             ///< place in InspectionFacts::estimates
  double weight = 0.0;            ///< among all heads of the model
  Index rank = 0;                 ///< of its subspace
  double share = 0.0;             ///< cov(what it adds, prediction) / var(prediction), over training rows
  std::vector<double> influence;  ///< [columns] share of the head's squared distance between rows that differ
                                  ///< by one standard deviation in every input; sums to one
  Matrix projection;              ///< [k, used inputs], of standardised inputs, bandwidth inside
};

struct InspectionFacts {
  std::string target, written_by;
  std::optional<std::string> weight;
  EncodingFacts encoding;
  std::vector<std::string> columns;      ///< that influence refers to
  std::vector<std::string> used_inputs;  ///< that vary, in the order of projections
  Index n_rows = 0;                      ///< distinct training rows
  double total_weight = 0.0;             ///< with repetition
  std::vector<EstimateFacts> estimates;
  std::vector<HeadFacts> heads;
  double trend_share = 0.0;       ///< of the prediction's variance; with the heads' it sums to one
  std::vector<double> influence;  ///< [columns] of the heads, by size of their share
  ensemble::Diversity diversity;  ///< of the heads' subspaces
  ErrorFacts leave_one_out;
  std::optional<ErrorFacts> held_out;
};

}  // namespace headspan::estimator
