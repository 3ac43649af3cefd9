#include "ensemble/face_minimum.h"

#include <fmt/format.h>

#include <Eigen/Cholesky>
#include <algorithm>

#include "headspan/numeric/error.h"

namespace headspan::ensemble {
namespace {

// Differences smaller than this share of the errors themselves are rounding of the moments: sums of a million
// products are good to about 1e-13.
constexpr double kDependent = 1e-12;

/// Second moments of the members' differences to the first, and what they should be.
struct Differences {
  Matrix gram;   // [p - 1, p - 1]
  Vector right;  // [p - 1]
  Vector size;   // [p - 1], moments the differences were taken of
};

Differences differences(MatrixView m, const std::vector<Index>& members) {
  const Index base = members.front(), p = static_cast<Index>(members.size()) - 1;
  Differences out{Matrix(p, p), Vector(p), Vector(p)};
  for (Index j = 0; j < p; ++j) {
    const Index of_j = members[static_cast<std::size_t>(j) + 1];
    out.right[j] = m(base, base) - m(of_j, base);
    out.size[j] = std::abs(m(of_j, of_j)) + std::abs(m(base, base));
    for (Index l = 0; l < p; ++l) {
      const Index of_l = members[static_cast<std::size_t>(l) + 1];
      out.gram(j, l) = (m(of_j, of_l) - m(of_j, base)) - (m(base, of_l) - m(base, base));
    }
  }
  return out;
}

/// The solution of gram b = right; a coordinate that the pivots before it determine is set to zero.
Vector solve(const Differences& of, bool& singular) {
  const Eigen::LDLT<Eigen::MatrixXd> factor(of.gram);
  const Vector size = factor.transpositionsP() * of.size;
  Vector b = factor.transpositionsP() * of.right;
  factor.matrixL().solveInPlace(b);
  const Vector pivots = factor.vectorD();
  for (Index j = 0; j < b.size(); ++j) {
    if (pivots[j] < -kDependent * size.maxCoeff())
      throw ArgumentError(fmt::format(
          "M: must be positive semi-definite between weightings of sum one, and has curvature {:.3g} "
          "there; shrink it, or give raw second moments",
          pivots[j]));
    const bool dependent = pivots[j] <= kDependent * size[j];
    singular = singular || dependent;
    b[j] = dependent ? 0.0 : b[j] / pivots[j];
  }
  factor.matrixU().solveInPlace(b);
  return factor.transpositionsP().transpose() * b;
}

}  // namespace

FaceMinimum face_minimum(MatrixView m, const std::vector<Index>& face) {
  // From the member of least error, differences keep the digits of the others.
  std::vector<Index> members = face;
  const auto best =
      std::min_element(face.begin(), face.end(), [&](Index a, Index b) { return m(a, a) < m(b, b); });
  const Index first = best - face.begin();
  std::swap(members.front(), members[static_cast<std::size_t>(first)]);
  FaceMinimum out;
  const Vector b = solve(differences(m, members), out.singular);
  out.weights.resize(static_cast<Index>(face.size()));
  out.weights << 1.0 - b.sum(), b;
  std::swap(out.weights[0], out.weights[first]);
  return out;
}

}  // namespace headspan::ensemble
