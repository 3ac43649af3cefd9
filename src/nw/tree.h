#pragma once
// Points ordered so that neighbours in space are neighbours in memory: a tree of boxes.

#include <vector>

#include "headspan/numeric/matrix.h"

namespace headspan::nw {

/// Axis-parallel box, in units of the bandwidths.
struct Box {
  Vector low, high;
};

/// Least distance of a point of one box and a point of the other; 0 where they meet. Rounded down.
double least_distance(const Box& a, const Box& b);

/// Points split at the median of the widest side until kLeaf or fewer are left; every leaf but the last holds
/// exactly kLeaf. Depends on the points alone.
struct KeyTree {
  static constexpr Index kLeaf = 128;
  struct Node {
    Index first, last;            ///< places [first, last) of `order`
    Index left = -1, right = -1;  ///< nodes; -1: a leaf
    Box box;
    bool is_leaf() const { return left < 0; }
    Index count() const { return last - first; }
  };
  std::vector<Index> order;  ///< order[place] = row of the points
  std::vector<Node> nodes;   ///< nodes[0] is the root
};

/// Tree of points [n, d], n > 0, already divided by the bandwidths.
KeyTree build_tree(MatrixView points);

}  // namespace headspan::nw
