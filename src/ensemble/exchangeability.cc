#include <fmt/format.h>

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>

#include "headspan/ensemble/families.h"
#include "headspan/numeric/error.h"

namespace headspan::ensemble {
namespace {

constexpr double kExactTolerance = 1e-9;
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

/// Per entry and point, the product of two errors less the mean product of its kind (diagonal or not).
struct Products {
  Matrix mean, mean2;  // [H, H] over the points; the lower triangle is filled

  explicit Products(MatrixView errors) : mean(Matrix::Zero(errors.rows(), errors.rows())), mean2(mean) {
    const double h = static_cast<double>(errors.rows());
    for (Index i = 0; i < errors.cols(); ++i) {
      const Vector e = errors.col(i);
      const double squares = e.squaredNorm(), sum = e.sum();
      const double own = squares / h, other = (sum * sum - squares) / (h * (h - 1.0));
      for (Index a = 0; a < e.size(); ++a)
        for (Index b = 0; b <= a; ++b) {
          const double off = e[a] * e[b] - (a == b ? own : other);
          mean(a, b) += off;
          mean2(a, b) += off * off;
        }
    }
    mean /= static_cast<double>(errors.cols());
    mean2 /= static_cast<double>(errors.cols());
  }
};

/// Two-sided, of the largest mean in units of its standard error, adjusted for the number of entries. For two
/// members there is one off-diagonal entry, always at its mean, so it counts for nothing.
double adjusted_p(const Products& products, Index n_points, double scale) {
  const double n = static_cast<double>(n_points);
  double most = 0.0, n_entries = 0.0;
  for (Index a = 0; a < products.mean.rows(); ++a)
    for (Index b = 0; b <= a; ++b) {
      const double off = products.mean(a, b), variance = (products.mean2(a, b) - off * off) / (n - 1.0);
      const bool is_rounding = std::sqrt(products.mean2(a, b)) <= kRounding * scale;
      if (is_rounding || (a != b && products.mean.rows() == 2)) continue;
      n_entries += 1.0;
      most = std::max(most, variance > 0.0 ? std::abs(off) / std::sqrt(variance) : HUGE_VAL);
    }
  if (n_entries == 0.0) return 1.0;
  if (std::isinf(most)) return 0.0;
  const boost::math::students_t law(n - 1.0);
  return std::min(1.0, 2.0 * n_entries * boost::math::cdf(boost::math::complement(law, most)));
}

}  // namespace

Exchangeability exchangeability(MatrixView m, double tolerance) {
  if (m.rows() != m.cols() || m.rows() == 0 || !m.allFinite())
    throw ArgumentError(
        fmt::format("M: square, not empty and finite wanted, it is {} x {}", m.rows(), m.cols()));
  Exchangeability out = means_of(m);
  out.holds = out.departure <= tolerance * m.diagonal().cwiseAbs().maxCoeff();
  return out;
}

Exchangeability test_exchangeability(MatrixView errors, double level) {
  if (errors.size() == 0) throw ArgumentError("errors: at least one member and one point wanted");
  const Matrix m = error_second_moments(errors, Vector::Zero(errors.cols()));
  if (errors.rows() < 2 || errors.cols() < 3) return exchangeability(m, kExactTolerance);
  Exchangeability out = means_of(m);
  out.p = adjusted_p(Products(errors), errors.cols(), out.diagonal);
  out.holds = *out.p >= level;
  return out;
}

double structure_loss(const Exchangeability& alike, VectorView weights) {
  const double equal = 1.0 / static_cast<double>(weights.size());
  return (alike.diagonal - alike.off_diagonal) * (weights.squaredNorm() - equal);
}

}  // namespace headspan::ensemble
