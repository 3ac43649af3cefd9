#pragma once
// How queries and keys are prepared so that a tile of scores is one product or one difference.

#include <vector>

#include "headspan/numeric/aligned.h"
#include "headspan/numeric/matrix.h"
#include "headspan/numeric/tiles.h"
#include "headspan/nw/kernel.h"

namespace headspan::nw {

/// Queries, keys and bandwidths, checked; what every path starts from.
template <class T>
struct Inputs {
  Eigen::Ref<const RowMatrix<T>> queries, keys;
  Vector bandwidth;  ///< [d]
};

/// Scores of a kernel with radial shape as tiles compute them: log2 of the weight for gaussian and softmax,
/// minus the squared scaled distance for the others.
template <class T>
struct Scoring {
  TileScore how = TileScore::product;
  TileWeight weight = TileWeight::exp2;
  Index d = 0, n = 0;
  AlignedArray<T> keys;  ///< panels, room for round_up(n, 2 kPanel)
  AlignedArray<T> bias;  ///< [round_up(n, 2 kPanel)], -inf in the padding
  RowMatrix<T> queries;  ///< [m, d] prepared, not yet packed
  std::vector<T> shift;  ///< [m] subtracted from a query's scores so that 0 is a key on top of it
  std::vector<T> scale;  ///< [d], scaled_difference only

  const T* key_block(Index first) const { return keys.data() + first * d; }
};

/// Chooses the form by the rounding error it would have. Squared distances are expanded into a product only
/// where u (|k|^2 + |q|^2) stays below the promised accuracy, |.| being scaled and about the mean of the keys
/// and u the unit roundoff; then come differences of scaled values; and last differences scaled after
/// subtraction, exact for near neighbours however far they lie from zero.
template <class T>
Scoring<T> prepare(const Kernel& kernel, const Inputs<T>& inputs);

/// One bandwidth per dimension from one for all or d. Throws ArgumentError unless positive; +inf is a
/// dimension that does not matter.
Vector full_bandwidth(const Vector& bandwidth, Index d);

TileWeight tile_weight(KernelFunction function);

extern template Scoring<float> prepare(const Kernel&, const Inputs<float>&);
extern template Scoring<double> prepare(const Kernel&, const Inputs<double>&);

}  // namespace headspan::nw
