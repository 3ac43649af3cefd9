#pragma once
// Random replicates of an experiment, and what their means are worth.

#include <functional>
#include <string>

#include "headspan/experiments/claims.h"
#include "headspan/experiments/facts.h"

namespace headspan::experiments {

/// Runs `one` for replicates 0 .. n_replicates - 1 in parallel, each with a stream of its own; it fills the
/// numbers of its row. Result [n_replicates, width].
using Replicate = std::function<void(RandomStream& random, Eigen::Ref<Eigen::RowVectorXd> row)>;
Matrix replicate(const Trial& trial, Index n_replicates, Index width, const Replicate& one);

/// A number with its standard error.
Measurement measurement(std::string what, Vector at, const Part& part);

/// The mean of a column of independent replicates.
Measurement measured_mean(const Matrix& replicates, Index column, std::string what, Vector at);

/// A function of the means of all columns. Cost: an evaluation for every replicate.
using OfMeans = std::function<double(const Vector& means)>;
Measurement measured_function(const Matrix& replicates, const OfMeans& function, std::string what, Vector at);

/// A departure of known order that no number of replicates removes, such as 1/n of a law for large n, added
/// to the standard error in squares.
Measurement with_departure(Measurement measurement, double departure);

/// The column vector of its arguments.
template <class... Numbers>
Vector numbers(Numbers... values) {
  Vector out(sizeof...(values));
  Index i = 0;
  ((out[i++] = static_cast<double>(values)), ...);
  return out;
}

}  // namespace headspan::experiments
