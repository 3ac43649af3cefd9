#include "headspan/nw/heads.h"

#include <gtest/gtest.h>

#include <cmath>

#include "headspan/numeric/error.h"
#include "headspan/numeric/gaussian_laws.h"
#include "nw/definition.h"

namespace headspan::nw {
namespace {

using definition::normal;

std::vector<Head> three_heads() {
  const Matrix projections = normal<double>(5, 4, 9);
  return {{projections.topRows(2), Vector::Constant(1, 0.9)},
          {projections.bottomRows(3), Vector::LinSpaced(3, 0.7, 1.4)},
          {{}, Vector::Constant(1, 1.1)}};
}

template <class T>
void expect_as_defined(const HeadsOptions& options, double tolerance) {
  // Just beside one block of keys.
  const Index n = options.leave_one_out ? 70 : 131;
  const RowMatrix<T> k = normal<T>(n, 4, 1), v = normal<T>(n, 2, 3);
  const RowMatrix<T> q = options.leave_one_out ? k : normal<T>(30, 4, 2);
  const std::vector<Head> heads = three_heads();
  const HeadsEstimate<T> got = estimate_heads<T>(q, k, v, heads, options);
  const Vector s2 =
      options.noise_variance.size() > 1 ? options.noise_variance : Vector(Vector::Constant(n, 2.0));
  for (Index i = 0; i < q.rows(); ++i) {
    Matrix w(3, n);
    bool all = true;
    for (std::size_t h = 0; h < 3; ++h) {
      const Matrix p = heads[h].projection.size() == 0 ? Matrix(Matrix::Identity(4, 4)) : heads[h].projection;
      const Matrix keys =
          (k.template cast<double>() * p.transpose()).template cast<T>().template cast<double>();
      const Vector query = (q.row(i).template cast<double>() * p.transpose())
                               .template cast<T>()
                               .template cast<double>()
                               .transpose();
      const Vector weights = definition::weights(options.kernel, query, keys, heads[h].bandwidth,
                                                 options.leave_one_out ? i : -1);
      all = all && weights.size() > 0;
      if (weights.size() == 0) continue;
      w.row(static_cast<Index>(h)) = weights.transpose();
      ASSERT_NEAR(got.heads[h].output(i, 1), weights.dot(v.col(1).template cast<double>()), 10 * tolerance);
    }
    const Eigen::Map<const Matrix> have(got.covariance.row(i).data(), 3, 3);
    if (!all) {
      EXPECT_TRUE(std::isnan(have.sum()));
      continue;
    }
    const Matrix want = w * s2.asDiagonal() * w.transpose();
    ASSERT_LT((have - want).cwiseAbs().maxCoeff(), tolerance * want.maxCoeff())
        << to_string(options.kernel.function) << " " << i;
  }
}

TEST(Heads, CovarianceIsItsDefinition) {
  for (const KernelFunction function : kKernelFunctions)
    for (const KernelShape shape : {KernelShape::radial, KernelShape::product})
      for (const bool leave_one_out : {false, true})
        for (const bool unequal : {false, true}) {
          HeadsOptions options;
          options.kernel = {function, shape};
          options.leave_one_out = leave_one_out;
          options.covariance = true;
          options.noise_variance = unequal ? Vector(Vector::LinSpaced(leave_one_out ? 70 : 131, 0.5, 4.0))
                                           : Vector(Vector::Constant(1, 2.0));
          expect_as_defined<float>(options, 2e-5);
          expect_as_defined<double>(options, 1e-11);
        }
}

TEST(Heads, CentredAndAveraged) {
  const RowMatrix<double> k = normal<double>(200, 4, 1), v = normal<double>(200, 1, 3),
                          q = normal<double>(30, 4, 2);
  HeadsOptions options;
  options.covariance = true;
  const Matrix raw = estimate_heads<double>(q, k, v, three_heads(), options).covariance;
  options.centred = true;
  const Matrix centred = estimate_heads<double>(q, k, v, three_heads(), options).covariance;
  EXPECT_LT((raw.array() - centred.array() - 1.0 / 200.0).abs().maxCoeff(), 1e-15);
  options.average = true;
  const Matrix mean = estimate_heads<double>(q, k, v, three_heads(), options).covariance;
  EXPECT_LT((mean - centred.colwise().mean()).cwiseAbs().maxCoeff(), 1e-15);
}

// n C_12 / s2 tends to prod_j V(cos theta_j) under a Gaussian design [theory, section 5].
TEST(Heads, GaussianDesignLaw) {
  constexpr Index kKeys = 20000, kQueries = 3000;
  const double cosine = std::cos(0.5);
  Matrix first(1, 2), second(1, 2);
  first << 1, 0;
  second << cosine, std::sin(0.5);
  HeadsOptions options;
  options.covariance = true;
  options.average = true;
  const auto got = estimate_heads<double>(normal<double>(kQueries, 2, 1), normal<double>(kKeys, 2, 2),
                                          normal<double>(kKeys, 1, 3),
                                          {{first, Vector::Ones(1)}, {second, Vector::Ones(1)}}, options);
  const GaussianKernelLaw law(1.0);
  EXPECT_NEAR(static_cast<double>(kKeys) * got.covariance(0, 1), std::exp(law.log_v(cosine * cosine)), 0.05);
  EXPECT_NEAR(static_cast<double>(kKeys) * got.covariance(0, 0), std::exp(law.log_v(1.0)), 0.05);
}

TEST(Heads, BadInputIsRefused) {
  const RowMatrix<double> x = normal<double>(9, 4, 1), y = normal<double>(9, 1, 2);
  EXPECT_THROW(estimate_heads<double>(x, x, y, {}, {}), ArgumentError);
  EXPECT_THROW(estimate_heads<double>(x, x, y, {{Matrix::Ones(2, 3), Vector::Ones(1)}}, {}), ArgumentError);
  EXPECT_THROW(estimate_heads<double>(x, x, y, {{Matrix::Ones(2, 4), Vector::Ones(3)}}, {}), ArgumentError);
  HeadsOptions options;
  options.noise_variance = Vector::Zero(1);
  EXPECT_THROW(estimate_heads<double>(x, x, y, three_heads(), options), ArgumentError);
}

}  // namespace
}  // namespace headspan::nw
