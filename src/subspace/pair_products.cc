#include "headspan/subspace/pair_products.h"

#include <algorithm>
#include <vector>

#include "headspan/numeric/decompose.h"
#include "headspan/numeric/parallel.h"

namespace headspan::subspace {
namespace {

/// Blocks [first, first + count) of heads.
struct Tile {
  Index first = 0, count = 0;
};

/// Pairs of tiles I <= J that cover all pairs of `n` blocks of `rows` rows. Depends on sizes alone.
std::vector<std::pair<Tile, Tile>> tile_pairs(Index n, Index rows) {
  const Index step = std::max<Index>(1, kTileRows / std::max<Index>(1, rows));
  std::vector<Tile> tiles;
  for (Index first = 0; first < n; first += step) tiles.push_back({first, std::min(step, n - first)});
  std::vector<std::pair<Tile, Tile>> pairs;
  for (std::size_t i = 0; i < tiles.size(); ++i)
    for (std::size_t j = i; j < tiles.size(); ++j) pairs.emplace_back(tiles[i], tiles[j]);
  return pairs;
}

Matrix tile_gram(const HeadWeights& part, Tile a, Tile b) {
  const Index k = part.head_dim;
  Matrix gram(a.count * k, b.count * k);
  multiply_transposed(part.weight.middleRows(a.first * k, a.count * k),
                      part.weight.middleRows(b.first * k, b.count * k), gram);
  return gram;
}

/// Writes value(i, j) for the blocks of a tile pair into both triangles of `out`.
template <class Value>
void fill(Tile a, Tile b, Matrix& out, const Value& value) {
  for (Index i = 0; i < a.count; ++i)
    for (Index j = 0; j < b.count; ++j) {
      const Index row = a.first + i, col = b.first + j;
      if (row > col) continue;
      out(row, col) = value(i, j);
      out(col, row) = out(row, col);
    }
}

void fill_energy(const Matrix& gram, Index k, Tile a, Tile b, Matrix& out) {
  fill(a, b, out, [&](Index i, Index j) { return gram.block(i * k, j * k, k, k).squaredNorm(); });
}

/// The tile of query heads that read the tile `kv` of key/value heads.
Tile query_tile(Tile kv, Index group) { return {kv.first * group, kv.count * group}; }

/// sum of left o right over the blocks of each pair of query heads; `left` has a block per query head,
/// `right` one per key/value head.
void fill_map(const Matrix& left, const Matrix& right, Index k, Index group, Tile kv_a, Tile kv_b,
              Matrix& out) {
  fill(query_tile(kv_a, group), query_tile(kv_b, group), out, [&](Index i, Index j) {
    return left.block(i * k, j * k, k, k).cwiseProduct(right.block(i / group * k, j / group * k, k, k)).sum();
  });
}

void scale_rows_and_columns(Matrix& gram, const Vector& gain, Index k, Tile a, Tile b) {
  if (gain.size() == 0) return;
  gram = gain.segment(a.first * k, a.count * k).asDiagonal() * gram *
         gain.segment(b.first * k, b.count * k).asDiagonal();
}

void visit_tile(const LayerHeads& heads, Tile a, Tile b, WeightProducts* weights, MapProducts* maps) {
  const Index group = heads.group(), k = heads.query.head_dim, v = heads.value.head_dim;
  const Tile qa = query_tile(a, group), qb = query_tile(b, group);
  Matrix left = tile_gram(heads.query, qa, qb), right = tile_gram(heads.key, a, b);
  if (weights) {
    fill_energy(left, k, qa, qb, weights->query_energy);
    fill_energy(right, k, a, b, weights->key_energy);
  }
  if (maps) {
    scale_rows_and_columns(left, heads.query_gain, k, qa, qb);
    scale_rows_and_columns(right, heads.key_gain, k, a, b);
    fill_map(left, right, k, group, a, b, maps->score);
  }
  left = tile_gram(heads.output, qa, qb);
  right = tile_gram(heads.value, a, b);
  if (weights) {
    fill_energy(left, v, qa, qb, weights->output_energy);
    fill_energy(right, v, a, b, weights->value_energy);
  }
  if (maps) fill_map(left, right, v, group, a, b, maps->output_value);
}

void visit_all(const LayerHeads& heads, WeightProducts* weights, MapProducts* maps) {
  check_shapes(heads);
  const Index n = heads.query.n_heads, g = heads.key.n_heads;
  if (weights) *weights = {Matrix(n, n), Matrix(g, g), Matrix(g, g), Matrix(n, n)};
  if (maps) *maps = {Matrix(n, n), Matrix(n, n)};
  const auto pairs = tile_pairs(g, heads.group() * std::max(heads.query.head_dim, heads.value.head_dim));
  parallel_for(static_cast<Index>(pairs.size()), [&](Index i) {
    const auto& [a, b] = pairs[static_cast<std::size_t>(i)];
    visit_tile(heads, a, b, weights, maps);
  });
}

}  // namespace

WeightProducts weight_products(const LayerHeads& heads, MapProducts* maps) {
  WeightProducts products;
  visit_all(heads, &products, maps);
  return products;
}

MapProducts map_products(const LayerHeads& heads) {
  MapProducts maps;
  visit_all(heads, nullptr, &maps);
  return maps;
}

Matrix overlap_products(MatrixView stacked, Index block, const CrossVisitor& visit) {
  const Index n = stacked.rows() / block;
  Matrix overlaps(n, n);
  const auto pairs = tile_pairs(n, block);
  parallel_for(static_cast<Index>(pairs.size()), [&](Index p) {
    const auto& [a, b] = pairs[static_cast<std::size_t>(p)];
    Matrix cross(a.count * block, b.count * block);
    multiply_transposed(stacked.middleRows(a.first * block, a.count * block),
                        stacked.middleRows(b.first * block, b.count * block), cross);
    fill_energy(cross, block, a, b, overlaps);
    if (!visit) return;
    for (Index i = 0; i < a.count; ++i)
      for (Index j = 0; j < b.count; ++j)
        if (a.first + i <= b.first + j)
          visit(a.first + i, b.first + j, cross.block(i * block, j * block, block, block));
  });
  return overlaps;
}

}  // namespace headspan::subspace
