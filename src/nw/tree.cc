#include "nw/tree.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "headspan/numeric/tiles.h"

namespace headspan::nw {

double least_distance(const Box& a, const Box& b) {
  double squares = 0.0;
  for (Index j = 0; j < a.low.size(); ++j) {
    const double gap = std::max({0.0, a.low[j] - b.high[j], b.low[j] - a.high[j]});
    squares += gap * gap;
  }
  constexpr double kRoundedDown = 1.0 - 1e-6;
  return std::sqrt(squares) * kRoundedDown;
}

namespace {

Box box_of(MatrixView points, const std::vector<Index>& order, Index first, Index last) {
  Box box{points.row(order[static_cast<std::size_t>(first)]).transpose(), {}};
  box.high = box.low;
  for (Index place = first + 1; place < last; ++place) {
    const auto point = points.row(order[static_cast<std::size_t>(place)]).transpose();
    box.low = box.low.cwiseMin(point);
    box.high = box.high.cwiseMax(point);
  }
  return box;
}

}  // namespace

KeyTree build_tree(MatrixView points) {
  KeyTree tree;
  tree.order.resize(static_cast<std::size_t>(points.rows()));
  std::iota(tree.order.begin(), tree.order.end(), Index{0});
  tree.nodes.push_back({0, points.rows(), -1, -1, box_of(points, tree.order, 0, points.rows())});
  for (std::size_t i = 0; i < tree.nodes.size(); ++i) {
    const Index first = tree.nodes[i].first, last = tree.nodes[i].last;
    if (last - first <= KeyTree::kLeaf) continue;
    Index side = 0;
    (tree.nodes[i].box.high - tree.nodes[i].box.low).maxCoeff(&side);
    const Index middle = first + round_up((last - first) / 2, KeyTree::kLeaf);
    const auto begin = tree.order.begin();
    // Ties by row, so that the order is a function of the points.
    std::nth_element(begin + first, begin + middle, begin + last, [&](Index a, Index b) {
      return points(a, side) != points(b, side) ? points(a, side) < points(b, side) : a < b;
    });
    for (const auto& [from, to] : {std::pair(first, middle), std::pair(middle, last)})
      tree.nodes.push_back({from, to, -1, -1, box_of(points, tree.order, from, to)});
    tree.nodes[i].right = static_cast<Index>(tree.nodes.size()) - 1;
    tree.nodes[i].left = tree.nodes[i].right - 1;
  }
  return tree;
}

}  // namespace headspan::nw
