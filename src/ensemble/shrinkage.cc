#include "headspan/ensemble/shrinkage.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "headspan/numeric/error.h"

namespace headspan::ensemble {

Shrunk shrink_second_moments(MatrixView s, double sum_fourth_powers, Index n_rows) {
  if (s.rows() != s.cols() || s.rows() == 0 || n_rows < 1)
    throw ArgumentError(
        fmt::format("S: square and not empty, of at least one row wanted; it is {} x {} of {}", s.rows(),
                    s.cols(), n_rows));
  const double n = static_cast<double>(n_rows), p = static_cast<double>(s.rows());
  Shrunk out;
  out.target = s.trace() / p;
  // Squared distance of S from the target, and how much of it is the sampling error of S.
  Matrix off = s;
  off.diagonal().array() -= out.target;
  const double distance = off.squaredNorm();
  const double error = (sum_fourth_powers / n - s.squaredNorm()) / n;
  if (distance > 0.0 && error > 0.0) out.shrinkage = std::min(error / distance, 1.0);
  out.matrix = (1.0 - out.shrinkage) * s;
  out.matrix.diagonal().array() += out.shrinkage * out.target;
  return out;
}

Shrunk ledoit_wolf(MatrixView rows, Centring centring) {
  if (rows.rows() == 0 || rows.cols() == 0)
    throw ArgumentError("rows: at least one row and one column wanted");
  if (!rows.allFinite()) throw ArgumentError("rows: must be finite");
  Matrix x = rows;
  // A power of two of their size, so that fourth powers stay within double and no bit changes.
  const double size = x.cwiseAbs().maxCoeff(), unit = size > 0.0 ? std::exp2(std::ilogb(size)) : 1.0;
  x /= unit;
  if (centring == Centring::means) x.rowwise() -= Eigen::RowVectorXd(x.colwise().mean());
  const Matrix s = x.transpose() * x / static_cast<double>(x.rows());
  Shrunk out = shrink_second_moments(s, x.rowwise().squaredNorm().array().square().sum(), x.rows());
  out.matrix *= unit * unit;
  out.target *= unit * unit;
  return out;
}

}  // namespace headspan::ensemble
