#pragma once
// How every estimate begins and ends, whatever sums its weights: checks of the input, and the result from the
// sums.

#include <functional>

#include "headspan/nw/estimate.h"
#include "nw/scoring.h"
#include "nw/sums.h"

namespace headspan::nw {

/// Sums, and what their weights were divided by, in natural logarithms.
struct Accumulated {
  Sums sums;
  Vector log_shift;  ///< [m]
};

/// Throws ArgumentError on sizes that disagree, no key, no value, NaN or infinity, and options out of range.
template <class T>
void check_estimate(const Eigen::Ref<const RowMatrix<T>>& queries, const Eigen::Ref<const RowMatrix<T>>& keys,
                    const Eigen::Ref<const RowMatrix<T>>& values, const EstimateOptions& options);

/// The candidate nearest to query `query` in scaled distance, the first of several; -1 where there is none.
template <class T>
Index nearest_key(const Inputs<T>& inputs, Index query, const std::function<bool(Index)>& is_candidate);

/// The estimate that the sums give. `nearest`: the key to take at a query without a neighbour, or -1; asked
/// only where the options want one.
template <class T>
Estimate<T> finish(const Inputs<T>& inputs, const Eigen::Ref<const RowMatrix<T>>& values,
                   const EstimateOptions& options, const Accumulated& sums,
                   const std::function<Index(Index)>& nearest);

}  // namespace headspan::nw
