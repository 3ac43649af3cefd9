#pragma once
// Which recipe a table wants, found by cross-validation within a counted budget.

#include <functional>
#include <optional>
#include <vector>

#include "headspan/estimator/facts.h"
#include "headspan/estimator/fit.h"

namespace headspan::estimator {

struct AutoOptions {
  std::uint64_t seed = 0;
  int n_folds = 5;
  /// Budget of evaluations of a head's leave-one-out error and gradient. One of m rows and k dimensions
  /// counts (m / 500)^2 max(1, k / 8): the work, not the time, so that results do not depend on the machine.
  double effort = 20000.0;
  Index learn_rows = 1500;  ///< heads are learned on a random sample of so many rows
  /// Of larger tables a random sample of so many rows chooses; all rows are fitted.
  Index select_rows = 5000;
  /// Of the left-out smoothing of tables beyond select_rows, certified as nw::EstimateOptions; 0: exact.
  double relative_error = 1e-4;
  std::optional<double> seconds;  ///< no candidate begins later than this; then the result is partial
  /// Called after every candidate: units of the effort spent, and all that the search will spend.
  std::function<void(std::size_t done, std::size_t total)> progress = {};
};

/// One recipe, and what it would have given.
struct Candidate {
  Recipe recipe;         ///< of `sum`, n_heads is the most that were tried
  Index n_chains = 1;    ///< fits from different random starts, averaged
  double cost = 0.0;     ///< in units of the effort, folds and final fit together
  bool tried = false;    ///< false: beyond the budget or the clock
  Index n_heads = 0;     ///< heads kept: of `sum` the number of stages of least held-out error
  double error = 0.0;    ///< held-out root mean squared error over the standard deviation of the target
  double weight = 0.0;   ///< in the model
  bool planned = false;  ///< the planner chose n_heads and head_dim
};

struct AutoResult {
  FitResult fit;
  std::vector<Candidate> candidates;
  /// Held-out error of the weighted candidates, relative as above; the weights of every fold from the other
  /// folds.
  double error = 0.0;
  std::optional<HeadPlan> plan;  ///< empty where the effort or the rows were too small for a pilot
  double effort_spent = 0.0;     ///< the plan's cost included
  bool partial = false;          ///< the clock ended the search
};

/// Tries candidates, cheap and robust ones first, while the effort lasts (the first always): trends alone;
/// one head of all inputs, as it is and sharpened (up to select_rows, since sharpening costs the cube of the
/// rows); heads random, principal, learned and diagonal; mean, stages, simplex and least squares; several
/// head dimensions. Of averaged heads on random projections the planner (pilot.h) chooses number and
/// dimension, from a pilot on at most 500 of the rows that choose, each counted once, where that takes no
/// more than a twentieth of the effort; 8 heads of dimension 3 otherwise. The pilot sees the rows of every
/// fold, but no more than two pairs of numbers come of it. Every candidate is fitted without each fold in
/// turn; of stages the best number is read off the held-out errors. The model weighs the candidates within a
/// tenth of the least error by simplex weights of least held-out error, at least two in effect (of fewer than
/// 200 rows more, up to four), those of weight below 0.02 left out, and the members of the folds give its
/// intervals. Of tables beyond select_rows candidates have one chain each, and there are no members of folds:
/// intervals rest on leave-one-out residuals. Throws as fit(), and for options outside their ranges.
AutoResult fit_auto(MatrixView x, VectorView y, VectorView row_weight, const AutoOptions& options);

}  // namespace headspan::estimator
