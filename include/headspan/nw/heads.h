#pragma once
// Several heads, each a Nadaraya-Watson estimate in its own projection, and how their weights go together.

#include <vector>

#include "headspan/numeric/matrix.h"
#include "headspan/nw/estimate.h"

namespace headspan::nw {

struct Head {
  Matrix projection;  ///< [k, d] queries and keys are seen through it; empty: as they are
  Vector bandwidth;   ///< one, or one per dimension of the projection
};

struct HeadsOptions {
  Kernel kernel;
  bool leave_one_out = false;  ///< query i is key i, which gets no weight for it
  bool covariance = false;
  Vector noise_variance;  ///< [n] s2_i of the values; one: the same for all; empty: 1
  bool centred = false;  ///< less the variance of the grand mean of the keys that take part, 1 / sum_i 1/s2_i
  bool average = false;  ///< one matrix, the mean over the queries that have a neighbour in every head
};

template <class T>
struct HeadsEstimate {
  std::vector<Estimate<T>> heads;
  /// [m, H*H], or [1, H*H] averaged; row-major matrices C_hl = sum_i s2_i w_h,i w_l,i. NaN where head h or l
  /// has no neighbour. Empty unless asked for.
  Matrix covariance;
};

/// Every head's estimate, and the exact covariance of their outputs given the noise of the values, in O((m +
/// n) H k) memory. The covariance reads the keys once more, its weights relative to the normalisers, and
/// costs one more estimate. Throws ArgumentError as estimate() does, on no head, a projection of another
/// width, and noise variances that are not positive and finite. Same bits for any number of threads.
template <class T>
HeadsEstimate<T> estimate_heads(const Eigen::Ref<const RowMatrix<T>>& queries,
                                const Eigen::Ref<const RowMatrix<T>>& keys,
                                const Eigen::Ref<const RowMatrix<T>>& values, const std::vector<Head>& heads,
                                const HeadsOptions& options);

extern template HeadsEstimate<float> estimate_heads(const Eigen::Ref<const RowMatrix<float>>&,
                                                    const Eigen::Ref<const RowMatrix<float>>&,
                                                    const Eigen::Ref<const RowMatrix<float>>&,
                                                    const std::vector<Head>&, const HeadsOptions&);
extern template HeadsEstimate<double> estimate_heads(const Eigen::Ref<const RowMatrix<double>>&,
                                                     const Eigen::Ref<const RowMatrix<double>>&,
                                                     const Eigen::Ref<const RowMatrix<double>>&,
                                                     const std::vector<Head>&, const HeadsOptions&);

}  // namespace headspan::nw
