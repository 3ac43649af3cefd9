#include "estimator/sharpen.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "headspan/numeric/decompose.h"
#include "headspan/numeric/error.h"
#include "headspan/numeric/parallel.h"

namespace headspan::estimator {
namespace {

constexpr Index kRowsPerBlock = 64;
// Below it 1 - leverage is rounding: no other row says anything of this one, and its residual is its distance
// from the mean.
constexpr double kLeastLeftAlone = 1e-8;

void for_blocks(Index n, const std::function<void(Index first, Index count)>& body) {
  parallel_for((n + kRowsPerBlock - 1) / kRowsPerBlock, [&](Index block) {
    const Index first = block * kRowsPerBlock;
    body(first, std::min(kRowsPerBlock, n - first));
  });
}

Matrix gaussian_kernel(const Matrix& at) {
  const Vector half = 0.5 * at.rowwise().squaredNorm();
  Matrix kernel(at.rows(), at.rows());
  for_blocks(at.rows(), [&](Index first, Index count) {
    auto block = kernel.middleRows(first, count);
    multiply_transposed(at.middleRows(first, count), at, block);
    block.colwise() -= half.segment(first, count);
    block.rowwise() -= half.transpose();
    block = block.array().min(0.0).exp();
    for (Index i = 0; i < count; ++i) block(i, first + i) = 1.0;
  });
  return kernel;
}

/// I + t W made symmetric: W = E^-1 S E with S = k_ij sqrt(c_i c_j / (d_i d_j)), E = sqrt(c d), d the sums of
/// a query's weights.
class SharpSystem {
 public:
  SharpSystem(const SmoothedRows& rows, const SharpHead& head)
      : rows_(rows),
        head_(head),
        copies_(rows.frequency.cwiseMax(1.0)),
        kernel_(gaussian_kernel(rows.x * head.projection.transpose())),
        sum_(kernel_ * rows.frequency),
        root_(rows.frequency.cwiseProduct(sum_).cwiseSqrt()) {
    const Vector side = rows.frequency.cwiseQuotient(sum_).cwiseSqrt();
    inverse_.resize(kernel_.rows(), kernel_.cols());
    for_blocks(kernel_.rows(), [&](Index first, Index count) {
      inverse_.middleRows(first, count) = (head.sharpness * side.segment(first, count)).asDiagonal() *
                                          kernel_.middleRows(first, count) * side.asDiagonal();
    });
    inverse_.diagonal().array() += 1.0;
    if (!invert_in_place(inverse_)) throw std::runtime_error("sharpen: I + t W is not positive definite");
  }

  Sharpened solve(VectorView y) const {
    const double t = head_.sharpness, mean = rows_.frequency.dot(y) / rows_.frequency.sum();
    Sharpened out;
    out.values = (1.0 + t) * solved(y);
    const Vector left = left_without();
    out.loo_residual = (out.values - y).cwiseQuotient(left);
    for (Index i = 0; i < y.size(); ++i)
      if (left[i] < kLeastLeftAlone) out.loo_residual[i] = y[i] - mean;
    return out;
  }

  /// (1 + t) times the inverse's diagonal, of one copy of each row, minus 1: t (1 - leverage).
  Vector left_without() const {
    const Vector own =
        inverse_.diagonal().cwiseQuotient(copies_) + (1.0 - copies_.cwiseInverse().array()).matrix();
    return ((1.0 + head_.sharpness) * own.array() - 1.0).matrix();
  }

  /// The transposes of what solve() does.
  Matrix adjoint(MatrixView by_values, MatrixView by_residual) const {
    const Vector left = left_without();
    Matrix to_values = by_values, out = Matrix::Zero(by_values.rows(), by_values.cols());
    Vector to_mean = Vector::Zero(by_values.rows());
    for (Index i = 0; i < left.size(); ++i) {
      if (left[i] < kLeastLeftAlone) {
        out.col(i) += by_residual.col(i);
        to_mean -= by_residual.col(i);
      } else {
        to_values.col(i) += by_residual.col(i) / left[i];
        out.col(i) -= by_residual.col(i) / left[i];
      }
    }
    const Matrix scaled = to_values * root_.cwiseInverse().asDiagonal();
    Matrix through(scaled.rows(), scaled.cols());
    for_blocks(scaled.rows(), [&](Index first, Index count) {
      multiply(scaled.middleRows(first, count), inverse_, through.middleRows(first, count));
    });
    out += (1.0 + head_.sharpness) * through * root_.asDiagonal();
    return out + to_mean * rows_.frequency.transpose() / rows_.frequency.sum();
  }

