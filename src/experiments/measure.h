#pragma once
// From errors of many replicates to a row of the law.

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "headspan/experiments/facts.h"

namespace headspan::experiments {

/// Errors (estimate less truth) of agents that are alike, at fixed points over replicates: how many agents
/// have an estimate there, the sum and the sum of squares of their errors. [n_replicates, n_points] each.
struct ErrorSums {
  Matrix count, sum, square;

  ErrorSums(Index n_replicates, Index n_points)
      : count(Matrix::Zero(n_replicates, n_points)), sum(count), square(count) {}
  /// Takes in one more agent's error; replicates may be filled from different threads.
  void add(Index replicate, Index point, double error) {
    count(replicate, point) += 1.0;
    sum(replicate, point) += error;
    square(replicate, point) += error * error;
  }
};

/// v, rho, the variance of the agents' mean and the law, all unbiased up to O(1/R^2), with jackknife standard
/// errors over the replicates. Agents are alike, so errors are taken about the mean error of each point;
/// every point that a replicate reaches counts once, however many agents reach it. Where every agent has an
/// estimate everywhere the law holds to rounding. The predicted members stay empty. Throws ArgumentError for
/// fewer than three replicates, and where no point is reached by two agents in two replicates.
LawRow measured_law(const ErrorSums& errors);

/// Sets what follows from a predicted correlation, its standard error (if it has one) included.
void predict(LawRow& row, const Part& rho);

/// A correlation measured at one setting of a dial.
struct DialPoint {
  double dial = 0.0;
  Part rho;
};

/// The weighted least-squares fit to `points` that never rises with the dial (pool adjacent violators), in
/// the order of `points`. Weights are the inverse squares of the standard errors; the error of a pool is that
/// of its weighted mean.
std::vector<Part> falling_fit(const std::vector<DialPoint>& points);

/// Puts into every row the fit to `fitted`, measured at the same dials on replicates of their own.
void predict_from(const std::vector<DialPoint>& fitted, const std::vector<LawRow*>& rows);

/// The rows of the smallest and the greatest dial.
template <class Row>
auto ends_of_dial(const std::vector<Row>& rows) {
  return std::minmax_element(rows.begin(), rows.end(),
                             [](const Row& a, const Row& b) { return a.law.dial < b.law.dial; });
}

/// From the row of the smallest dial to that of the greatest.
Trend trend_between(const Part& smallest, const Part& greatest);

/// Mean of independent values with its standard error.
Part mean_of(VectorView values);

/// A function of the means of the columns of `rows` [R, c] with its jackknife standard error.
Part jackknifed(MatrixView rows, const std::function<double(const Vector& means)>& function);

/// A stream of the seed that no other (row, replicate, part) has.
std::uint64_t stream_of(Index row, Index replicate, Index part);

/// ArgumentError "OPTION: must be at least LEAST, not VALUE".
void require_at_least(std::string_view option, Index value, Index least);
/// ArgumentError unless `value` is finite and above zero.
void require_positive(std::string_view option, double value);
/// ArgumentError unless low <= value <= high.
void require_within(std::string_view option, double value, double low, double high);
/// ArgumentError unless a dial has a value.
void require_some(std::string_view option, std::size_t n_values);

}  // namespace headspan::experiments
