#include "headspan/estimator/heads.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "headspan/numeric/decompose.h"
#include "headspan/numeric/error.h"
#include "headspan/numeric/random.h"

namespace headspan::estimator {
namespace {

// Components below this share of the largest singular value are rounding.
constexpr double kNoVariance = 1e-9;

void check_sizes(Index n_heads, Index head_dim, Index p) {
  if (n_heads < 1 || head_dim < 1 || p < 1)
    throw ArgumentError(
        fmt::format("heads: {} of dimension {} in {} inputs; all must be at least 1", n_heads, head_dim, p));
}

}  // namespace

std::vector<Matrix> random_orthogonal_heads(Index n_heads, Index head_dim, Index p, std::uint64_t seed) {
  check_sizes(n_heads, head_dim, p);
  const Index k = std::min(head_dim, p), per_frame = std::max<Index>(1, p / k);
  std::vector<Matrix> heads;
  for (std::uint64_t stream = 0; std::ssize(heads) < n_heads; ++stream) {
    const Index count = std::min(per_frame, n_heads - std::ssize(heads));
    const Matrix frame = thin_lq(RandomStream(seed, stream).normal_matrix(count * k, p)).q;
    for (Index h = 0; h < count; ++h) heads.emplace_back(frame.middleRows(h * k, k));
  }
  return heads;
}

std::vector<Matrix> principal_heads(Index n_heads, Index head_dim, MatrixView x, VectorView frequency) {
  check_sizes(n_heads, head_dim, x.cols());
  const double total = frequency.sum();
  const Eigen::RowVectorXd center = frequency.transpose() * x / total;
  const Matrix rows = frequency.cwiseSqrt().asDiagonal() * (x.rowwise() - center);
  const ThinSvd svd = thin_svd(rows);
  Index rank = 0;
  while (rank < svd.s.size() && svd.s[rank] > kNoVariance * svd.s[0]) ++rank;
  std::vector<Matrix> heads;
  for (Index first = 0; first < rank && std::ssize(heads) < n_heads; first += head_dim) {
    const Index k = std::min(head_dim, rank - first);
    const Vector per_spread = std::sqrt(total) * svd.s.segment(first, k).cwiseInverse();
    heads.emplace_back(per_spread.asDiagonal() * svd.vt.middleRows(first, k));
  }
  return heads;
}

double starting_scale(double n, Index head_dim) {
  return 0.8 * std::pow(n, 1.0 / (4.0 + static_cast<double>(head_dim)));
}

}  // namespace headspan::estimator
