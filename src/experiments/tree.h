#pragma once
// One regression tree of a forest.

#include <cstdint>
#include <vector>

#include "headspan/numeric/matrix.h"
#include "headspan/numeric/random.h"

namespace headspan::experiments {

/// The inputs of a training set with the order of their values, which all trees on it share.
struct SortedInputs {
  Matrix values;                     ///< [p, n], one input a row, so that an input is contiguous
  RowMatrix<std::int32_t> by_value;  ///< [p, n] rows of the training set, values ascending
  RowMatrix<std::int32_t> place;     ///< [p, n] where a row of the training set stands in by_value

  explicit SortedInputs(Matrix x);
};

struct TreeOptions {
  Index mtry = 1;        ///< inputs a split may choose from, drawn without repetition for every split
  Index least_leaf = 5;  ///< rows, repeats counted
};

/// CART for regression [breiman1984]: binary splits x_f <= t that take most off the sum of squares, no
/// pruning. A node is a leaf where no tried input has a split that leaves `least_leaf` rows on both sides and
/// reduces the sum of squares; of equal splits the first tried wins. Thresholds lie midway between
/// neighbouring values.
class RegressionTree {
 public:
  /// Grows on `rows` of the training set with responses y [n]; rows may repeat. Cost O(mtry min(n, m log m))
  /// for a node of m rows.
  RegressionTree(const SortedInputs& inputs, VectorView y, std::vector<Index> rows,
                 const TreeOptions& options, RandomStream& random);
  /// The mean of the leaf that the inputs [p] fall into.
  double predict(VectorView inputs) const;

 private:
  struct Node {
    Index input = -1;  // -1: a leaf
    double threshold = 0.0, mean = 0.0;
    std::size_t left = 0, right = 0;
  };
  std::vector<Node> nodes_;
};

}  // namespace headspan::experiments
