#pragma once
// A smoother's criterion as a function of the logarithms of its bandwidths.

#include "headspan/nw/bandwidth.h"
#include "nw/bandwidth_bracket.h"
#include "nw/bandwidth_sums.h"

namespace headspan::nw {

/// The smallest lambda tried, over the largest: near 0 the logarithm of lambda is what matters.
inline constexpr double kLeastShare = 1e-8;

/// The criterion at standardised data: values and columns in units of their standard deviations. A coordinate
/// is log(h / unit) of a column, or of all columns when one bandwidth serves all; then, for every column of
/// categories, log(lambda / its largest). +inf leaves a column out.
class BandwidthObjective {
 public:
  BandwidthObjective(MatrixView x, VectorView y, const SelectionOptions& options,
                     const Categories& categories);

  /// Criterion; +inf where undefined, and where a column is left out that no lambda leaves out. A point that
  /// no other reaches counts, in loo, as predicted by the mean of the others: left out, it would reward
  /// bandwidths at which only easy points remain.
  double value(const Vector& theta) { return value(theta, nullptr); }

  /// The same, and its derivatives; those of columns left out are 0. Where `gradient` is not null,
  /// has_gradient() must hold.
  double value(const Vector& theta, Vector* gradient);
  bool has_gradient() const { return has_slopes(data_); }
  bool is_smooth() const { return !is_compact(data_.kernel.function); }

  Vector lower() const { return lower_; }
  Vector upper() const { return upper_; }
  /// Coordinates before this are logarithms of bandwidths, from here on logarithms of shares of lambdas.
  Index n_bandwidths() const { return n_bandwidths_; }
  /// Standard deviation of y, or 1 where it is constant: what `value` is measured in.
  double value_unit() const { return value_unit_; }
  /// [d] in units of the inputs.
  Vector bandwidth(const Vector& theta) const;
  /// [c]; the largest one where the column is left out.
  Vector lambda(const Vector& theta) const;
  /// [n] squared leave-one-out residuals, in squared value units.
  Vector squared_residuals(const Vector& theta);
  Index n_rows() const { return data_.points.values.size(); }
  Index n_evaluations() const { return n_evaluations_; }

 private:
  void set(const Vector& theta);
  struct Totals;
  Totals totals_of(const OtherSums& sums) const;
  double criterion_of(const Totals& totals) const;
  Vector gradient_of(const OtherSums& sums, const Totals& totals) const;
  double residual(const RowScore& row, Index i) const;

  Criterion criterion_;
  SmootherData data_;
  std::vector<Bracket> brackets_;
  Vector lower_, upper_;
  Index n_bandwidths_ = 0;
  double value_unit_ = 1.0;
  Index n_evaluations_ = 0;
};

}  // namespace headspan::nw
