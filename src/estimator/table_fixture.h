#pragma once
// Tables that the tests of this room fit.

#include <cmath>
#include <cstdint>

#include "headspan/numeric/matrix.h"
#include "headspan/numeric/random.h"

namespace headspan::estimator {

struct Table {
  Matrix x;
  Vector y;
};

/// Smooth in two directions of `p` inputs, with noise.
inline Table smooth_table(Index n, Index p, std::uint64_t seed, double noise = 0.1) {
  RandomStream random(seed, 0);
  Table table{random.normal_matrix(n, p), noise * random.normal_matrix(n, 1).col(0)};
  table.y.array() += (1.5 * table.x.col(0)).array().sin();
  if (p > 1) table.y.array() += 0.5 * (table.x.col(1) - table.x.col(0)).array().square();
  return table;
}

}  // namespace headspan::estimator
