#pragma once
// Smoother matrices of Gaussian-kernel heads in one dimension each, from the definition, for tests.

#include <cmath>
#include <cstdint>
#include <vector>

#include "headspan/numeric/matrix.h"
#include "headspan/numeric/random.h"

namespace headspan::ensemble {

/// n points in the square, two heads that see one coordinate each and a third that sees their mean.
struct SmootherFixture {
  Matrix x;
  Vector truth;
  std::vector<Matrix> weights;  // H of [n, n]

  SmootherFixture(Index n, double bandwidth, std::uint64_t seed = 7) : x(n, 2), truth(n) {
    RandomStream random(seed, 1);
    for (Index i = 0; i < n; ++i) {
      x(i, 0) = random.uniform();
      x(i, 1) = random.uniform();
      truth(i) = std::sin(5.0 * x(i, 0)) + x(i, 1) * x(i, 1);
    }
    const Vector mean = x.rowwise().mean();
    for (const Vector& seen : {Vector(x.col(0)), Vector(x.col(1)), mean}) {
      Matrix w(n, n);
      for (Index i = 0; i < n; ++i)
        for (Index j = 0; j < n; ++j)
          w(i, j) = std::exp(-0.5 * std::pow((seen(i) - seen(j)) / bandwidth, 2.0));
      const Vector sums = w.rowwise().sum();
      weights.push_back(sums.cwiseInverse().asDiagonal() * w);
    }
  }

  Index n() const { return x.rows(); }
  Index n_heads() const { return static_cast<Index>(weights.size()); }

  /// [n, H*H] w_h . w_l at every point.
  Matrix covariance() const {
    Matrix out(n(), n_heads() * n_heads());
    for (Index i = 0; i < n(); ++i)
      for (Index h = 0; h < n_heads(); ++h)
        for (Index l = 0; l < n_heads(); ++l) out(i, h * n_heads() + l) = head(h).row(i).dot(head(l).row(i));
    return out;
  }
  /// [n, H] of what `value` gives for every head.
  template <class Function>
  Matrix by_head(Function value) const {
    Matrix out(n(), n_heads());
    for (Index h = 0; h < n_heads(); ++h) out.col(h) = value(head(h));
    return out;
  }
  const Matrix& head(Index h) const { return weights[static_cast<std::size_t>(h)]; }
};

}  // namespace headspan::ensemble
