#include <gtest/gtest.h>

#include <cmath>

#include "headspan/numeric/error.h"
#include "headspan/numeric/parallel.h"
#include "headspan/numeric/random.h"
#include "headspan/nw/category.h"
#include "nw/constants.h"

namespace headspan::nw {
namespace {

using C = CategoryKernel;
using Codes = RowMatrix<std::int32_t>;

struct KeysAndQueries {
  Matrix queries, keys, values;
  EstimateCategories categories;
};

Codes codes(RandomStream& random, Index rows) {
  Codes some(rows, 2);
  for (Index i = 0; i < rows; ++i)
    for (Index k = 0; k < 2; ++k)
      some(i, k) = static_cast<std::int32_t>((k == 0 ? 3.0 : 5.0) * random.uniform());
  return some;
}

/// Three levels and five; the last query has a level of the first column that no key has.
KeysAndQueries sample(Index n, Index m, C first, C second, const Vector& lambda) {
  RandomStream random(11, 0);
  KeysAndQueries s{random.normal_matrix(m, 2), random.normal_matrix(n, 2), random.normal_matrix(n, 3), {}};
  s.categories = {{codes(random, n), {first, second}}, codes(random, m), lambda};
  for (std::int32_t level = 0; level < 5; ++level) s.categories.keys.codes(level, 1) = level;
  if (!is_ordered(first)) s.categories.queries(m - 1, 0) = 99;
  return s;
}

EstimateOptions options(KernelFunction function, double bandwidth) {
  EstimateOptions all;
  all.kernel = {function, KernelShape::product};
  all.bandwidth = Vector{{bandwidth, 1.5 * bandwidth}};
  return all;
}

/// The product of the category kernels of query q and key i, from their definition.
double category_weight(const KeysAndQueries& s, Index q, Index i) {
  double weight = 1.0;
  for (Index k = 0; k < 2; ++k)
    weight *= category_value(s.categories.keys.kernels[static_cast<std::size_t>(k)],
                             std::abs(s.categories.queries(q, k) - s.categories.keys.codes(i, k)),
                             k == 0 ? 3 : 5, s.categories.lambda[k]);
  return weight;
}

Estimate<double> estimate_of(const KeysAndQueries& s, const EstimateOptions& how) {
  return estimate(s.queries, s.keys, s.values, how, s.categories);
}

TEST(EstimateWithCategories, IsItsDefinition) {
  const std::pair<C, C> pairs[] = {{C::aitchison_aitken, C::wang_van_ryzin},
                                   {C::li_racine, C::li_racine_ordered}};
  for (const KernelFunction function : kKernelFunctions)
    for (const auto& [first, second] : pairs) {
      const KeysAndQueries s = sample(50, 9, first, second, Vector{{0.3, 0.6}});
      const EstimateOptions how = options(function, 2.0);
      const Estimate<double> have = estimate_of(s, how);
      for (Index q = 0; q < 9; ++q) {
        double weights = 0.0, squares = 0.0;
        Vector values = Vector::Zero(3);
        for (Index i = 0; i < 50; ++i) {
          const double w =
              category_weight(s, q, i) * std::exp(log_weight(how.kernel, s.queries.row(q).transpose(),
                                                             s.keys.row(i).transpose(), how.bandwidth));
          weights += w;
          squares += w * w;
          values += w * s.values.row(i).transpose();
        }
        ASSERT_GT(weights, 0.0);
        EXPECT_LT((have.output.row(q).transpose() - values / weights).cwiseAbs().maxCoeff(), 1e-12);
        EXPECT_NEAR(have.log_normaliser[q], std::log(weights), 1e-12);
        EXPECT_NEAR(have.n_eff[q], weights * weights / squares, 1e-10);
        EXPECT_EQ(have.status[static_cast<std::size_t>(q)], PointStatus::ok);
      }
    }
}

TEST(EstimateWithCategories, AtTheKeysItIsTheSmoother) {
  KeysAndQueries s = sample(60, 60, C::aitchison_aitken, C::li_racine_ordered, Vector{{0.2, 0.4}});
  s.queries = s.keys;
  s.categories.queries = s.categories.keys.codes;
  EstimateOptions how = options(KernelFunction::biweight, 1.5);
  const SmootherScores scores = smoother_scores(s.keys, s.values.col(1), how.kernel, how.bandwidth,
                                                s.categories.keys, s.categories.lambda);
  const Estimate<double> fit = estimate_of(s, how);
  EXPECT_LT((fit.output.col(1) - scores.fit).cwiseAbs().maxCoeff(), 1e-13);
  EXPECT_LT((fit.n_eff - scores.n_eff).cwiseAbs().maxCoeff(), 1e-10);
  how.leave_one_out = true;
  const Estimate<double> others = estimate_of(s, how);
  EXPECT_LT((others.self_weight - scores.self_weight).cwiseAbs().maxCoeff(), 1e-13);
  for (Index i = 0; i < 60; ++i) {
    if (std::isnan(scores.loo_residual[i])) continue;
    EXPECT_NEAR(others.output(i, 1), s.values(i, 1) - scores.loo_residual[i], 1e-12);
  }
}

TEST(EstimateWithCategories, SmallTablesByHand) {
  const Matrix none(3, 0), at(1, 0), values{{1.0}, {3.0}, {8.0}};
  const Codes keys = (Codes(3, 1) << 4, 4, 7).finished(), four = Codes::Constant(1, 1, 4);
  const auto found = [&](C kernel, double lambda, const Codes& query) {
    EstimateOptions how;
    how.bandwidth = Vector{{1.0}};
    return estimate(at, none, values, how, {{keys, {kernel}}, query, Vector{{lambda}}});
  };
  // Weights 1, 1, 1/2; then 3/4, 3/4, 1/4.
  EXPECT_DOUBLE_EQ(found(C::li_racine, 0.5, four).output(0, 0), 8.0 / 2.5);
  const Estimate<double> one = found(C::aitchison_aitken, 0.25, four);
  EXPECT_DOUBLE_EQ(one.output(0, 0), 5.0 / 1.75);
  EXPECT_DOUBLE_EQ(one.log_normaliser[0], std::log(1.75));
  EXPECT_DOUBLE_EQ(one.n_eff[0], 1.75 * 1.75 / (2.0 * 0.5625 + 0.0625));
  // An unseen level differs from every key alike: the mean of all.
  EXPECT_DOUBLE_EQ(found(C::li_racine, 0.5, Codes::Constant(1, 1, 5)).output(0, 0), 4.0);
  EXPECT_DOUBLE_EQ(found(C::li_racine, 0.5, Codes::Constant(1, 1, 5)).log_normaliser[0], std::log(1.5));
  // 1 - lambda for equal levels, (1 - lambda) / 2 lambda^r for others: 1/2, 1/2, 1/8.
  EXPECT_DOUBLE_EQ(found(C::wang_van_ryzin, 0.5, four).output(0, 0), (0.5 * 4.0 + 1.0) / 1.125);
  EXPECT_EQ(found(C::wang_van_ryzin, 1.0, four).log_normaliser[0], -kInfinity);
  EXPECT_DOUBLE_EQ(found(C::wang_van_ryzin, 1.0, four).output(0, 0), 8.0 / 2.5);
}

TEST(EstimateWithCategories, CodesAreNames) {
  const KeysAndQueries s = sample(40, 12, C::aitchison_aitken, C::wang_van_ryzin, Vector{{0.3, 0.5}});
  KeysAndQueries renamed = s;
  const auto rename = [](Codes& some) {
    const std::int32_t names[] = {70, -5, 12};
    for (Index i = 0; i < some.rows(); ++i) {
      some(i, 0) = some(i, 0) < 3 ? names[some(i, 0)] : -1000;
      some(i, 1) = some(i, 1) * some(i, 1) * 1000 - 7;
    }
  };
  rename(renamed.categories.keys.codes);
  rename(renamed.categories.queries);
  const EstimateOptions how = options(KernelFunction::gaussian, 0.7);
  EXPECT_EQ(estimate_of(s, how).output, estimate_of(renamed, how).output);
  EXPECT_EQ(estimate_of(s, how).log_normaliser, estimate_of(renamed, how).log_normaliser);
}

TEST(EstimateWithCategories, TheLargestLambdaLeavesTheColumnsOut) {
  const std::pair<C, double> ends[] = {
      {C::aitchison_aitken, 2.0 / 3.0}, {C::li_racine, 1.0}, {C::li_racine_ordered, 1.0}};
  const EstimateOptions how = options(KernelFunction::laplace, 0.7);
  for (const auto& [kernel, largest] : ends) {
    const KeysAndQueries s = sample(40, 12, kernel, C::li_racine, Vector{{largest, 1.0}});
    const Estimate<double> numbers = estimate<double>(s.queries, s.keys, s.values, how);
    EXPECT_LT((estimate_of(s, how).output - numbers.output).cwiseAbs().maxCoeff(), 1e-13);
  }
}

TEST(EstimateWithCategories, LambdaZeroComparesEqualLevelsOnly) {
  KeysAndQueries s = sample(60, 12, C::aitchison_aitken, C::li_racine, Vector{{0.0, 1.0}});
  EstimateOptions how = options(KernelFunction::gaussian, 0.7);
  const Estimate<double> have = estimate_of(s, how);
  for (Index q = 0; q < 11; ++q) {
    std::vector<Index> equal;
    for (Index i = 0; i < 60; ++i)
      if (s.categories.keys.codes(i, 0) == s.categories.queries(q, 0)) equal.push_back(i);
    const Matrix keys = s.keys(equal, Eigen::all), values = s.values(equal, Eigen::all);
    const Estimate<double> alone = estimate<double>(s.queries.row(q), keys, values, how);
    EXPECT_LT((have.output.row(q) - alone.output.row(0)).cwiseAbs().maxCoeff(), 1e-12);
    EXPECT_NEAR(have.log_normaliser[q], alone.log_normaliser[0], 1e-12);
  }
  EXPECT_EQ(have.status[11], PointStatus::no_neighbour);
  EXPECT_TRUE(std::isnan(have.output(11, 0)));
  EXPECT_EQ(have.log_normaliser[11], -kInfinity);
  EXPECT_EQ(have.n_eff[11], 0.0);
}

TEST(EstimateWithCategories, TheNearestIsOneOfTheMostAlike) {
  const Matrix keys{{0.0}, {1.0}, {5.0}}, values{{10.0}, {20.0}, {30.0}}, at{{0.9}};
  const Codes codes = (Codes(3, 1) << 1, 1, 2).finished();
  EstimateOptions how;
  how.kernel.function = KernelFunction::uniform;
  how.bandwidth = Vector{{0.05}};
  how.nearest_if_none = true;
  const auto found = [&](std::int32_t level) {
    return estimate(at, keys, values, how,
                    {{codes, {C::li_racine}}, Codes::Constant(1, 1, level), Vector{{0.0}}});
  };
  EXPECT_EQ(found(2).output(0, 0), 30.0);
  EXPECT_EQ(found(1).output(0, 0), 20.0);
  EXPECT_EQ(found(3).output(0, 0), 20.0);
  EXPECT_EQ(found(3).status[0], PointStatus::nearest);
}

TEST(EstimateWithCategories, FarFromEveryKeyTheNearestDecides) {
  const Matrix keys{{0.0}, {1.0}, {1.0}}, values{{10.0}, {20.0}, {40.0}}, at{{1e3}};
  EstimateOptions how;
  how.bandwidth = Vector{{0.1}};
  const Estimate<double> found = estimate(
      at, keys, values, how,
      {{(Codes(3, 1) << 1, 1, 2).finished(), {C::li_racine}}, Codes::Constant(1, 1, 1), Vector{{0.5}}});
  // The logarithms are near -5e7, and so are their rounding errors.
  EXPECT_NEAR(found.output(0, 0), (20.0 + 0.5 * 40.0) / 1.5, 40.0 * 5e7 * 2.3e-16);
}

TEST(EstimateWithCategories, ThreadsDoNotChangeABit) {
  const KeysAndQueries s = sample(300, 100, C::aitchison_aitken, C::wang_van_ryzin, Vector{{0.3, 0.5}});
  const EstimateOptions how = options(KernelFunction::gaussian, 0.5);
  const auto with_threads = [&](int threads) {
    const ThreadLimit limit(threads);
    return estimate_of(s, how);
  };
  const Estimate<double> one = with_threads(1);
  for (const int threads : {2, 3}) {
    EXPECT_EQ(with_threads(threads).output, one.output);
    EXPECT_EQ(with_threads(threads).log_normaliser, one.log_normaliser);
  }
}

TEST(EstimateWithCategories, WithoutAColumnOfThemItIsTheEstimate) {
  const KeysAndQueries s = sample(40, 12, C::li_racine, C::li_racine, Vector{{1.0, 1.0}});
  const EstimateOptions how = options(KernelFunction::gaussian, 0.5);
  EXPECT_EQ(estimate(s.queries, s.keys, s.values, how, {}).output,
            estimate<double>(s.queries, s.keys, s.values, how).output);
}

/// What the refusal of the sample with `change` applied says.
template <class Change>
std::string refusal(const Change& change) {
  KeysAndQueries s = sample(20, 5, C::li_racine_ordered, C::li_racine, Vector{{0.5, 0.5}});
  change(s);
  try {
    estimate_of(s, options(KernelFunction::gaussian, 0.5));
  } catch (const ArgumentError& error) {
    return error.what();
  }
  return "nothing";
}

TEST(EstimateWithCategories, SaysWhatItRefuses) {
  EXPECT_NE(refusal([](KeysAndQueries& s) {
              s.categories.queries(3, 0) = 77;
            }).find("column 0 of query 3 has level 77"),
            std::string::npos);
  EXPECT_NE(refusal([](KeysAndQueries& s) { s.categories.lambda = Vector{{0.5}}; }).find("lambda: has 1"),
            std::string::npos);
  EXPECT_NE(refusal([](KeysAndQueries& s) { s.categories.lambda[1] = 1.5; }).find("must lie in [0, 1]"),
            std::string::npos);
  EXPECT_NE(refusal([](KeysAndQueries& s) {
              s.categories.queries.conservativeResize(4, 2);
            }).find("wanted are [5, 2]"),
            std::string::npos);
  EXPECT_NE(
      refusal([](KeysAndQueries& s) { s.categories.keys.codes.conservativeResize(19, 2); }).find("19 rows"),
      std::string::npos);
  EXPECT_NE(refusal([](KeysAndQueries& s) { s.keys(1, 1) = kInfinity; }).find("keys: row 1, column 1"),
            std::string::npos);
}

}  // namespace
}  // namespace headspan::nw
