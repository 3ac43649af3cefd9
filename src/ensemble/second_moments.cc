#include "ensemble/second_moments.h"

#include <fmt/format.h>

#include "headspan/numeric/decompose.h"
#include "headspan/numeric/error.h"

namespace headspan::ensemble {
namespace {

constexpr double kSymmetry = 1e-9;
constexpr double kConcave = 1e-9;

}  // namespace

Matrix checked_moments(MatrixView m) {
  if (m.rows() != m.cols() || m.rows() == 0)
    throw ArgumentError(fmt::format("M: square and not empty wanted, it is {} x {}", m.rows(), m.cols()));
  if (!m.allFinite()) throw ArgumentError("M: must be finite");
  const double asymmetry = (m - m.transpose()).cwiseAbs().maxCoeff();
  if (asymmetry > kSymmetry * m.cwiseAbs().maxCoeff())
    throw ArgumentError(fmt::format("M: must be symmetric, two entries differ by {:.3g}", asymmetry));
  return 0.5 * (m + m.transpose());
}

Matrix checked_pairs_of_moments(MatrixView m) {
  Matrix moments = checked_moments(m);
  const double floor = -kConcave * moments.cwiseAbs().maxCoeff();
  for (Index h = 0; h < moments.rows(); ++h)
    for (Index l = 0; l < h; ++l) {
      const double difference = moments(h, h) + moments(l, l) - 2.0 * moments(h, l);
      if (difference < floor)
        throw ArgumentError(
            fmt::format("M: members {} and {} would differ by {:.3g} in mean square, so it is no "
                        "matrix of second moments",
                        l, h, difference));
    }
  return moments;
}

Matrix checked_convex_moments(MatrixView m) {
  Matrix moments = checked_moments(m);
  const Index n = moments.rows();
  const Matrix centre = Matrix::Identity(n, n) - Matrix::Constant(n, n, 1.0 / static_cast<double>(n));
  const double least = symmetric_eigenvalues(centre * moments * centre).minCoeff();
  if (least < -kConcave * moments.cwiseAbs().maxCoeff())
    throw ArgumentError(
        fmt::format("M: curves downwards between weightings of sum one (eigenvalue {:.3g}), so it is no "
                    "matrix of second moments",
                    least));
  return moments;
}

}  // namespace headspan::ensemble
