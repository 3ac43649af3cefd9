#pragma once
// Nadaraya-Watson estimates: weighted means of values, the weights a kernel of query and key, streamed over
// the keys.

#include <vector>

#include "headspan/numeric/matrix.h"
#include "headspan/nw/kernel.h"

namespace headspan::nw {

/// What became of one query.
enum class PointStatus : unsigned char {
  ok,
  no_neighbour,  ///< a compact kernel (or categories, category.h), and no key in reach: no estimate, output
                 ///< NaN
  nearest,       ///< the same, and the value of the nearest key was asked for instead
  no_other_key,  ///< leave-one-out, and no key but the query itself in reach: no estimate, output NaN
};

/// Lower-case words, as printed.
const char* to_string(PointStatus status);

/// Keys are ordered in space, and blocks of them skipped, in no more dimensions than this.
inline constexpr Index kMostPrunedDimensions = 8;

struct EstimateOptions {
  Kernel kernel;
  Vector bandwidth;  ///< one for all dimensions or one per dimension, in units of the inputs; +inf leaves one
                     ///< out
  bool leave_one_out = false;  ///< query i is key i, and key i gets no weight for it
  /// Weights left out of a query's sum, at most this share of those in it: every output then lies within
  /// relative_error times the spread of the values of the exact one. 0: exact. Gaussian and compact kernels
  /// of radial shape in up to kMostPrunedDimensions; others are exact whatever is allowed.
  double relative_error = 0.0;
  bool nearest_if_none = false;  ///< where a compact kernel reaches no key: the value of the nearest one
};

/// Estimates at m queries.
template <class T>
struct Estimate {
  RowMatrix<T> output;              ///< [m, value_dim] sum_i w_i v_i; NaN without a neighbour
  Vector log_normaliser;            ///< [m] log sum_i k(x, x_i); -inf without a neighbour
  Vector n_eff;                     ///< [m] 1 / sum_i w_i^2, from 1 to n; 0 without a neighbour
  Vector self_weight;               ///< [m] w_ii, in leave-one-out only: what key i would have weighed
  std::vector<PointStatus> status;  ///< [m]
};

/// f(x) = sum_i k(x, x_i) v_i / sum_i k(x, x_i) at every query, in one pass over the keys and O((m+n) d)
/// memory. `queries` [m, d], `keys` [n, d], `values` [n, value_dim]; T is float or double. Far from every key
/// the weights are computed relative to the largest, so that a gaussian, laplace or softmax never gives 0/0.
/// Throws ArgumentError on sizes that disagree, no key, no dimension, NaN or infinity in the data, or a
/// bandwidth that is not positive. Zero queries give an empty result. Accuracy: relative 1e-5 (float), 1e-12
/// (double) times the condition of the sum; squared distances are expanded only where that keeps it. Same
/// bits for any number of threads.
template <class T>
Estimate<T> estimate(const Eigen::Ref<const RowMatrix<T>>& queries,
                     const Eigen::Ref<const RowMatrix<T>>& keys, const Eigen::Ref<const RowMatrix<T>>& values,
                     const EstimateOptions& options);

extern template Estimate<float> estimate(const Eigen::Ref<const RowMatrix<float>>&,
                                         const Eigen::Ref<const RowMatrix<float>>&,
                                         const Eigen::Ref<const RowMatrix<float>>&, const EstimateOptions&);
extern template Estimate<double> estimate(const Eigen::Ref<const RowMatrix<double>>&,
                                          const Eigen::Ref<const RowMatrix<double>>&,
                                          const Eigen::Ref<const RowMatrix<double>>&, const EstimateOptions&);

}  // namespace headspan::nw
