#include "ensemble/face_minimum.h"

#include <Eigen/Core>
#include <algorithm>
#include <numeric>
#include <utility>

#include "headspan/numeric/error.h"

namespace headspan::ensemble {
namespace {

// Differences smaller than this share of the errors themselves are rounding of the moments: sums of a million
// products are good to about 1e-13.
constexpr double kDependent = 1e-12;
// What is left of dependent differences may be larger, by what the elimination before it amplified.
constexpr double kConcave = 1e-9;

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

/// L D L^T of a matrix with rows and columns in `order`, the largest remaining diagonal entry first, until
/// what is left is rounding. Eigen's LDLT looks at the original diagonal only, which does not reveal the
/// rank.
struct Pivoted {
  Eigen::MatrixXd
      l;  // unit lower triangle, D on the diagonal, [p, p] of which the first `rank` columns count
  std::vector<Index> order;
  Index rank = 0;

  explicit Pivoted(Eigen::MatrixXd a) : l(std::move(a)), order(static_cast<std::size_t>(l.rows())) {
    std::iota(order.begin(), order.end(), Index{0});
    for (const Index p = l.rows(); rank < p; ++rank) {
      const Index left = p - rank - 1;
      Index largest = 0;
      if (l.diagonal().tail(left + 1).maxCoeff(&largest) <= kDependent) break;
      bring_forward(rank + largest);
      const double pivot = l(rank, rank);
      auto column = l.col(rank).tail(left);
      l.bottomRightCorner(left, left).noalias() -= column * column.transpose() / pivot;
      column /= pivot;
    }
  }

  /// The largest entry of what was not eliminated, zero but for rounding where the matrix is semi-definite.
  double remainder() const {
    const Index left = l.rows() - rank;
    return left > 0 ? l.bottomRightCorner(left, left).cwiseAbs().maxCoeff() : 0.0;
  }

  /// A solution for `right`; coordinates that the others determine are zero.
  Vector solve(const Vector& right) const {
    Vector b = right(order).head(rank);
    const auto corner = l.topLeftCorner(rank, rank);
    corner.triangularView<Eigen::UnitLower>().solveInPlace(b);
    b.array() /= l.diagonal().head(rank).array();
    corner.transpose().triangularView<Eigen::UnitUpper>().solveInPlace(b);
    Vector out = Vector::Zero(l.rows());
    for (Index j = 0; j < rank; ++j) out[order[static_cast<std::size_t>(j)]] = b[j];
    return out;
  }

 private:
  void bring_forward(Index j) {
    l.row(rank).swap(l.row(j));
    l.col(rank).swap(l.col(j));
    std::swap(order[static_cast<std::size_t>(rank)], order[static_cast<std::size_t>(j)]);
  }
};

/// The solution of gram b = right, differences measured by the errors they were taken of.
Vector solve(const Differences& of, bool& singular) {
  const Vector scale = (of.size.array() > 0.0).select(of.size.array().rsqrt(), 1.0);
  const Pivoted factor(scale.asDiagonal() * of.gram * scale.asDiagonal());
  if (factor.remainder() > kConcave)
    throw ArgumentError(
        "M: must be positive semi-definite between weightings of sum one, and curves downwards there; shrink "
        "it, or give raw second moments");
  singular = factor.rank < of.right.size();
  return scale.asDiagonal() * factor.solve(scale.asDiagonal() * of.right);
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
