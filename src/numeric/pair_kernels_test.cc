#include "headspan/numeric/pair_kernels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "headspan/numeric/error.h"
#include "headspan/numeric/parallel.h"
#include "headspan/numeric/random.h"
#include "numeric/every_target.h"

namespace headspan {
namespace {

using K = PairKernel;
constexpr K kAll[] = {K::gaussian,         K::laplace,           K::epanechnikov,
                      K::biweight,         K::triweight,         K::tricube,
                      K::uniform,          K::laplace_product,   K::epanechnikov_product,
                      K::biweight_product, K::triweight_product, K::tricube_product,
                      K::uniform_product};

long double of_length(K kernel, long double u) {
  const long double inside = std::max(0.0L, 1.0L - u * u);
  switch (kernel) {
    case K::gaussian:
      return std::exp(-u * u / 2.0L);
    case K::laplace:
    case K::laplace_product:
      return std::exp(-u);
    case K::epanechnikov:
    case K::epanechnikov_product:
      return inside;
    case K::biweight:
    case K::biweight_product:
      return inside * inside;
    case K::triweight:
    case K::triweight_product:
      return inside * inside * inside;
    case K::tricube:
    case K::tricube_product:
      return std::pow(std::max(0.0L, 1.0L - u * u * u), 3.0L);
    case K::uniform:
    case K::uniform_product:
      return u <= 1.0L ? 1.0L : 0.0L;
  }
  return 0.0L;
}

/// The slow twin: one weight from the definition.
long double weight(const PairPoints& points, Index i, Index j) {
  long double squares = 0.0L, product = 1.0L;
  for (Index k = 0; k < points.bandwidth.size(); ++k) {
    const long double u = std::abs((static_cast<long double>(points.columns(k, i)) - points.columns(k, j)) /
                                   points.bandwidth[k]);
    squares += u * u;
    product *= of_length(points.kernel, u);
  }
  return points.kernel >= K::laplace_product ? product : of_length(points.kernel, std::sqrt(squares));
}

PairPoints sample(K kernel, Index d, Index n, double h) {
  RandomStream random(7, static_cast<std::uint64_t>(n));
  return {kernel, random.normal_matrix(d, n), Vector::Constant(d, h), random.normal_matrix(n, 1).col(0)};
}

void expect_sums(const PairPoints& points, double tolerance) {
  const PairSums sums = pair_sums(points, true), plain = pair_sums(points, false);
  const Index n = points.values.size();
  for (Index i = 0; i < n; ++i) {
    long double weights = 0.0L, values = 0.0L, absolute = 0.0L, squares = 0.0L;
    for (Index j = 0; j < n; ++j) {
      const long double w = i == j ? 0.0L : weight(points, i, j);
      weights += w;
      values += w * points.values[j];
      absolute += w * std::abs(points.values[j]);
      squares += w * w;
    }
    ASSERT_NEAR(sums.weight[i], static_cast<double>(weights), tolerance * static_cast<double>(weights)) << i;
    ASSERT_NEAR(sums.value[i], static_cast<double>(values), tolerance * static_cast<double>(absolute)) << i;
    ASSERT_NEAR(sums.square[i], static_cast<double>(squares), tolerance * static_cast<double>(squares)) << i;
    ASSERT_EQ(sums.weight[i], plain.weight[i]);
    ASSERT_EQ(sums.value[i], plain.value[i]);
  }
}

TEST(PairSums, EveryKernelAgreesWithItsTwinOnEveryTarget) {
  on_every_target([] {
    for (const K kernel : kAll)
      for (const Index d : {1, 3}) {
        SCOPED_TRACE(static_cast<int>(kernel) * 10 + static_cast<int>(d));
        expect_sums(sample(kernel, d, 43, 1.3), 2e-14);
      }
  });
}

TEST(PairSums, SizesAroundVectorsAndBlocks) {
  on_every_target([] {
    for (const Index n : {1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 255, 256, 257, 515, 770}) {
      SCOPED_TRACE(n);
      expect_sums(sample(K::gaussian, 2, n, 0.7), 2e-14);
    }
  });
}

TEST(PairSums, SmallWeightsKeepTheirDigits) {
  // Two points at growing distance: the weight alone, down to the underflow.
  on_every_target([] {
    for (double u = 0.0; u < 37.0; u += 0.37) {
      const PairPoints points{K::gaussian, (Matrix(1, 2) << 0.0, u).finished(), Vector::Ones(1),
                              Vector::Ones(2)};
      const double want = static_cast<double>(std::exp(-static_cast<long double>(u) * u / 2.0L));
      ASSERT_NEAR(pair_sums(points, false).weight[0] / want, 1.0, 5e-16 * (1.0 + u * u / 2.0)) << u;
    }
    const PairPoints far{K::gaussian, (Matrix(1, 2) << 0.0, 1e300).finished(), Vector::Ones(1),
                         Vector::Ones(2)};
    EXPECT_LE(pair_sums(far, false).weight[0], 0x1p-1020);
  });
}

TEST(PairSums, UniformReachesExactlyOneBandwidth) {
  const PairPoints points{K::uniform, (Matrix(1, 3) << 0.0, 0.1, 0.3).finished(), Vector{{0.1}},
                          Vector::Ones(3)};
  EXPECT_EQ(pair_sums(points, false).weight, (Vector{{1.0, 1.0, 0.0}}));
}

TEST(PairSums, AnInfiniteBandwidthLeavesACoordinateOut) {
  for (const K kernel : kAll) {
    PairPoints points = sample(kernel, 2, 30, 1.5);
    points.bandwidth[1] = std::numeric_limits<double>::infinity();
    PairPoints one = points;
    one.columns = points.columns.topRows(1);
    one.bandwidth = points.bandwidth.head(1);
    EXPECT_EQ(pair_sums(points, false).weight, pair_sums(one, false).weight);
  }
}

TEST(PairSums, SameBitsForAnyNumberOfThreads) {
  const PairPoints points = sample(K::gaussian, 3, 1300, 0.5);
  const Vector p = points.values, q = points.columns.row(0).transpose();
  const PairSums many = pair_sums(points, true);
  const Vector slopes = pair_slopes(points, p, q);
  const ThreadLimit limit(1);
  EXPECT_EQ(pair_sums(points, true).value, many.value);
  EXPECT_EQ(pair_slopes(points, p, q), slopes);
}

TEST(PairSlopes, AgreeWithDifferencesOfTheSums) {
  // L = sum_i p_i weight_i + q_i value_i has exactly these derivatives.
  on_every_target([] {
    for (const K kernel : {K::gaussian, K::laplace, K::laplace_product})
      for (const Index n : {3, 43, 300}) {
        SCOPED_TRACE(n);
        PairPoints points = sample(kernel, 3, n, 0.9);
        RandomStream random(8, 0);
        const Vector p = random.normal_matrix(n, 1).col(0), q = random.normal_matrix(n, 1).col(0);
        const Vector slopes = pair_slopes(points, p, q);
        for (Index k = 0; k < 3; ++k) {
          const auto at = [&](double log_h) {
            PairPoints moved = points;
            moved.bandwidth[k] *= std::exp(log_h);
            const PairSums sums = pair_sums(moved, false);
            return p.dot(sums.weight) + q.dot(sums.value);
          };
          const double e = 1e-3;  // central difference of order four
          const double want = (8.0 * (at(e) - at(-e)) - (at(2 * e) - at(-2 * e))) / (12.0 * e);
          EXPECT_NEAR(slopes[k], want, 1e-8 * (1.0 + static_cast<double>(n)));
        }
      }
  });
}

TEST(PairGradient, AgreesWithDifferencesOfTheSums) {
  on_every_target([] {
    for (const K kernel : {K::gaussian, K::laplace, K::laplace_product})
      for (const Index n : {2, 3, 9, 43, 261}) {
        SCOPED_TRACE(n);
        PairPoints points = sample(kernel, 3, n, 0.9);
        RandomStream random(9, 0);
        const Vector p = random.normal_matrix(n, 1).col(0), q = random.normal_matrix(n, 1).col(0);
        const Matrix gradient = pair_gradient(points, p, q);
        for (const Index i : {Index{0}, n / 2, n - 1})
          for (Index k = 0; k < 3; ++k) {
            const auto at = [&](double step) {
              PairPoints moved = points;
              moved.columns(k, i) += step;
              const PairSums sums = pair_sums(moved, false);
              return p.dot(sums.weight) + q.dot(sums.value);
            };
            const double e = 1e-4;
            const double want = (8.0 * (at(e) - at(-e)) - (at(2 * e) - at(-2 * e))) / (12.0 * e);
            EXPECT_NEAR(gradient(k, i), want, 1e-8 * (1.0 + std::abs(want))) << i << " " << k;
          }
      }
  });
}

TEST(PairSlopes, RefusesWhatItCannotDo) {
  const PairPoints points = sample(K::uniform, 1, 4, 1.0);
  EXPECT_FALSE(has_slopes(K::uniform));
  EXPECT_THROW(pair_slopes(points, Vector::Ones(4), Vector::Ones(4)), ArgumentError);
  EXPECT_THROW(pair_slopes(sample(K::gaussian, 1, 4, 1.0), Vector::Ones(3), Vector::Ones(4)), ArgumentError);
  EXPECT_THROW(pair_sums({K::gaussian, Matrix::Zero(1, 4), Vector::Ones(2), Vector::Ones(4)}, false),
               ArgumentError);
}

}  // namespace
}  // namespace headspan
