#include "experiments/replicates.h"

#include <cmath>
#include <utility>

#include "experiments/measure.h"
#include "headspan/numeric/parallel.h"

namespace headspan::experiments {

Matrix replicate(const Trial& trial, Index n_replicates, Index width, const Replicate& one) {
  Matrix out(n_replicates, width);
  parallel_for(n_replicates, [&](Index i) {
    RandomStream random = trial.stream(i);
    one(random, out.row(i));
  });
  return out;
}

Measurement measurement(std::string what, Vector at, const Part& part) {
  return {std::move(what), std::move(at), part.value, part.standard_error.value(), false};
}

Measurement measured_mean(const Matrix& replicates, Index column, std::string what, Vector at) {
  return measurement(std::move(what), std::move(at), mean_of(replicates.col(column)));
}

Measurement measured_function(const Matrix& replicates, const OfMeans& function, std::string what,
                              Vector at) {
  return measurement(std::move(what), std::move(at), jackknifed(replicates, function));
}

Measurement with_departure(Measurement measurement, double departure) {
  measurement.error = std::hypot(measurement.error, departure);
  return measurement;
}

}  // namespace headspan::experiments
