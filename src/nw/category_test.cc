#include "headspan/nw/category.h"

#include <gtest/gtest.h>

#include <cmath>

#include "headspan/numeric/error.h"
#include "headspan/numeric/random.h"

namespace headspan::nw {
namespace {

using C = CategoryKernel;
using Codes = RowMatrix<std::int32_t>;

constexpr C kKernels[] = {C::aitchison_aitken, C::li_racine, C::wang_van_ryzin, C::li_racine_ordered};

TEST(CategoryValue, IsItsFormula) {
  EXPECT_DOUBLE_EQ(category_value(C::aitchison_aitken, 0, 4, 0.3), 0.7);
  EXPECT_DOUBLE_EQ(category_value(C::aitchison_aitken, 2, 4, 0.3), 0.1);
  EXPECT_DOUBLE_EQ(category_value(C::aitchison_aitken, 1, 4, 0.75), 0.25);
  EXPECT_DOUBLE_EQ(category_value(C::li_racine, 0, 4, 0.3), 1.0);
  EXPECT_DOUBLE_EQ(category_value(C::li_racine, 3, 4, 0.3), 0.3);
  EXPECT_DOUBLE_EQ(category_value(C::wang_van_ryzin, 0, 4, 0.3), 0.7);
  EXPECT_DOUBLE_EQ(category_value(C::wang_van_ryzin, 2, 4, 0.3), 0.35 * 0.09);
  EXPECT_DOUBLE_EQ(category_value(C::li_racine_ordered, 0, 4, 0.0), 1.0);
  EXPECT_DOUBLE_EQ(category_value(C::li_racine_ordered, 2, 4, 0.3), 0.09);
  EXPECT_THROW(category_value(C::aitchison_aitken, 0, 4, 0.76), ArgumentError);
  EXPECT_THROW(category_value(C::li_racine, 0, 4, -0.1), ArgumentError);
  EXPECT_THROW(category_value(C::li_racine, -1, 4, 0.1), ArgumentError);
}

TEST(CategoryValue, NamesAreTheirOwnInverse) {
  for (const C kernel : kKernels) EXPECT_EQ(category_kernel_named(to_string(kernel)), kernel);
  EXPECT_FALSE(category_kernel_named("gaussian"));
}

struct MixedSample {
  Matrix x;
  Vector y;
  Codes codes;
};

/// y depends on x and, by a jump, on the first category; the second is noise.
MixedSample sample(Index n, std::uint64_t seed) {
  RandomStream random(seed, 0);
  MixedSample s{random.normal_matrix(n, 1), Vector(n), Codes(n, 2)};
  const double jump[] = {0.0, 3.0, -2.0};
  for (Index i = 0; i < n; ++i) {
    s.codes(i, 0) = static_cast<std::int32_t>(3.0 * random.uniform());
    s.codes(i, 1) = static_cast<std::int32_t>(4.0 * random.uniform());
    s.y[i] = std::sin(2.0 * s.x(i, 0)) + jump[s.codes(i, 0)] + 0.3 * random.normal();
  }
  return s;
}

TEST(SmootherScores, CategoriesMultiplyTheWeights) {
  const MixedSample s = sample(40, 1);
  for (const KernelFunction function : {KernelFunction::gaussian, KernelFunction::biweight}) {
    const Kernel kernel{function, KernelShape::product};
    const Vector h{{0.8}}, lambda{{0.4, 0.3}};
    const SmootherScores have =
        smoother_scores(s.x, s.y, kernel, h, {s.codes, {C::aitchison_aitken, C::wang_van_ryzin}}, lambda);
    for (Index i = 0; i < 40; ++i) {
      double weights = 0.0, values = 0.0, self = 0.0;
      for (Index j = 0; j < 40; ++j) {
        const double w = std::exp(log_weight(kernel, s.x.row(i).transpose(), s.x.row(j).transpose(), h)) *
                         category_value(C::aitchison_aitken, s.codes(i, 0) != s.codes(j, 0), 3, 0.4) *
                         category_value(C::wang_van_ryzin, std::abs(s.codes(i, 1) - s.codes(j, 1)), 4, 0.3);
        weights += w;
        values += w * s.y[j];
        if (i == j) self = w;
      }
      EXPECT_NEAR(have.fit[i], values / weights, 1e-12);
      EXPECT_NEAR(have.self_weight[i], self / weights, 1e-13);
      EXPECT_NEAR(have.loo_residual[i], s.y[i] - (values - self * s.y[i]) / (weights - self), 1e-11);
    }
  }
}

TEST(SmootherScores, CodesAreNames) {
  const MixedSample s = sample(40, 2);
  // Another permutation of an unordered column's codes; a stretched one of an ordered column's.
  Codes renamed = s.codes;
  const std::int32_t names[] = {70, -5, 12};
  for (Index i = 0; i < 40; ++i) {
    renamed(i, 0) = names[s.codes(i, 0)];
    renamed(i, 1) = s.codes(i, 1) * s.codes(i, 1) * 1000 - 7;
  }
  const std::vector<C> kernels{C::li_racine, C::li_racine_ordered};
  const Vector h{{0.5}}, lambda{{0.2, 0.6}};
  EXPECT_EQ(smoother_scores(s.x, s.y, {}, h, {s.codes, kernels}, lambda).fit,
            smoother_scores(s.x, s.y, {}, h, {renamed, kernels}, lambda).fit);
}

TEST(SmootherScores, CategoriesAloneAtTheEndsOfLambda) {
  const Vector y{{1.0, 2.0, 6.0}};
  const Codes codes = (Codes(3, 1) << 1, 1, 2).finished();
  const Matrix none(3, 0);
  const SmootherScores apart =
      smoother_scores(none, y, {}, Vector(0), {codes, {C::aitchison_aitken}}, Vector{{0.0}});
  EXPECT_DOUBLE_EQ(apart.fit[0], 1.5);
  EXPECT_EQ(apart.n_isolated, 1);
  for (const auto& [kernel, largest] : {std::pair{C::aitchison_aitken, 0.5}, {C::li_racine, 1.0}})
    EXPECT_DOUBLE_EQ(smoother_scores(none, y, {}, Vector(0), {codes, {kernel}}, Vector{{largest}}).fit[2],
                     3.0);
  const SmootherScores limit =
      smoother_scores(none, y, {}, Vector(0), {codes, {C::wang_van_ryzin}}, Vector{{1.0}});
  EXPECT_DOUBLE_EQ(limit.fit[2], (0.5 + 1.0 + 6.0) / 2.0);
}

TEST(SelectBandwidth, CategoriesThatMatterAndThatDoNot) {
  const MixedSample s = sample(120, 3);
  for (const C kernel : {C::aitchison_aitken, C::li_racine, C::li_racine_ordered}) {
    const BandwidthSelection found =
        select_bandwidth(s.x, s.y, {.kernel = {}, .n_starts = 1}, {s.codes, {kernel, kernel}});
    EXPECT_LT(found.lambda[0], 0.1) << to_string(kernel);
    EXPECT_FALSE(found.irrelevant_category[0]);
    EXPECT_TRUE(found.irrelevant_category[1] || is_ordered(kernel)) << to_string(kernel);
    EXPECT_FALSE(found.irrelevant[0]);
    const SmootherScores scores =
        smoother_scores(s.x, s.y, {}, found.bandwidth, {s.codes, {kernel, kernel}}, found.lambda);
    EXPECT_NEAR(*scores.loo / found.value, 1.0, 1e-9);
    for (const double a : {0.0, 0.05, 0.3})
      for (const double b : {0.0, 0.3, 0.75})
        EXPECT_GE(
            *smoother_scores(s.x, s.y, {}, found.bandwidth, {s.codes, {kernel, kernel}}, Vector{{a, b}}).loo,
            found.value * (1.0 - 1e-9));
  }
}

TEST(SelectBandwidth, OneColumnOfCategories) {
  const MixedSample s = sample(100, 4);
  const BandwidthSelection found =
      select_bandwidth(Matrix(100, 0), s.y, {}, {s.codes.leftCols(1), {C::wang_van_ryzin}});
  EXPECT_LT(found.lambda[0], 0.2);
  EXPECT_EQ(found.bandwidth.size(), 0);
}

TEST(SelectBandwidth, RefusesBadCategories) {
  const MixedSample s = sample(20, 5);
  const Vector h = Vector::Ones(1);
  EXPECT_THROW(smoother_scores(s.x, s.y, {}, h, {s.codes, {C::li_racine}}, Vector{{0.1, 0.1}}),
               ArgumentError);
  EXPECT_THROW(smoother_scores(s.x, s.y, {}, h, {s.codes, {C::li_racine, C::li_racine}}, Vector{{0.1}}),
               ArgumentError);
  EXPECT_THROW(select_bandwidth(s.x, s.y, {}, {s.codes.topRows(19), {C::li_racine, C::li_racine}}),
               ArgumentError);
  EXPECT_THROW(select_bandwidth(s.x, s.y, {}, {Codes::Zero(20, 1), {C::li_racine}}), ArgumentError);
  EXPECT_THROW(select_bandwidth(Matrix(20, 0), s.y, {}), ArgumentError);
}

}  // namespace
}  // namespace headspan::nw
