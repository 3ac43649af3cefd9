#include "estimator/target_weights.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "estimator/multi_head.h"
#include "estimator/sharpen.h"
#include "estimator/smooth_adjoint.h"
#include "headspan/numeric/error.h"

namespace headspan::estimator {
namespace {

constexpr Index kEntriesPerBlock = Index{1} << 22;  // 32 MiB of weights
constexpr Index kFewestPerBlock = 16;

/// Where a prediction is cut to a bound, it is that bound: a fixed combination of the least and the greatest
/// value that the head was made from.
struct Bounds {
  double lowest, highest;
  Index least = 0, greatest = 0;

  /// Of the columns of `g` that belong to outputs beyond the bounds, moves what counts to the two values.
  void move(const Vector& uncut, Matrix& g, Matrix& to_values) const {
    for (Index i = 0; i < uncut.size(); ++i) {
      const bool above = uncut[i] > highest;
      if (!above && !(uncut[i] < lowest)) continue;
      to_values.col(above ? greatest : least) += (1.0 + kBeyondTargets) * g.col(i);
      to_values.col(above ? least : greatest) -= kBeyondTargets * g.col(i);
      g.col(i).setZero();
    }
  }
};

}  // namespace

/// One multi-head estimate run backwards: heads from the last to the first, then the trend.
class TargetWeights::Estimate {
 public:
  Estimate(const Model& model, const MultiHead& estimate, const RidgeRows* trend)
      : rows_{model.keys, model.frequency}, estimate_(estimate), trend_(trend) {
    Vector values = model.target;
    if (has_trend()) values = trend_->left_out(values, estimate_.ridge);
    for (Index h = 0; h < n_heads(); ++h) {
      const FittedHead& head = head_at(h);
      Bounds bounds{head.lowest, head.highest};
      values.minCoeff(&bounds.least);
      values.maxCoeff(&bounds.greatest);
      bounds_.push_back(bounds);
      left_out_.push_back(in_stages() ? left_out_of(h, values) : LeftOut{});
      if (!in_stages()) continue;
      const Vector& uncut = left_out_.back().uncut;
      values -= estimate_.recipe.shrinkage * uncut.cwiseMax(head.lowest).cwiseMin(head.highest);
    }
  }

  Matrix times(MatrixView z, MatrixView at) const {
    Matrix g = Matrix::Zero(z.rows(), rows_.x.rows());
    for (Index h = n_heads(); h-- > 0;) {
      const Matrix after = in_stages() ? g : Matrix();
      add_head(h, z, at, after, g);
    }
    if (has_trend())
      g = trend_->left_out_adjoint(g, estimate_.ridge) + z * trend_->weights_at(at, estimate_.ridge);
    return estimate_.weight * g;
  }

 private:
  /// Of a stage: what it says of its own rows, left out and before any cut.
  struct LeftOut {
    Vector uncut, log_normaliser;
  };

  bool has_trend() const { return std::isfinite(estimate_.ridge); }
  bool in_stages() const { return estimate_.recipe.combiner == Combiner::sum; }
  Index n_heads() const { return std::ssize(estimate_.heads); }
  const FittedHead& head_at(Index h) const { return estimate_.heads[static_cast<std::size_t>(h)]; }
  SharpHead sharp_head(Index h) const { return {head_at(h).projection, head_at(h).sharpness}; }

  LeftOut left_out_of(Index h, const Vector& values) const {
    if (estimate_.recipe.sharpen) return {values - sharpen(rows_, sharp_head(h), values).loo_residual, {}};
    Smoothed smoothed = smooth_left_out(rows_, head_at(h).projection, Matrix(values), {.n_eff = false});
    return {smoothed.value.col(0), std::move(smoothed.log_normaliser)};
  }

  /// Adds to `g` [b, n], which says how much the values of head `h` count, what goes through its own output
  /// at `at`, and, of stages, through the values it leaves to those after it, of which `after` [b, n] counts.
  void add_head(Index h, MatrixView z, MatrixView at, const Matrix& after, Matrix& g) const {
    const FittedHead& head = head_at(h);
    const auto place = static_cast<std::size_t>(h);
    const Smoothed smoothed =
        smooth(rows_, head.projection, at, Matrix(estimate_.values.col(h)), {.n_eff = false});
    Matrix output = head.weight * z;
    bounds_[place].move(smoothed.value.col(0), output, g);
    const Matrix smoothed_values =
        smooth_adjoint(rows_, head.projection, at, smoothed.log_normaliser, output);
    Matrix left_out = Matrix::Zero(g.rows(), g.cols());
    if (in_stages()) {
      left_out = -estimate_.recipe.shrinkage * after;
      bounds_[place].move(left_out_[place].uncut, left_out, g);
    }
    if (estimate_.recipe.sharpen) {
      // A left-out output is a value less its residual.
      g += left_out + sharpen_adjoint(rows_, sharp_head(h), smoothed_values, -left_out);
      return;
    }
    g += smoothed_values;
    if (in_stages())
      g += smooth_left_out_adjoint(rows_, head.projection, left_out_[place].log_normaliser, left_out);
  }

  SmoothedRows rows_;
  const MultiHead& estimate_;
  const RidgeRows* trend_;
  std::vector<Bounds> bounds_;
  std::vector<LeftOut> left_out_;
};

TargetWeights::TargetWeights(const Model& model) : model_(model) {
  for (const MultiHead& estimate : model.ensemble.estimates) {
    for (const FittedHead& head : estimate.heads)
      if (estimate.recipe.sharpen && !std::isfinite(head.sharpness))
        throw ArgumentError(
            "model: its file is of an older format, which did not keep how sharp its heads are; variances "
            "need that, so fit again");
    if (!trend_ && std::isfinite(estimate.ridge))
      trend_ = std::make_unique<RidgeRows>(model.keys, model.frequency);
    estimates_.emplace_back(model, estimate, trend_.get());
  }
}

TargetWeights::~TargetWeights() = default;

Matrix TargetWeights::times(MatrixView z, MatrixView standard_x) const {
  Matrix g = Matrix::Zero(z.rows(), model_.target.size());
  for (const Estimate& estimate : estimates_) g += estimate.times(z, standard_x);
  // Targets are centred first: what the weights fall short of one, their mean gets.
  const Vector short_of_one = z.rowwise().sum() - g.rowwise().sum();
  return g + short_of_one * model_.frequency.transpose() / model_.frequency.sum();
}

Index queries_per_block(const Model& model) {
  return std::max(kFewestPerBlock, kEntriesPerBlock / std::max<Index>(1, model.target.size()));
}

}  // namespace headspan::estimator
