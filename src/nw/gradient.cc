#include "headspan/nw/gradient.h"

#include <fmt/format.h>

#include <cmath>

#include "headspan/numeric/error.h"
#include "nw/bandwidth_scores.h"
#include "nw/bandwidth_sums.h"

namespace headspan::nw {
namespace {

void check_heads(Index n, Index d, const std::vector<EnsembleHead>& heads, VectorView weights,
                 const Kernel& kernel) {
  if (n < 2) throw ArgumentError(fmt::format("x: has {} row, leaving one out wants at least 2", n));
  if (heads.empty()) throw ArgumentError("heads: is empty, wants at least one head");
  if (weights.size() != std::ssize(heads))
    throw ArgumentError(fmt::format("weights: has {} values for {} heads", weights.size(), heads.size()));
  if (!weights.allFinite()) throw ArgumentError("weights: holds NaN or infinity");
  if (kernel.function != KernelFunction::gaussian && kernel.function != KernelFunction::laplace)
    throw ArgumentError(fmt::format("kernel: {} has no derivative here; use gaussian or laplace",
                                    to_string(kernel.function)));
  for (std::size_t h = 0; h < heads.size(); ++h) {
    const EnsembleHead& head = heads[h];
    if (head.projection.rows() < 1 || head.projection.cols() != d || !head.projection.allFinite())
      throw ArgumentError(
          fmt::format("heads: projection of head {} has shape [{}, {}], wants [k, {}] of finite numbers", h,
                      head.projection.rows(), head.projection.cols(), d));
    if (!(head.bandwidth > 0.0) || !std::isfinite(head.bandwidth))
      throw ArgumentError(
          fmt::format("heads: bandwidth of head {} is {}, must be positive and finite", h, head.bandwidth));
  }
}

/// The smoother that a head is: its projected inputs, all dimensions with one bandwidth.
SmootherData smoother_of(const EnsembleHead& head, const Kernel& kernel, MatrixView x, VectorView values) {
  const Vector bandwidth = Vector::Constant(head.projection.rows(), head.bandwidth);
  return smoother_data(kernel, x * head.projection.transpose(), bandwidth, values);
}

/// [n] leave-one-out predictions. No row is isolated: smooth kernels reach everywhere.
Vector predictions(const SmootherData& data) {
  const OtherSums sums = other_sums(data, false);
  return sums.value.cwiseQuotient(sums.weight);
}

/// Fills what belongs to head h, from `slope` [n] = dL / df_h.
void differentiate(const EnsembleHead& head, const SmootherData& data, MatrixView x, const Vector& slope,
                   Index h, EnsembleLoo& result) {
  const OtherSums sums = other_sums(data, false);
  const Vector mean = sums.value.cwiseQuotient(sums.weight);
  const Vector q = slope.cwiseQuotient(sums.weight);
  const Matrix by_point = other_gradient(data, sums, -q.cwiseProduct(mean), q);
  result.by_projection.push_back(by_point * x);
  // Weights depend on projected inputs over the bandwidth only, so scaling one is scaling the other back.
  result.by_log_bandwidth[h] = -result.by_projection.back().cwiseProduct(head.projection).sum();
}

}  // namespace

EnsembleLoo ensemble_loo(MatrixView x, VectorView y, const std::vector<EnsembleHead>& heads,
                         VectorView weights, const Kernel& kernel) {
  check_smoother_data(x, y);
  check_heads(x.rows(), x.cols(), heads, weights, kernel);
  const Index n = x.rows(), n_heads = std::ssize(heads);
  const Matrix centred = x.rowwise() - x.colwise().mean();
  const double center = y.mean();
  const Vector values = y.array() - center;
  Matrix outputs(n, n_heads);
  for (Index h = 0; h < n_heads; ++h)
    outputs.col(h) =
        predictions(smoother_of(heads[static_cast<std::size_t>(h)], kernel, centred, values)).array() +
        center;
  EnsembleLoo result;
  result.residual = y - outputs * weights;
  result.loo = result.residual.squaredNorm() / static_cast<double>(n);
  const Vector by_output = -2.0 / static_cast<double>(n) * result.residual;
  result.by_weight = outputs.transpose() * by_output;
  result.by_log_bandwidth.resize(n_heads);
  for (Index h = 0; h < n_heads; ++h) {
    const EnsembleHead& head = heads[static_cast<std::size_t>(h)];
    differentiate(head, smoother_of(head, kernel, centred, values), centred, weights[h] * by_output, h,
                  result);
  }
  return result;
}

}  // namespace headspan::nw
