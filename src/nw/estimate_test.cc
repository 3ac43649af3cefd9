#include "headspan/nw/estimate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <tuple>

#include "headspan/numeric/error.h"
#include "headspan/numeric/parallel.h"
#include "nw/definition.h"

namespace headspan::nw {
namespace {

using definition::normal;

EstimateOptions with(KernelFunction function, double bandwidth, KernelShape shape = KernelShape::radial) {
  EstimateOptions options;
  options.kernel = {function, shape};
  options.bandwidth = Vector::Constant(1, bandwidth);
  return options;
}

template <class T>
Estimate<T> run(const RowMatrix<T>& queries, const RowMatrix<T>& keys, const RowMatrix<T>& values,
                const EstimateOptions& options) {
  return estimate<T>(queries, keys, values, options);
}

// |output - definition| relative to sum_i w_i |v_i|, the sum's condition.
template <class T>
void expect_as_defined(const RowMatrix<T>& q, const RowMatrix<T>& k, const RowMatrix<T>& v,
                       const EstimateOptions& options, double tolerance) {
  const Estimate<T> got = run(q, k, v, options);
  const Matrix keys = k.template cast<double>(), values = v.template cast<double>();
  const Vector h =
      options.bandwidth.size() == 1 ? Vector::Constant(k.cols(), options.bandwidth[0]) : options.bandwidth;
  for (Index i = 0; i < q.rows(); ++i) {
    const Vector query = q.row(i).transpose().template cast<double>();
    const Index out = options.leave_one_out ? i : -1;
    const Vector w = definition::weights(options.kernel, query, keys, h, out);
    if (w.size() == 0) {
      EXPECT_NE(got.status[static_cast<std::size_t>(i)], PointStatus::ok);
      EXPECT_TRUE(std::isnan(got.output(i, 0)));
      continue;
    }
    ASSERT_EQ(got.status[static_cast<std::size_t>(i)], PointStatus::ok) << i;
    for (Index c = 0; c < v.cols(); ++c)
      ASSERT_NEAR(got.output(i, c), w.dot(values.col(c)), tolerance * w.dot(values.col(c).cwiseAbs()))
          << to_string(options.kernel.function) << " query " << i << " column " << c;
    ASSERT_NEAR(got.n_eff[i] * w.squaredNorm(), 1.0, 10 * tolerance);
    const Vector logs = definition::log_weights(options.kernel, query, keys, h, out);
    const double top = logs.maxCoeff();
    ASSERT_NEAR(got.log_normaliser[i], top + std::log((logs.array() - top).exp().sum()),
                10 * tolerance * std::max(1.0, std::abs(top)));
  }
}

class EveryKernel : public testing::TestWithParam<std::tuple<KernelFunction, KernelShape, Index, Index>> {};

TEST_P(EveryKernel, IsItsDefinition) {
  const auto [function, shape, d, value_dim] = GetParam();
  // Sizes beside the panel, the group and the block of keys.
  for (const Index n : {1, 17, 129, 1100}) {
    const Index m = n == 129 ? 200 : 13;
    EstimateOptions options = with(function, 1.3, shape);
    expect_as_defined(normal<float>(m, d, 1), normal<float>(n, d, 2), normal<float>(n, value_dim, 3), options,
                      1e-5);
    expect_as_defined(normal<double>(m, d, 1), normal<double>(n, d, 2), normal<double>(n, value_dim, 3),
                      options, 1e-12);
    options.bandwidth = Vector::LinSpaced(d, 0.7, 1.9);
    expect_as_defined(normal<double>(m, d, 4), normal<double>(n, d, 5), normal<double>(n, value_dim, 6),
                      options, 1e-12);
    if (n > 129) continue;
    options.leave_one_out = true;
    const RowMatrix<double> x = normal<double>(n, d, 7);
    expect_as_defined(x, x, normal<double>(n, value_dim, 8), options, 1e-12);
  }
}

INSTANTIATE_TEST_SUITE_P(Estimate, EveryKernel,
                         testing::Combine(testing::ValuesIn(kKernelFunctions),
                                          testing::Values(KernelShape::radial, KernelShape::product),
                                          testing::Values(1, 3), testing::Values(1, 3, 7)));

TEST(Estimate, SoftmaxIsGaussianWithPriorOfTheKeysNorm) {
  RowMatrix<double> keys = normal<double>(50, 3, 1);
  keys.rowwise().normalize();
  const RowMatrix<double> queries = normal<double>(9, 3, 2), values = normal<double>(50, 2, 3);
  const auto gaussian = run(queries, keys, values, with(KernelFunction::gaussian, 0.8));
  const auto softmax = run(queries, keys, values, with(KernelFunction::softmax, 0.8));
  EXPECT_LT((gaussian.output - softmax.output).cwiseAbs().maxCoeff(), 1e-13);
}

TEST(Estimate, FarQueriesTakeTheNearestKeys) {
  RowMatrix<double> keys(3, 1), values(3, 1), queries(3, 1);
  keys << 0, 1, 2;
  values << 5, 6, 7;
  queries << 1e3, -1e9, 1e200;
  for (const KernelFunction function : {KernelFunction::gaussian, KernelFunction::laplace}) {
    const auto got = run(queries, keys, values, with(function, 0.01));
    EXPECT_DOUBLE_EQ(got.output(0, 0), 7.0) << to_string(function);
    EXPECT_DOUBLE_EQ(got.output(1, 0), 5.0) << to_string(function);
    EXPECT_TRUE(std::isfinite(got.output(2, 0))) << to_string(function);
    EXPECT_EQ(got.status[2], PointStatus::ok);
  }
  const auto single = run<float>(queries.topRows(2).cast<float>(), keys.cast<float>(), values.cast<float>(),
                                 with(KernelFunction::gaussian, 0.01));
  EXPECT_FLOAT_EQ(single.output(0, 0), 7.0F);
  EXPECT_FLOAT_EQ(single.output(1, 0), 5.0F);
}

TEST(Estimate, NarrowBandwidthsLeaveEveryQueryFar) {
  for (const double bandwidth : {0.05, 0.01}) {
    EstimateOptions options = with(KernelFunction::gaussian, bandwidth);
    expect_as_defined(normal<float>(40, 4, 1), normal<float>(600, 4, 2), normal<float>(600, 1, 3), options,
                      1e-5);
    expect_as_defined(normal<double>(40, 4, 1), normal<double>(600, 4, 2), normal<double>(600, 6, 3), options,
                      1e-12);
    options.leave_one_out = true;
    const RowMatrix<float> x = normal<float>(300, 4, 1);
    expect_as_defined(x, x, normal<float>(300, 1, 3), options, 1e-5);
  }
}

TEST(Estimate, CompactKernelWithoutNeighbourSaysSo) {
  RowMatrix<double> keys(2, 1), values(2, 1), queries(1, 1);
  keys << 0, 1;
  values << 5, 6;
  queries << 3;
  EstimateOptions options = with(KernelFunction::epanechnikov, 0.5);
  auto got = run(queries, keys, values, options);
  EXPECT_TRUE(std::isnan(got.output(0, 0)));
  EXPECT_EQ(got.status[0], PointStatus::no_neighbour);
  EXPECT_EQ(got.n_eff[0], 0.0);
  options.nearest_if_none = true;
  got = run(queries, keys, values, options);
  EXPECT_EQ(got.output(0, 0), 6.0);
  EXPECT_EQ(got.status[0], PointStatus::nearest);
}

TEST(Estimate, LeaveOneOutResidualFormula) {
  const RowMatrix<double> x = normal<double>(60, 2, 1), y = normal<double>(60, 1, 2);
  EstimateOptions options = with(KernelFunction::gaussian, 0.6);
  const auto full = run(x, x, y, options);
  options.leave_one_out = true;
  const auto loo = run(x, x, y, options);
  for (Index i = 0; i < 60; ++i)
    EXPECT_NEAR(y(i, 0) - loo.output(i, 0), (y(i, 0) - full.output(i, 0)) / (1.0 - loo.self_weight[i]),
                1e-11);
}

TEST(Estimate, AloneAtItsPlace) {
  RowMatrix<double> x(3, 1), y(3, 1);
  x << 0, 0.1, 50;
  y << 1, 2, 3;
  EstimateOptions options = with(KernelFunction::uniform, 1.0);
  options.leave_one_out = true;
  const auto got = run(x, x, y, options);
  EXPECT_EQ(got.status[2], PointStatus::no_other_key);
  EXPECT_EQ(got.self_weight[2], 1.0);
  EXPECT_DOUBLE_EQ(got.output(0, 0), 2.0);
}

TEST(Estimate, CloseKeysFarFromZero) {
  RowMatrix<double> keys(2, 1), values(2, 1), query(1, 1);
  values << 0, 1;
  keys << 1e12, 1e12 + 100;
  query << 1e12 + 40;
  expect_as_defined<double>(query, keys, values, with(KernelFunction::gaussian, 50), 1e-14);
  keys << 0.7125930, 0.7123166;
  query << 0.7124;
  expect_as_defined<double>(query, keys, values, with(KernelFunction::gaussian, 1e-4), 1e-12);
  expect_as_defined<float>(query.cast<float>(), keys.cast<float>(), values.cast<float>(),
                           with(KernelFunction::gaussian, 1e-4), 1e-6);
}

TEST(Estimate, OnePointMoreOnAGridChangesLittle) {
  for (const auto function : {KernelFunction::gaussian, KernelFunction::epanechnikov}) {
    Vector at(2);
    int i = 0;
    for (const Index n : {512, 513}) {
      const RowMatrix<float> x = Vector::LinSpaced(n, 500, 501).cast<float>();
      const RowMatrix<float> y = x.array().sin();
      RowMatrix<float> query(1, 1);
      query << 500.5F;
      at[i++] = run(query, x, y, with(function, 0.05)).output(0, 0);
    }
    EXPECT_NEAR(at[0], at[1], 2e-6);
  }
}

TEST(Estimate, EqualWeightsAddUpToTheNumberOfKeys) {
  constexpr Index kMany = 20'000'000;
  RowMatrix<float> keys = RowMatrix<float>::Zero(kMany, 1), values = RowMatrix<float>::Ones(kMany, 1),
                   query(1, 1);
  query << 0.0F;
  const auto got = run(query, keys, values, with(KernelFunction::gaussian, 1.0));
  EXPECT_NEAR(std::exp(got.log_normaliser[0]), kMany, 1.0);
  EXPECT_NEAR(got.n_eff[0], kMany, 4.0);
  EXPECT_FLOAT_EQ(got.output(0, 0), 1.0F);
}

// n sum w^2 of softmax weights of normal keys is exp(score variance) while that is below (log n)/2 = 4.95,
// and far less beyond, where a few keys carry all the weight.
TEST(Estimate, SoftmaxLawHoldsToHalfTheLogarithmOfN) {
  constexpr Index kKeys = 20000;
  constexpr int kDraws = 40;
  for (const double variance : {1.0, 2.0, 6.25}) {
    double mean = 0.0;
    for (int draw = 0; draw < kDraws; ++draw) {
      const RowMatrix<double> keys = normal<double>(kKeys, 1, 100 + static_cast<std::uint64_t>(draw));
      const RowMatrix<double> query = RowMatrix<double>::Constant(1, 1, std::sqrt(variance));
      const auto got = run<double>(query, keys, keys, with(KernelFunction::softmax, 1.0));
      mean += static_cast<double>(kKeys) / got.n_eff[0] / kDraws;
    }
    if (variance > 5.0)
      EXPECT_LT(mean, 0.7 * std::exp(variance));
    else
      EXPECT_NEAR(mean / std::exp(variance), 1.0, 0.1) << variance;
  }
}

TEST(Estimate, SameBitsForAnyNumberOfThreads) {
  for (const Index value_dim : {1, 9}) {
    const RowMatrix<float> q = normal<float>(700, 3, 1), k = normal<float>(70000, 3, 2),
                           v = normal<float>(70000, value_dim, 3);
    Estimate<float> one, two;
    {
      const ThreadLimit limit(1);
      one = run(q, k, v, with(KernelFunction::gaussian, 0.4));
    }
    {
      const ThreadLimit limit(2);
      two = run(q, k, v, with(KernelFunction::gaussian, 0.4));
    }
    EXPECT_TRUE(one.output == two.output);
    EXPECT_TRUE(one.n_eff == two.n_eff);
  }
}

// Every output within the stated share of the spread of the values; n_eff and the normaliser alike.
template <class T>
void expect_within(const EstimateOptions& exact, double relative_error, const RowMatrix<T>& q,
                   const RowMatrix<T>& k, const RowMatrix<T>& v) {
  EstimateOptions near = exact;
  near.relative_error = relative_error;
  const auto want = run(q, k, v, exact), got = run(q, k, v, near);
  const double spread = v.maxCoeff() - v.minCoeff(), rounding = sizeof(T) == 4 ? 2e-5 : 1e-11;
  for (Index i = 0; i < q.rows(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    ASSERT_EQ(got.status[at], want.status[at]) << i;
    if (want.status[at] != PointStatus::ok) continue;
    ASSERT_NEAR(got.output(i, 0), want.output(i, 0), (relative_error + rounding) * spread) << i;
    ASSERT_NEAR(got.log_normaliser[i], want.log_normaliser[i], relative_error + rounding) << i;
    ASSERT_NEAR(got.n_eff[i] / want.n_eff[i], 1.0, 3 * relative_error + rounding) << i;
  }
}

TEST(Estimate, PrunedIsWithinItsBound) {
  for (const Index d : {1, 2, 3, 5}) {
    const RowMatrix<double> k = normal<double>(5000, d, 1);
    RowMatrix<double> q = normal<double>(300, d, 2);
    q.row(0).setConstant(9.0);
    q.row(1).setConstant(40.0);
    for (const Index value_dim : {1, 6}) {
      const RowMatrix<double> v = normal<double>(5000, value_dim, 3);
      for (const double relative_error : {1e-1, 1e-3, 1e-7})
        expect_within(with(KernelFunction::gaussian, 0.3), relative_error, q, k, v);
    }
    const RowMatrix<float> v = normal<float>(5000, 1, 3);
    expect_within<float>(with(KernelFunction::gaussian, 0.3), 1e-3, q.cast<float>(), k.cast<float>(), v);
    EstimateOptions loo = with(KernelFunction::gaussian, 0.3);
    loo.leave_one_out = true;
    expect_within<float>(loo, 1e-3, k.cast<float>(), k.cast<float>(), v);
  }
}

TEST(Estimate, CompactKernelsOnALineAreWithinTheirBound) {
  RowMatrix<double> k = normal<double>(20000, 1, 1), q = normal<double>(80, 1, 2);
  k.topRows(17000).setConstant(0.25);                                    // all at one place
  k.middleRows(17000, 500) = k.middleRows(17000, 500).array() + 30.0;    // far from the others
  q.topRows(8) << 0.25, 0.55, -0.05, 30.0, 17.0, 1e6, 4.3, k(19000, 0);  // some at a rim or in a gap
  for (const Index value_dim : {1, 3}) {
    const RowMatrix<double> v = normal<double>(20000, value_dim, 3).array() + 1000.0;
    for (const KernelFunction function : kKernelFunctions)
      for (const double bandwidth : {1e-4, 0.3, 20.0, std::numeric_limits<double>::infinity()}) {
        if (!is_compact(function)) continue;
        SCOPED_TRACE(to_string(function));
        for (const double relative_error : {1e-1, 1e-9})
          expect_within(with(function, bandwidth), relative_error, q, k, v);
      }
  }
}

TEST(Estimate, CompactKernelsSkipOnlyWhatWeighsNothing) {
  for (const KernelFunction function : kKernelFunctions) {
    if (!is_compact(function)) continue;
    const RowMatrix<double> k = normal<double>(3000, 2, 1);
    expect_as_defined(normal<double>(50, 2, 2), k, normal<double>(3000, 1, 3), with(function, 0.4), 1e-12);
    // Every pair by definition takes its time: the kernel with a step at its rim stands for all.
    if (function != KernelFunction::uniform) continue;
    EstimateOptions loo = with(function, 0.4);
    loo.leave_one_out = true;
    expect_as_defined<double>(k.topRows(2100), k.topRows(2100), normal<double>(2100, 1, 3), loo, 1e-12);
  }
}

TEST(Estimate, InfiniteBandwidthLeavesADimensionOut) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const RowMatrix<double> k = normal<double>(3000, 2, 1), q = normal<double>(20, 2, 2),
                          v = normal<double>(3000, 1, 3);
  for (const KernelFunction function : kKernelFunctions)
    for (const KernelShape shape : {KernelShape::radial, KernelShape::product}) {
      EstimateOptions both = with(function, 0.5, shape);
      both.bandwidth = Vector{{0.5, kInfinity}};
      const auto got = run(q, k, v, both);
      const auto want = run<double>(q.leftCols(1), k.leftCols(1), v, with(function, 0.5));
      EXPECT_LT((got.output - want.output).cwiseAbs().maxCoeff(), 1e-12) << to_string(function);
      if (function == KernelFunction::softmax) continue;
      EXPECT_NEAR(run(q, k, v, with(function, kInfinity, shape)).output(3, 0), v.mean(), 1e-12)
          << to_string(function);
    }
}

TEST(Estimate, BadInputIsRefused) {
  const RowMatrix<double> x = normal<double>(5, 2, 1), y = normal<double>(5, 1, 2);
  const EstimateOptions good = with(KernelFunction::gaussian, 1.0);
  EXPECT_THROW(run<double>(x.leftCols(1), x, y, good), ArgumentError);
  EXPECT_THROW(run<double>(x, x, y.topRows(4), good), ArgumentError);
  EXPECT_THROW(run<double>(x, x.topRows(0), y.topRows(0), good), ArgumentError);
  for (const double h : {0.0, -1.0, std::nan("")})
    EXPECT_THROW(run(x, x, y, with(KernelFunction::gaussian, h)), ArgumentError) << h;
  EstimateOptions wide = good;
  wide.bandwidth = Vector::Ones(3);
  EXPECT_THROW(run(x, x, y, wide), ArgumentError);
  for (const double bad : {-1e-3, 1.0, std::nan("")}) {
    EstimateOptions loose = good;
    loose.relative_error = bad;
    EXPECT_THROW(run(x, x, y, loose), ArgumentError);
  }
  EstimateOptions loo = good;
  loo.leave_one_out = true;
  EXPECT_THROW(run<double>(x.topRows(3), x, y, loo), ArgumentError);
  for (const double bad : {std::nan(""), std::numeric_limits<double>::infinity()}) {
    RowMatrix<double> broken = x;
    broken(3, 1) = bad;
    EXPECT_THROW(run(broken, x, y, good), ArgumentError);
    EXPECT_THROW(run(x, broken, y, good), ArgumentError);
    EXPECT_THROW(run<double>(x, x, broken.col(1), good), ArgumentError);
  }
  EXPECT_EQ(run<double>(x.topRows(0), x, y, good).output.rows(), 0);
}

}  // namespace
}  // namespace headspan::nw