  /// Derivatives of sum_i c_i r_i^2 / N by the weights W are -t (u s^T + E T E^-1); then the chain rule
  /// through W = c_j k_ij / d_i and the distances.
  void derive(VectorView y, const Sharpened& at, SharpError& error) const {
    const Pull pull = pull_of(y, at);
    error.by_log_sharpness = by_log_sharpness(y, pull);
    const Matrix share = by_log_kernel(y, pull);
    const Vector both = share.rowwise().sum() + share.colwise().sum().transpose();
    Matrix moved(share.rows(), rows_.x.cols());
    for_blocks(share.rows(), [&](Index first, Index count) {
      multiply(share.middleRows(first, count), rows_.x, moved.middleRows(first, count));
    });
    const Matrix cross = rows_.x.transpose() * moved;
    const Matrix spread = rows_.x.transpose() * both.asDiagonal() * rows_.x - cross - cross.transpose();
    error.by_projection = -head_.projection * spread;
  }

 private:
  /// dL/d(numerator) and dL/d(diagonal of the inverse) of every residual.
  struct Pull {
    Vector numerator, diagonal;
  };

  Vector solved(const Vector& y) const { return (inverse_ * root_.cwiseProduct(y)).cwiseQuotient(root_); }

  Pull pull_of(VectorView y, const Sharpened& at) const {
    const double t = head_.sharpness, total = rows_.frequency.sum();
    const Vector left = left_without();
    Pull pull{Vector::Zero(y.size()), Vector::Zero(y.size())};
    for (Index i = 0; i < y.size(); ++i) {
      if (left[i] < kLeastLeftAlone) continue;
      pull.numerator[i] = 2.0 * rows_.frequency[i] * at.loo_residual[i] / (total * left[i]);
      pull.diagonal[i] = -pull.numerator[i] * at.loo_residual[i] * (1.0 + t) / copies_[i];
    }
    return pull;
  }

  double by_log_sharpness(VectorView y, const Pull& pull) const {
    const double t = head_.sharpness;
    const Vector once = solved(y), twice = solved(once);
    const Vector values = once - (1.0 + t) / t * (once - twice);
    const Vector own = inverse_.diagonal(), squares = inverse_.rowwise().squaredNorm();
    // The residual's denominator holds (1 + t) own / copies and (1 + t) (1 - 1 / copies).
    const Vector along = (own - (1.0 + t) / t * (own - squares)).cwiseQuotient(copies_) +
                         (1.0 - copies_.cwiseInverse().array()).matrix();
    const Vector per_left = pull.diagonal.cwiseProduct(copies_) / (1.0 + t);
    return t * (pull.numerator.dot(values) + per_left.dot(along));
  }

  /// [n, n] derivatives by log k_ij, each ordered pair on its own.
  Matrix by_log_kernel(VectorView y, const Pull& pull) const {
    const double t = head_.sharpness;
    const Vector right = solved(y);
    const Vector left = (1.0 + t) * root_.cwiseProduct(inverse_ * pull.numerator.cwiseQuotient(root_));
    const Vector inverse_root = root_.cwiseInverse();
    Matrix out(kernel_.rows(), kernel_.cols());
    for_blocks(kernel_.rows(), [&](Index first, Index count) {
      auto block = out.middleRows(first, count);
      const Matrix weighted = inverse_.middleRows(first, count) * pull.diagonal.asDiagonal();
      multiply(weighted, inverse_, block);
      block = root_.segment(first, count).asDiagonal() * block * inverse_root.asDiagonal();
      block.noalias() += left.segment(first, count) * right.transpose();
      const Matrix weights = sum_.segment(first, count).cwiseInverse().asDiagonal() *
                             kernel_.middleRows(first, count) * rows_.frequency.asDiagonal();
      const Vector level = block.cwiseProduct(weights).rowwise().sum();
      block = -t * weights.array() * (block.colwise() - level).array();
    });
    return out;
  }

  const SmoothedRows& rows_;
  const SharpHead& head_;
  Vector copies_;
  Matrix kernel_;
  Vector sum_, root_;
  Matrix inverse_;
};

}  // namespace

Sharpened sharpen(const SmoothedRows& rows, const SharpHead& head, VectorView y) {
  if (rows.x.rows() > kMostSharpRows)
    throw ArgumentError(fmt::format(
        "sharpen: {} distinct rows would need matrices of their square; at most {} can be sharpened",
        rows.x.rows(), kMostSharpRows));
  return SharpSystem(rows, head).solve(y);
}

Matrix sharpen_adjoint(const SmoothedRows& rows, const SharpHead& head, MatrixView by_values,
                       MatrixView by_residual) {
  return SharpSystem(rows, head).adjoint(by_values, by_residual);
}

SharpError sharp_error(const SmoothedRows& rows, const SharpHead& head, VectorView y, bool with_gradient) {
  const SharpSystem system(rows, head);
  const Sharpened at = system.solve(y);
  SharpError error;
  error.value = rows.frequency.dot(at.loo_residual.cwiseAbs2()) / rows.frequency.sum();
  if (with_gradient) system.derive(y, at, error);
  return error;
}

}  // namespace headspan::estimator
