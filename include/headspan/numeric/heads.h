#pragma once
// The hinge between files and science: the weights of the heads of one attention layer.

#include <string>

#include "headspan/numeric/matrix.h"

namespace headspan {

/// One projection of a layer, heads stacked: head h is rows [h*head_dim, (h+1)*head_dim).
struct HeadWeights {
  Matrix weight;  ///< [n_heads*head_dim, width]; empty where the layer has no such projection
  Index n_heads = 0;
  Index head_dim = 0;
  double unit_roundoff =
      0.0;  ///< of the type the weights were stored in (2^-8 for BF16): sets the rank tolerance

  Index width() const { return weight.cols(); }
  auto head(Index h) const { return weight.middleRows(h * head_dim, head_dim); }
  auto head(Index h) { return weight.middleRows(h * head_dim, head_dim); }
};

/// The heads of one layer. The output projection is held transposed, so that in all four a head is a block
/// of rows: output head h is W_O,h^T [value_dim, d_model].
struct LayerHeads {
  HeadWeights query;   ///< n_heads x head_dim over the width the queries read
  HeadWeights key;     ///< n_kv_heads x head_dim over the width the keys read
  HeadWeights value;   ///< n_kv_heads x value_dim
  HeadWeights output;  ///< n_heads x value_dim
  Vector query_gain;   ///< [n_heads*head_dim] gain of a query norm inside the heads; empty: none
  Vector key_gain;     ///< [n_kv_heads*head_dim] gain of a key norm inside the heads; empty: none

  /// Query heads per stored key/value head; query head h reads key/value head h / group().
  Index group() const { return query.n_heads / key.n_heads; }
};

/// Checks the shapes against one another once. Throws ArgumentError naming the first rule broken.
void check_shapes(const LayerHeads& heads);

}  // namespace headspan
