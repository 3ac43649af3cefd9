#pragma once
// The estimate written out from its definition, in double: what tests compare the engine with.

#include <cmath>
#include <limits>

#include "headspan/numeric/random.h"
#include "headspan/nw/kernel.h"

namespace headspan::nw::definition {

/// Log weights of every key at one query; `left_out` gets none.
inline Vector log_weights(const Kernel& kernel, const Vector& query, MatrixView keys, const Vector& bandwidth,
                          Index left_out = -1) {
  Vector logs(keys.rows());
  for (Index i = 0; i < keys.rows(); ++i)
    logs[i] = i == left_out ? -std::numeric_limits<double>::infinity()
                            : log_weight(kernel, query, keys.row(i).transpose(), bandwidth);
  return logs;
}

/// Weights that sum to one; empty where no key has any.
inline Vector weights(const Kernel& kernel, const Vector& query, MatrixView keys, const Vector& bandwidth,
                      Index left_out = -1) {
  const Vector logs = log_weights(kernel, query, keys, bandwidth, left_out);
  const double top = logs.maxCoeff();
  if (!std::isfinite(top)) return {};
  const Vector w = (logs.array() - top).exp();
  return w / w.sum();
}

template <class T>
RowMatrix<T> normal(Index rows, Index cols, std::uint64_t stream) {
  return RandomStream(7, stream).normal_matrix(rows, cols).cast<T>();
}

}  // namespace headspan::nw::definition
