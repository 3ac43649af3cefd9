#pragma once
// One block of pairs, as the vector bodies read it.

#include <cstddef>

namespace headspan {

struct PairBlock {
  const double* columns;  // coordinate k of point i: columns[k * stride + i], readable up to a whole vector
  std::size_t stride, d;
  const double* scale;         // [d] what differences are multiplied by (uniform kernels: divided by)
  const double* values;        // [stride]
  std::size_t i0, ni, j0, nj;  // points i0 .. i0 + ni against j0 .. j0 + nj
  bool diagonal;               // the same points twice: rows take all sums, columns none
};

// Where the sums of a block are added, each [n].
struct PairTotals {
  double *row_weight, *row_value, *row_square;
  double *column_weight, *column_value, *column_square;
};

constexpr std::size_t kPairBlock = 256;
constexpr std::size_t kPairLanes = 8;  // of the widest vector in use

}  // namespace headspan
