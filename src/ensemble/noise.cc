// The two estimates of the noise variance declared in decomposition.h.
#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <vector>

#include "headspan/ensemble/decomposition.h"
#include "headspan/numeric/error.h"
#include "headspan/numeric/parallel.h"

namespace headspan::ensemble {
namespace {

/// Columns centred and divided by their spread; what is constant says nothing about distance.
Matrix in_units_of_spread(MatrixView x) {
  Matrix scaled = x.rowwise() - x.colwise().mean();
  for (Index j = 0; j < scaled.cols(); ++j) {
    const double spread = std::sqrt(scaled.col(j).squaredNorm() / static_cast<double>(x.rows()));
    scaled.col(j) *= spread > 0.0 ? 1.0 / spread : 0.0;
  }
  return scaled;
}

std::vector<Index> nearest_neighbours(const Matrix& x) {
  std::vector<Index> nearest(static_cast<std::size_t>(x.rows()));
  parallel_for(x.rows(), [&](Index i) {
    double least = std::numeric_limits<double>::infinity();
    for (Index j = 0; j < x.rows(); ++j) {
      if (j == i) continue;
      const double distance = (x.row(i) - x.row(j)).squaredNorm();
      if (!(distance < least)) continue;
      least = distance;
      nearest[static_cast<std::size_t>(i)] = j;
    }
  });
  return nearest;
}

/// Variance of the mean of terms [n], term i made of the points i and nearest[i]: covariances of all pairs of
/// terms that share a point, each pair once, though two mutual neighbours share both.
double variance_of_mean(const Vector& deviation, const std::vector<Index>& nearest) {
  const Index n = deviation.size();
  Vector touching = deviation;
  for (Index i = 0; i < n; ++i) touching(nearest[static_cast<std::size_t>(i)]) += deviation(i);
  double sum = touching.squaredNorm() - deviation.squaredNorm();
  for (Index i = 0; i < n; ++i) {
    const Index j = nearest[static_cast<std::size_t>(i)];
    if (nearest[static_cast<std::size_t>(j)] == i) sum -= deviation(i) * deviation(j);
  }
  const double independent = deviation.squaredNorm();
  return std::max(sum, independent) / (static_cast<double>(n) * static_cast<double>(n));
}

}  // namespace

Part residual_noise_variance(VectorView residual, double trace, double trace_wwt) {
  const double divisor = static_cast<double>(residual.size()) - 2.0 * trace + trace_wwt;
  if (!residual.allFinite()) throw ArgumentError("residual: must be finite");
  if (!(divisor > 0.0))
    throw ArgumentError(fmt::format(
        "residual: n - 2 tr W + tr W W^T = {} leaves no degree of freedom for the noise", divisor));
  const double s2 = residual.squaredNorm() / divisor;
  return {s2, Origin::estimated, s2 * std::sqrt(2.0 / divisor)};
}

Part neighbour_noise_variance(MatrixView x, VectorView y) {
  const Index n = y.size();
  if (x.rows() != n) throw ArgumentError(fmt::format("x: {} rows for {} values of y", x.rows(), n));
  if (n < 2) throw ArgumentError("y: at least two points are needed for a difference");
  if (!x.allFinite() || !y.allFinite()) throw ArgumentError("x, y: must be finite");
  const std::vector<Index> nearest = nearest_neighbours(in_units_of_spread(x));
  Vector term(n);
  for (Index i = 0; i < n; ++i) {
    const double difference = y(i) - y(nearest[static_cast<std::size_t>(i)]);
    term(i) = 0.5 * difference * difference;
  }
  const double s2 = term.mean();
  const Vector deviation = term.array() - s2;
  return {s2, Origin::estimated, std::sqrt(variance_of_mean(deviation, nearest))};
}

}  // namespace headspan::ensemble
