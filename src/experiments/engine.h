#pragma once
// Short calls of the engine: one batch entry, one noise variance.

#include <vector>

#include "headspan/numeric/matrix.h"
#include "headspan/nw/heads.h"

namespace headspan::experiments {

/// Outputs [m, value_dim] of one softmax head at `temperature`.
Matrix attend(const Matrix& queries, const Matrix& keys, const Matrix& values, double temperature);

/// w_h.w_l [H, H] of softmax heads whose scores of key x are g_h.x, all over the same keys. `effective`
/// [H, d] holds the g_h.
Matrix softmax_products(const Matrix& effective, const Matrix& keys);

/// Estimates [m, value_dim] of one kernel.
Matrix smooth(nw::KernelFunction kernel, double bandwidth, const Matrix& queries, const Matrix& keys,
              const Matrix& values);

/// Rows cos(angle) e_j + sin(angle) e_(k+j), j = 1 .. k: [k, 2k]. All principal angles of two such heads are
/// the difference of theirs.
Matrix turned_head(Index k, double angle);

/// Gaussian-kernel heads that see `keys` and `queries` through `projections`, one bandwidth for all.
std::vector<nw::Head> heads_of(const std::vector<Matrix>& projections, double bandwidth);

/// w_h.w_l [m, H*H] of those heads.
Matrix kernel_products(const std::vector<nw::Head>& heads, const Matrix& queries, const Matrix& keys);

}  // namespace headspan::experiments
