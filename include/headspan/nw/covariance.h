#pragma once
// How the weights of several heads go together: the exact covariance of their outputs, given the noise.

#include "headspan/numeric/matrix.h"
#include "headspan/nw/attention.h"

namespace headspan::nw {

struct CovarianceOptions {
  AttentionOptions attention;
  Vector noise_variance;  ///< [n] s2_i of the values; one: the same for all; empty: 1
  bool centred = false;  ///< subtract the variance of the grand mean, 1 / sum_i 1/s2_i over the visible keys,
                         ///< the part that no weights can decorrelate; NaN where a sink or no visible key
                         ///< leaves weights short of one
  bool average = false;  ///< one matrix: the mean over the queries of a batch entry that see a key in every
                         ///< head; NaN where there is none
};

/// C_hl(x) = sum_i s2_i w_h,i(x) w_l,i(x) for every query, in the same pass as the output.
/// result [batch, m, H, H], or [batch, 1, H, H] when averaged, row-major without gaps. `output` may be absent
/// (its members empty). Throws ArgumentError as attention() does, and on noise variances that are not
/// positive and finite.
template <class T>
void attention_covariance(const AttentionInput<T>& input, const CovarianceOptions& options,
                          const AttentionOutput<T>& output, double* result);

extern template void attention_covariance(const AttentionInput<float>&, const CovarianceOptions&,
                                          const AttentionOutput<float>&, double*);
extern template void attention_covariance(const AttentionInput<double>&, const CovarianceOptions&,
                                          const AttentionOutput<double>&, double*);

}  // namespace headspan::nw
