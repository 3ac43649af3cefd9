#pragma once
// All pairs of heads of one layer, from blocked Gram products of stacked heads.

#include <functional>

#include "headspan/numeric/gaussian_laws.h"
#include "headspan/numeric/heads.h"

namespace headspan::subspace {

/// Inner products of every two heads, [n, n] each; only ratios to the diagonal have a meaning across layers.
struct WeightProducts {
  Matrix query_energy, key_energy, value_energy, output_energy;  ///< tr(M_h M_l) = |W_h W_l^T|_F^2, M = W^T W
};

/// Products of composed maps, [n_heads, n_heads].
struct MapProducts {
  Matrix score;         ///< tr(A_h A_l^T), A_h = W_Q,h^T W_K,h with the gains of inner norms
  Matrix output_value;  ///< tr(OV_h OV_l^T), OV_h = W_O,h W_V,h
};

/// Energy products and, where `maps` is not null, the map products in the same pass. A layer is read through
/// tiles of at most kTileRows rows (or one key/value group), so that no matrix of all pairs of rows is ever
/// held. Cost: one symmetric Gram product per projection. Deterministic for any thread count.
WeightProducts weight_products(const LayerHeads& heads, MapProducts* maps);

/// The map products alone.
MapProducts map_products(const LayerHeads& heads);

/// |U_a U_b^T|_F^2 of every two frames, [n, n]. `stacked` holds n blocks of `block` rows: the orthonormal
/// rows of frame a, then zero rows up to the block. Where `visit` is set it is called once per pair a <= b
/// with the cross product [block, block], from several threads.
using CrossVisitor = std::function<void(Index a, Index b, MatrixView cross)>;
Matrix overlap_products(MatrixView stacked, Index block, const CrossVisitor& visit);

/// Greatest number of rows of a tile: two tiles of 512 x 4096 doubles and their product stay in the outer
/// caches.
inline constexpr Index kTileRows = 512;

}  // namespace headspan::subspace
