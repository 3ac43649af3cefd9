#include "headspan/plan/allocate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "headspan/numeric/error.h"
#include "plan/published_law.h"

namespace headspan::plan {
namespace {

std::string message_of(const PairRules& rules) {
  try {
    admissible_pairs(rules);
  } catch (const ArgumentError& error) {
    return error.what();
  }
  return {};
}

TEST(AdmissiblePairs, FollowTheRules) {
  using Pairs = std::vector<Pair>;
  EXPECT_EQ(admissible_pairs({.budget = 6}), (Pairs{{1, 6}, {2, 3}, {3, 2}, {4, 1}, {5, 1}, {6, 1}}));
  EXPECT_EQ(admissible_pairs({.budget = 6, .exact = true}), (Pairs{{1, 6}, {2, 3}, {3, 2}, {6, 1}}));
  EXPECT_EQ(admissible_pairs({.budget = 64, .exact = true, .multiple_of = 8}),
            (Pairs{{8, 8}, {16, 4}, {32, 2}, {64, 1}}));
  EXPECT_EQ(admissible_pairs({.budget = 64, .multiple_of = 8, .n_kv_heads = 2}),
            (Pairs{{8, 8}, {16, 4}, {24, 2}, {32, 2}}));
  EXPECT_EQ(admissible_pairs({.budget = 6, .d_model = 2}), (Pairs{{1, 6}, {2, 3}}));
  EXPECT_EQ(admissible_pairs({.budget = 97, .exact = true}), (Pairs{{1, 97}, {97, 1}}));
}

TEST(AdmissiblePairs, SayWhyThereIsNone) {
  EXPECT_NE(message_of({.budget = 97, .exact = true, .multiple_of = 8}).find("96 or 104"), std::string::npos);
  EXPECT_NE(message_of({.budget = 6, .multiple_of = 8}).find("below 8"), std::string::npos);
  EXPECT_NE(message_of({.budget = 64, .multiple_of = 8, .d_model = 4}).find("above d_model 4"),
            std::string::npos);
  EXPECT_NE(message_of({.budget = 0}).find("at least 1"), std::string::npos);
  EXPECT_NE(message_of({.budget = kMostBudget + 1}).find("above"), std::string::npos);
}

TEST(Allocate, NoPairOfTheBudgetIsBetter) {
  const ErrorLaw law(published(1e5));
  for (const Index budget : {1, 2, 13, 64, 200}) {
    const Allocation found = allocate(law, {.budget = budget});
    double least = 1e300;
    for (Index k = 1; k <= budget; ++k)
      for (Index h = 1; h * k <= budget; ++h)
        least = std::min(least, law.at(static_cast<double>(k), static_cast<double>(h)).mse);
    EXPECT_EQ(found.curve[found.best].error.mse, least) << budget;
  }
}

TEST(Allocate, PublishedDimension) {
  // Continuous 17.82 of 512 at n = 1e5: 18 x 28 wastes 8 dimensions, 17 x 30 wastes 2.
  const Allocation found = allocate(ErrorLaw(published(1e5)), {.budget = 512});
  const Pair best = found.curve[found.best].pair;
  EXPECT_GE(best.head_dim, 17);
  EXPECT_LE(best.head_dim, 18);
  EXPECT_FALSE(found.has_standard_error);
  for (std::size_t i = 0; i < found.curve.size(); ++i) {
    const bool tied = std::count(found.near_ties.begin(), found.near_ties.end(), i) > 0;
    EXPECT_EQ(tied, found.curve[i].error.mse <= 1.01 * found.curve[found.best].error.mse);
  }
  // growth^k <= sqrt(1e5) up to k = 5.756 / 0.34657 = 16.6.
  EXPECT_EQ(found.reliable_to, 16);
}

TEST(Allocate, TiesWithinAStandardErrorOfMeasuredBias) {
  LawOptions options = published(1e9);
  options.growth = FixedGrowth{0.0};
  Vector at(4), value(4), error(4);
  at << 2, 3, 4, 6;
  value << 0.5, 0.24, 0.2, 0.25;
  error << 0.01, 0.02, 0.045, 0.02;
  options.bias = MeasuredCurve{at, value, error};
  const Allocation found = allocate(ErrorLaw(options), {.budget = 12, .exact = true});
  EXPECT_EQ(found.curve[found.best].pair, (Pair{4, 3}));
  EXPECT_TRUE(found.has_standard_error);
  // Of the differences: 0.0492 for both, and 0.24 is that near, 0.25 is not.
  EXPECT_DOUBLE_EQ(found.tie_margin, std::hypot(0.02, 0.045));
  EXPECT_EQ(found.near_ties, (std::vector<std::size_t>{1, 2}));
  EXPECT_TRUE(found.notes.empty());
  EXPECT_EQ(found.out_of_reach, (std::vector<Index>{1, 12}));
}

TEST(Allocate, ABiasBelowZeroIsNoted) {
  LawOptions options = published(1e6);
  Vector at(3), value(3);
  at << 2, 3, 4;
  value << 0.5, 0.3, -0.1;
  options.bias = MeasuredCurve{at, value, {}};
  const Allocation found = allocate(ErrorLaw(options), {.budget = 12});
  EXPECT_EQ(found.curve[found.best].pair, (Pair{4, 3}));
  ASSERT_EQ(found.notes.size(), 1u);
  EXPECT_NE(found.notes[0].find("-0.1, below zero"), std::string::npos) << found.notes[0];
  EXPECT_NE(found.notes[0].find("the mse is below zero"), std::string::npos) << found.notes[0];
}

TEST(Allocate, RefusesWhatCannotBe) {
  const ErrorLaw law(published(1e5));
  EXPECT_THROW(allocate(law, {.budget = 128, .d_model = 64}), ArgumentError);
  LawOptions options = published(1e5);
  options.correlation = FrameBound{64};
  EXPECT_NO_THROW(allocate(ErrorLaw(options), {.budget = 128, .d_model = 64}));
  options.bias = MeasuredCurve{Vector::Constant(1, 300.0), Vector::Constant(1, 0.1), {}};
  EXPECT_THROW(allocate(ErrorLaw(options), {.budget = 128}), ArgumentError);
}

TEST(BudgetInsteadOfPrime, OnlyWhereExactRulesLeaveNoChoice) {
  EXPECT_EQ(budget_instead_of_prime({.budget = 509, .exact = true}), 512);
  EXPECT_EQ(admissible_pairs({.budget = 509, .exact = true}), (std::vector<Pair>{{1, 509}, {509, 1}}));
  EXPECT_EQ(budget_instead_of_prime({.budget = 7, .exact = true}), 8);
  EXPECT_FALSE(budget_instead_of_prime({.budget = 509}));
  EXPECT_FALSE(budget_instead_of_prime({.budget = 507, .exact = true}));
  EXPECT_FALSE(budget_instead_of_prime({.budget = 3, .exact = true}));
}

}  // namespace
}  // namespace headspan::plan
