#pragma once
// What may be moved of the projections of heads, as one vector.

#include <cmath>
#include <vector>

#include "headspan/estimator/learn.h"

namespace headspan::estimator {

// Projections beyond it see every row as its own only neighbour, and a common scale beyond its exponential.
inline constexpr double kLargestEntry = 1e4;
inline constexpr double kLargestLogScale = 5.0;

/// The free numbers of projections as one vector, and back.
class Coordinates {
 public:
  Coordinates(Freedom freedom, const std::vector<Matrix>& start) : freedom_(freedom), start_(start) {}

  Vector begin() const { return freedom_ == Freedom::scale ? Vector::Zero(1) : gather(start_); }

  double bound() const { return freedom_ == Freedom::scale ? kLargestLogScale : kLargestEntry; }

  std::vector<Matrix> projections(const Vector& at) const {
    std::vector<Matrix> out = start_;
    Index next = 0;
    for (Matrix& projection : out) {
      if (freedom_ == Freedom::scale) {
        projection *= std::exp(at[0]);
      } else if (freedom_ == Freedom::diagonal) {
        projection.diagonal() = at.segment(next, projection.rows());
        next += projection.rows();
      } else {
        projection = at.segment(next, projection.size())
                         .reshaped<Eigen::RowMajor>(projection.rows(), projection.cols());
        next += projection.size();
      }
    }
    return out;
  }

  /// Derivatives by the coordinates from those by the projections.
  Vector slope(const std::vector<Matrix>& projections, const std::vector<Matrix>& gradient) const {
    if (freedom_ != Freedom::scale) return gather(gradient);
    double sum = 0.0;
    for (std::size_t h = 0; h < projections.size(); ++h)
      sum += projections[h].cwiseProduct(gradient[h]).sum();
    return Vector::Constant(1, sum);
  }

 private:
  Vector gather(const std::vector<Matrix>& all) const {
    Index size = 0, next = 0;
    for (const Matrix& one : all) size += freedom_ == Freedom::diagonal ? one.rows() : one.size();
    Vector out(size);
    for (const Matrix& one : all) {
      const Vector part =
          freedom_ == Freedom::diagonal ? Vector(one.diagonal()) : Vector(one.reshaped<Eigen::RowMajor>());
      out.segment(next, part.size()) = part;
      next += part.size();
    }
    return out;
  }

  Freedom freedom_;
  const std::vector<Matrix>& start_;
};

}  // namespace headspan::estimator
