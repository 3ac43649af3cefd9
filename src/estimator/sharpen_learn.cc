#include <algorithm>
#include <cmath>
#include <limits>

#include "estimator/coordinates.h"
#include "estimator/sharpen.h"
#include "headspan/numeric/optimize.h"

namespace headspan::estimator {
namespace {

constexpr double kLeastSharpness = 0.03, kMostSharpness = 1e5;
constexpr double kScales[] = {3.0, 1.0, 1.0 / 3.0, 1.0 / 9.0};
constexpr double kSharpnesses[] = {1.0, 10.0, 100.0, 1000.0};

SharpHead best_of_grid(const SmoothedRows& rows, VectorView y, const Matrix& start, double& least) {
  SharpHead best;
  least = std::numeric_limits<double>::infinity();
  for (const double scale : kScales)
    for (const double sharpness : kSharpnesses) {
      SharpHead head{scale * start, sharpness};
      const double error = sharp_error(rows, head, y, false).value;
      if (!(error < least)) continue;
      least = error;
      best = std::move(head);
    }
  return best;
}

/// The size that the entries which may be moved have at the start: steps are measured in it.
double unit_of(const Vector& begin) {
  return begin.cwiseAbs().maxCoeff() > 0.0 ? begin.norm() / std::sqrt(static_cast<double>(begin.size()))
                                           : 1.0;
}

}  // namespace

LearnedSharpHead learn_sharp_head(const SmoothedRows& rows, VectorView y, const Matrix& start,
                                  Freedom freedom, int max_evaluations) {
  double least = 0.0;
  const SharpHead best = best_of_grid(rows, y, start, least);
  const std::vector<Matrix> from = {best.projection};
  const Coordinates coordinates(freedom, from);
  Vector begin = coordinates.begin();
  const Index free = begin.size();
  const double unit = freedom == Freedom::scale ? 1.0 : unit_of(begin);
  const auto head_at = [&](const Vector& at) {
    return SharpHead{coordinates.projections(unit * at.head(free)).front(), std::exp(at[free])};
  };
  const Objective objective = [&](const Vector& at, Vector* slope) {
    const SharpHead head = head_at(at);
    const SharpError error = sharp_error(rows, head, y, slope != nullptr);
    if (slope) {
      slope->head(free) = unit / least * coordinates.slope({head.projection}, {error.by_projection});
      (*slope)[free] = error.by_log_sharpness / least;
    }
    return error.value / least;
  };
  Vector at(free + 1), lower(free + 1), upper(free + 1);
  at << begin / unit, std::log(best.sharpness);
  upper << Vector::Constant(free, coordinates.bound() / unit), std::log(kMostSharpness);
  lower << -upper.head(free), std::log(kLeastSharpness);
  const Minimum minimum =
      minimize(objective, at, lower, upper,
               {.x_tolerance = 1e-4, .value_tolerance = 1e-5, .max_evaluations = max_evaluations});
  constexpr Index kTried = std::size(kScales) * std::size(kSharpnesses);
  return {head_at(minimum.at), kTried + minimum.n_evaluations};
}

}  // namespace headspan::estimator
