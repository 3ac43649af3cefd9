#include "headspan/nw/gradient.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

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

void check_frequency(VectorView frequency, Index n) {
  if (frequency.size() == 0) return;
  if (frequency.size() != n)
    throw ArgumentError(fmt::format("frequency: has {} values for {} rows of x", frequency.size(), n));
  if (!frequency.allFinite() || !(frequency.array() > 0.0).all())
    throw ArgumentError("frequency: must be positive and finite; leave out rows that count for nothing");
}

/// The smoother that a head is: its projected inputs, all dimensions with one bandwidth.
SmootherData smoother_of(const EnsembleHead& head, const Kernel& kernel, MatrixView x, VectorView values) {
  const Vector bandwidth = Vector::Constant(head.projection.rows(), head.bandwidth);
  const Matrix projected = x * head.projection.transpose();
  check_distances(kernel, projected, bandwidth);
  return smoother_data(kernel, projected, bandwidth, values);
}

/// What a row weighs for its own equals left in, relative to exp(shift). Beyond the range of a double they
/// are all there is.
double own_weight(double frequency, double shift) {
  return frequency > 1.0 ? (frequency - 1.0) * std::exp(std::min(-shift, 700.0)) : 0.0;
}

}  // namespace

/// `plain` has the values; of rows with frequencies, `counts` has c_j and `plain` c_j v_j as values.
struct LeftOutHead::Sums {
  SmootherData plain, counts;
  OtherSums plain_sums, counts_sums;
  Vector weight;  // [n] the denominator, relative to exp(shift)
};

LeftOutHead::LeftOutHead(MatrixView x, VectorView values, VectorView frequency, const EnsembleHead& head,
                         const Kernel& kernel)
    : x_(x.rowwise() - x.colwise().mean()), values_(values), frequency_(frequency) {
  check_smoother_data(x, values);
  check_heads(x.rows(), x.cols(), {head}, Vector::Ones(1), kernel);
  check_frequency(frequency, x.rows());
  auto sums = std::make_unique<Sums>();
  if (frequency_.size() == 0) {
    sums->plain = smoother_of(head, kernel, x_, values_);
    sums->plain_sums = other_sums(sums->plain, false);
    sums->weight = sums->plain_sums.weight;
    prediction_ = sums->plain_sums.value.cwiseQuotient(sums->weight);
  } else {
    sums->plain = smoother_of(head, kernel, x_, frequency_.cwiseProduct(values_));
    sums->plain_sums = other_sums(sums->plain, false);
    sums->counts = sums->plain;
    sums->counts.points.values = frequency_;
    sums->counts_sums = other_sums(sums->counts, false);
    Vector own(x.rows());
    for (Index i = 0; i < own.size(); ++i) own[i] = own_weight(frequency_[i], sums->plain_sums.shift[i]);
    sums->weight = sums->counts_sums.value + own;
    prediction_ = (sums->plain_sums.value + own.cwiseProduct(values_)).cwiseQuotient(sums->weight);
  }
  sums_ = std::move(sums);
}

LeftOutHead::~LeftOutHead() = default;

Matrix LeftOutHead::by_projection(VectorView slope) const {
  const Vector q = slope.cwiseQuotient(sums_->weight);
  const Vector pull = -q.cwiseProduct(prediction_);
  if (frequency_.size() == 0) return other_gradient(sums_->plain, sums_->plain_sums, pull, q) * x_;
  const Vector none = Vector::Zero(q.size());
  return (other_gradient(sums_->plain, sums_->plain_sums, none, q) +
          other_gradient(sums_->counts, sums_->counts_sums, none, pull)) *
         x_;
}

EnsembleLoo ensemble_loo(MatrixView x, VectorView y, const std::vector<EnsembleHead>& heads,
                         VectorView weights, const Kernel& kernel) {
  check_smoother_data(x, y);
  check_heads(x.rows(), x.cols(), heads, weights, kernel);
  const Index n = x.rows(), n_heads = std::ssize(heads);
  const double center = y.mean();
  const Vector values = y.array() - center;
  std::vector<std::unique_ptr<LeftOutHead>> left_out;
  Matrix outputs(n, n_heads);
  for (Index h = 0; h < n_heads; ++h) {
    left_out.push_back(
        std::make_unique<LeftOutHead>(x, values, Vector(), heads[static_cast<std::size_t>(h)], kernel));
    outputs.col(h) = left_out.back()->prediction().array() + center;
  }
  EnsembleLoo result;
  result.residual = y - outputs * weights;
  result.loo = result.residual.squaredNorm() / static_cast<double>(n);
  const Vector by_output = -2.0 / static_cast<double>(n) * result.residual;
  result.by_weight = outputs.transpose() * by_output;
  result.by_log_bandwidth.resize(n_heads);
  for (Index h = 0; h < n_heads; ++h) {
    const auto at = static_cast<std::size_t>(h);
    result.by_projection.push_back(left_out[at]->by_projection(weights[h] * by_output));
    // Weights depend on projected inputs over the bandwidth only, so scaling one is scaling the other back.
    result.by_log_bandwidth[h] = -result.by_projection[at].cwiseProduct(heads[at].projection).sum();
  }
  return result;
}

}  // namespace headspan::nw
