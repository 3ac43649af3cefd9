#include "headspan/nw/gradient.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "headspan/numeric/error.h"
#include "headspan/numeric/parallel.h"
#include "headspan/numeric/random.h"
#include "headspan/nw/bandwidth.h"

namespace headspan::nw {
namespace {

struct Ensemble {
  Matrix x;
  Vector y;
  std::vector<EnsembleHead> heads;
  Vector weights;
};

Ensemble sample(Index n, Index d, std::vector<Index> dims, double bandwidth) {
  RandomStream random(21, static_cast<std::uint64_t>(n));
  Ensemble e{random.normal_matrix(n, d), random.normal_matrix(n, 1).col(0), {}, {}};
  e.y.array() += 2.0 * e.x.col(0).array().sin();
  for (const Index k : dims) e.heads.push_back({random.normal_matrix(k, d), bandwidth});
  e.weights = random.normal_matrix(std::ssize(dims), 1).col(0);
  return e;
}

/// The leave-one-out error from the definition, in long double.
double error_of(const Ensemble& e, const Kernel& kernel) {
  const Index n = e.x.rows();
  long double total = 0.0L;
  for (Index i = 0; i < n; ++i) {
    long double output = 0.0L;
    for (std::size_t h = 0; h < e.heads.size(); ++h) {
      long double weights = 0.0L, values = 0.0L;
      for (Index j = 0; j < n; ++j) {
        if (j == i) continue;
        const Vector z = e.heads[h].projection * (e.x.row(j) - e.x.row(i)).transpose();
        const long double w = std::exp(static_cast<long double>(
            log_weight(kernel, z, Vector::Zero(z.size()), Vector::Constant(1, e.heads[h].bandwidth))));
        weights += w;
        values += w * e.y[j];
      }
      output += e.weights[static_cast<Index>(h)] * values / weights;
    }
    total += (e.y[i] - output) * (e.y[i] - output);
  }
  return static_cast<double>(total / n);
}

double slope(const std::function<double(double)>& at, double e) {
  return (8.0 * (at(e) - at(-e)) - (at(2.0 * e) - at(-2.0 * e))) / (12.0 * e);
}

void expect_derivatives(const Ensemble& base, const Kernel& kernel, double e = 1e-3) {
  const EnsembleLoo have = ensemble_loo(base.x, base.y, base.heads, base.weights, kernel);
  EXPECT_NEAR(have.loo / error_of(base, kernel), 1.0, 1e-11);
  const auto expect = [&](double derivative, const std::function<void(Ensemble&, double)>& move) {
    const double want = slope(
        [&](double step) {
          Ensemble moved = base;
          move(moved, step);
          return error_of(moved, kernel);
        },
        e);
    EXPECT_NEAR(derivative, want, 1e-7 * (1.0 + std::abs(want)));
  };
  for (std::size_t h = 0; h < base.heads.size(); ++h) {
    const Index index = static_cast<Index>(h);
    expect(have.by_weight[index], [&](Ensemble& m, double step) { m.weights[index] += step; });
    expect(have.by_log_bandwidth[index],
           [&](Ensemble& m, double step) { m.heads[h].bandwidth *= std::exp(step); });
    for (Index a = 0; a < base.heads[h].projection.rows(); ++a)
      for (Index b = 0; b < base.x.cols(); ++b)
        expect(have.by_projection[h](a, b),
               [&](Ensemble& m, double step) { m.heads[h].projection(a, b) += step; });
  }
}

TEST(EnsembleLoo, DerivativesAgreeWithDifferences) {
  expect_derivatives(sample(30, 4, {2, 1, 3}, 1.5), {});
  expect_derivatives(sample(30, 3, {3}, 0.7), {});
  expect_derivatives(sample(20, 3, {2, 2}, 1.5), {KernelFunction::laplace, KernelShape::radial}, 1e-4);
}

TEST(EnsembleLoo, LaplaceProductAwayFromItsCorners) {
  // Differences of differences: a step must not take any pair across a corner.
  expect_derivatives(sample(8, 2, {2}, 1.5), {KernelFunction::laplace, KernelShape::product}, 1e-6);
}

TEST(EnsembleLoo, DerivativesWhereWeightsUnderflow) {
  expect_derivatives(sample(12, 2, {2}, 0.02), {}, 2e-7);
}

TEST(EnsembleLoo, OneIdentityHeadIsTheSmoother) {
  const Ensemble e = sample(50, 2, {2}, 1.0);
  const EnsembleLoo have = ensemble_loo(e.x, e.y, {{Matrix::Identity(2, 2), 0.6}}, Vector::Ones(1));
  const SmootherScores scores = smoother_scores(e.x, e.y, {}, Vector{{0.6}});
  EXPECT_NEAR(have.loo, *scores.loo, 1e-13);
  EXPECT_LT((have.residual - scores.loo_residual).norm(), 1e-12);
}

TEST(EnsembleLoo, SameBitsForAnyNumberOfThreads) {
  const Ensemble e = sample(700, 3, {2, 1}, 0.5);
  const EnsembleLoo many = ensemble_loo(e.x, e.y, e.heads, e.weights);
  const ThreadLimit limit(1);
  const EnsembleLoo one = ensemble_loo(e.x, e.y, e.heads, e.weights);
  EXPECT_EQ(one.loo, many.loo);
  EXPECT_EQ(one.by_projection[0], many.by_projection[0]);
}

/// Rows of frequency 1, 2 and 3, and the same rows written out.
struct Repeated {
  Ensemble rows, written_out;
  Vector frequency;
};

Repeated repeated(Index n, double bandwidth) {
  Repeated r{sample(n, 3, {2}, bandwidth), {}, Vector(n)};
  std::vector<Index> source;
  for (Index i = 0; i < n; ++i) {
    r.frequency[i] = 1.0 + static_cast<double>(i % 3);
    source.insert(source.end(), static_cast<std::size_t>(1 + i % 3), i);
  }
  r.written_out = r.rows;
  r.written_out.x = r.rows.x(source, Eigen::all);
  r.written_out.y = r.rows.y(source);
  return r;
}

TEST(LeftOutHead, FrequencyIsARowWrittenThatOften) {
  for (const double bandwidth : {0.8, 0.01}) {
    const Repeated r = repeated(25, bandwidth);
    const LeftOutHead have(r.rows.x, r.rows.y, r.frequency, r.rows.heads[0]);
    const LeftOutHead want(r.written_out.x, r.written_out.y, Vector(), r.rows.heads[0]);
    Index at = 0;
    for (Index i = 0; i < 25; ++i)
      for (int copy = 0; copy < 1 + i % 3; ++copy, ++at)
        EXPECT_NEAR(have.prediction()[i], want.prediction()[at], 1e-12);
  }
}

TEST(LeftOutHead, DerivativesOfRowsWithFrequencies) {
  const Repeated r = repeated(20, 0.9);
  const LeftOutHead have(r.rows.x, r.rows.y, r.frequency, r.rows.heads[0]);
  const Vector slope = RandomStream(3, 1).normal_matrix(20, 1).col(0);
  const Matrix by_projection = have.by_projection(slope);
  for (Index a = 0; a < 2; ++a)
    for (Index b = 0; b < 3; ++b) {
      const auto at = [&](double step) {
        EnsembleHead moved = r.rows.heads[0];
        moved.projection(a, b) += step;
        return slope.dot(LeftOutHead(r.rows.x, r.rows.y, r.frequency, moved).prediction());
      };
      EXPECT_NEAR(by_projection(a, b), headspan::nw::slope(at, 1e-3), 1e-8);
    }
}

TEST(LeftOutHead, RefusesBadFrequencies) {
  const Ensemble e = sample(10, 3, {2}, 1.0);
  EXPECT_THROW(LeftOutHead(e.x, e.y, Vector::Ones(9), e.heads[0]), ArgumentError);
  EXPECT_THROW(LeftOutHead(e.x, e.y, Vector::Zero(10), e.heads[0]), ArgumentError);
}

TEST(EnsembleLoo, RefusesBadInput) {
  const Ensemble e = sample(10, 3, {2}, 1.0);
  const Vector one = Vector::Ones(1);
  EXPECT_THROW(ensemble_loo(e.x.topRows(1), e.y.head(1), e.heads, one), ArgumentError);
  EXPECT_THROW(ensemble_loo(e.x, e.y, {}, Vector(0)), ArgumentError);
  EXPECT_THROW(ensemble_loo(e.x, e.y, e.heads, Vector::Ones(2)), ArgumentError);
  EXPECT_THROW(ensemble_loo(e.x, e.y, {{Matrix::Ones(2, 2), 1.0}}, one), ArgumentError);
  EXPECT_THROW(ensemble_loo(e.x, e.y, {{Matrix::Ones(2, 3), 0.0}}, one), ArgumentError);
  EXPECT_THROW(ensemble_loo(e.x, e.y, e.heads, one, {KernelFunction::softmax}), ArgumentError);
}

}  // namespace
}  // namespace headspan::nw
