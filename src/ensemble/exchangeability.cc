#include <fmt/format.h>

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>

#include "ensemble/second_moments.h"
#include "headspan/ensemble/families.h"
#include "headspan/numeric/error.h"

namespace headspan::ensemble {
namespace {

constexpr double kExactTolerance = 1e-9;
constexpr double kSumOfOne = 1e-6;
// Products of equal errors differ by this share at most.
constexpr double kRounding = 1e-12;

Exchangeability means_of(MatrixView m) {
  const double n = static_cast<double>(m.rows());
  Exchangeability out;
  out.diagonal = m.trace() / n;
  out.off_diagonal = m.rows() > 1 ? (m.sum() - m.trace()) / (n * (n - 1.0)) : out.diagonal;
  for (Index h = 0; h < m.rows(); ++h)
    for (Index l = 0; l < m.rows(); ++l)
      out.departure = std::max(out.departure, std::abs(m(h, l) - (h == l ? out.diagonal : out.off_diagonal)));
  return out;
}

/// Per entry and group of points, the mean product of two errors less that of its kind (diagonal or not).
struct Products {
  Matrix mean, mean2;  // [H, H] over the groups, by their size; the lower triangle is filled
  double n_points = 0.0, n_groups = 0.0;

  explicit Products(Index n_members) : mean(Matrix::Zero(n_members, n_members)), mean2(mean) {}

  void add(const Matrix& sum, double size) {
    const double h = static_cast<double>(sum.rows()), own = sum.trace() / h;
    const double other = (sum.sum() - sum.trace()) / (h * (h - 1.0));
    for (Index a = 0; a < sum.rows(); ++a)
      for (Index b = 0; b <= a; ++b) {
        const double off = sum(a, b) - (a == b ? own : other);
        mean(a, b) += off;
        mean2(a, b) += off * off / size;
      }
    n_points += size;
    n_groups += 1.0;
  }
  void finish() {
    mean /= n_points;
    mean2 /= n_points;
  }
};

/// Two-sided, of the largest mean in units of its standard error, adjusted for the number of entries. For two
/// members there is one off-diagonal entry, always at its mean, so it counts for nothing.
double adjusted_p(const Products& products, double scale) {
  double most = 0.0, n_entries = 0.0;
  for (Index a = 0; a < products.mean.rows(); ++a)
    for (Index b = 0; b <= a; ++b) {
      const double off = products.mean(a, b), spread = products.mean2(a, b) - off * off;
      const double variance = spread / (products.n_groups - 1.0);
      const bool is_rounding = std::sqrt(products.mean2(a, b)) <= kRounding * scale;
      if (is_rounding || (a != b && products.mean.rows() == 2)) continue;
      n_entries += 1.0;
      most = std::max(most, variance > 0.0 ? std::abs(off) / std::sqrt(variance) : HUGE_VAL);
    }
  if (n_entries == 0.0) return 1.0;
  if (std::isinf(most)) return 0.0;
  const boost::math::students_t law(products.n_groups - 1.0);
  return std::min(1.0, 2.0 * n_entries * boost::math::cdf(boost::math::complement(law, most)));
}

}  // namespace

Exchangeability exchangeability(MatrixView m, double tolerance) {
  const Matrix moments = checked_pairs_of_moments(m);
  Exchangeability out = means_of(moments);
  out.holds = out.departure <= tolerance * m.diagonal().cwiseAbs().maxCoeff();
  return out;
}

Exchangeability exchangeability_test(MatrixView errors, double level) {
  if (errors.size() == 0) throw ArgumentError("errors: at least one member and one point wanted");
  std::vector<Matrix> sums;
  for (Index i = 0; i < errors.cols(); ++i) {
    const Vector e = errors.col(i);
    sums.emplace_back(e * e.transpose());
  }
  return exchangeability_test(sums, std::vector<Index>(sums.size(), 1), level);
}

Exchangeability exchangeability_test(const std::vector<Matrix>& sums, const std::vector<Index>& n_points,
                                     double level) {
  if (!(level > 0.0 && level < 1.0))
    throw ArgumentError(fmt::format("level: must lie between 0 and 1, it is {}", level));
  if (sums.empty() || sums.size() != n_points.size())
    throw ArgumentError("sums: one matrix and one number of points for every group wanted");
  Matrix m = Matrix::Zero(sums.front().rows(), sums.front().cols());
  double n = 0.0;
  for (std::size_t g = 0; g < sums.size(); ++g) {
    if (n_points[g] < 1 || sums[g].rows() != m.rows() || sums[g].cols() != m.rows() || !sums[g].allFinite())
      throw ArgumentError("sums: finite, square and of one size wanted, over one point or more each");
    m += sums[g];
    n += static_cast<double>(n_points[g]);
  }
  m /= n;
  if (m.rows() < 2 || sums.size() < 3) return exchangeability(m, kExactTolerance);
  Products products(m.rows());
  for (std::size_t g = 0; g < sums.size(); ++g) products.add(sums[g], static_cast<double>(n_points[g]));
  products.finish();
  Exchangeability out = means_of(m);
  out.p = adjusted_p(products, out.diagonal);
  out.holds = *out.p >= level;
  return out;
}

double structure_loss(const Exchangeability& alike, VectorView weights) {
  if (!(std::abs(weights.sum() - 1.0) <= kSumOfOne * weights.cwiseAbs().sum()))
    throw ArgumentError(fmt::format("weights: must sum to one, they sum to {}", weights.sum()));
  const double equal = 1.0 / static_cast<double>(weights.size());
  return (alike.diagonal - alike.off_diagonal) * (weights.squaredNorm() - equal);
}

}  // namespace headspan::ensemble
