#include "headspan/experiments/claims.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <set>
#include <string>

#include "headspan/numeric/error.h"
#include "headspan/numeric/parallel.h"

namespace headspan::experiments {
namespace {

// What check_claim() measures.
std::vector<Measurement> measured(const Claim& claim) {
  std::vector<Measurement> out;
  Claim recording = claim;
  recording.measure = [&](const Trial& trial) { return out = claim.measure(trial); };
  check_claim(recording, {});
  return out;
}

void expect_errors_of_its_kind(const Claim& claim, const std::vector<Measurement>& measurements) {
  for (const Measurement& measurement : measurements) {
    const bool exact = measurement.is_bound && measurement.error <= 1e-10;
    EXPECT_TRUE(claim.kind != ClaimKind::identity || exact) << claim.id;
    EXPECT_TRUE(claim.kind != ClaimKind::simulation || !measurement.is_bound) << claim.id;
  }
}

// One test each: together they take minutes under a sanitizer.
class EveryClaim : public testing::TestWithParam<std::size_t> {};

TEST_P(EveryClaim, HoldsAndItsWrongFormulaFails) {
  const Claim& claim = claims()[GetParam()];
  const std::vector<Measurement> measurements = measured(claim);
  expect_errors_of_its_kind(claim, measurements);
  const ClaimFacts right = judge(claim, measurements, claim.formula);
  const Verdict wanted = claim.kind == ClaimKind::counterexample ? Verdict::reproduced : Verdict::confirmed;
  EXPECT_EQ(right.verdict, wanted) << "expected " << right.expected << ", measured " << right.measured
                                   << " +- " << right.error;
  const ClaimFacts wrong = judge(claim, measurements, claim.wrong_formula);
  EXPECT_EQ(wrong.verdict, Verdict::failed) << "does not reject: " << claim.wrong;
}

std::string name_of_claim(const testing::TestParamInfo<std::size_t>& info) {
  std::string name = claims()[info.param].id;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Claims, EveryClaim, testing::Range(std::size_t{0}, claims().size()), name_of_claim);

TEST(Claims, NamesAndStatementsAreComplete) {
  std::set<std::string> ids;
  for (const Claim& claim : claims()) {
    EXPECT_TRUE(ids.insert(claim.id).second) << claim.id << " stands twice";
    for (const char c : claim.id) EXPECT_TRUE(std::islower(c) != 0 || c == '-') << claim.id;
    EXPECT_FALSE(claim.statement.empty()) << claim.id;
    EXPECT_FALSE(claim.wrong.empty()) << claim.id;
    EXPECT_EQ(claim.statement.rfind("not so: ", 0) == 0, claim.kind == ClaimKind::counterexample) << claim.id;
  }
}

// A claim about the number 1, of which 2 is the wrong value.
Claim claim_of_one() {
  return {"one",
          "one is one",
          ClaimKind::simulation,
          "two",
          [](const Vector&) { return 1.0; },
          [](const Vector&) { return 2.0; },
          {}};
}

Verdict verdict_on(double value, double error, bool is_bound, ClaimKind kind = ClaimKind::simulation) {
  Claim claim = claim_of_one();
  claim.kind = kind;
  return judge(claim, {{"case", Vector(), value, error, is_bound}}, claim.formula).verdict;
}

TEST(Claims, TheRuleOfDecision) {
  EXPECT_EQ(verdict_on(1.04, 0.01, false), Verdict::confirmed);
  EXPECT_EQ(verdict_on(1.04, 0.01, false, ClaimKind::counterexample), Verdict::reproduced);
  EXPECT_EQ(verdict_on(1.06, 0.01, false), Verdict::failed) << "six standard errors";
  EXPECT_EQ(verdict_on(1.0, 0.099, false), Verdict::confirmed);
  EXPECT_EQ(verdict_on(1.0, 0.101, false), Verdict::undecided) << "a tenth of the effect is the limit";
  EXPECT_EQ(verdict_on(2.0, 0.1, false), Verdict::failed);
  EXPECT_EQ(verdict_on(1.4, 0.45, true), Verdict::confirmed) << "a bound counts as it stands";
  EXPECT_EQ(verdict_on(1.4, 0.55, true), Verdict::undecided);
  EXPECT_EQ(verdict_on(1.5, 0.45, true), Verdict::failed);
  EXPECT_EQ(verdict_on(std::nan(""), 0.1, true), Verdict::failed);
  EXPECT_THROW(verdict_on(1.0, 0.0, true), ArgumentError);
  EXPECT_THROW(judge(claim_of_one(), {}, claim_of_one().formula), ArgumentError);
}

// Each of the values must be below zero by more than five standard errors of 0.1.
ClaimFacts falling(const std::vector<double>& values) {
  Claim claim = claim_of_one();
  claim.formula = [](const Vector&) { return -1.0; };
  claim.wrong_formula = [](const Vector&) { return 1.0; };
  std::vector<Measurement> measurements;
  for (const double value : values) measurements.push_back({"case", Vector(), value, 0.1, false, true});
  return judge(claim, measurements, claim.formula);
}

TEST(Claims, ADirectionIsConfirmedWhereEveryNumberIsBeyondItsMargin) {
  const ClaimFacts found = falling({-0.6, -2.0});
  EXPECT_EQ(found.verdict, Verdict::confirmed);
  EXPECT_EQ(found.relation, Relation::below);
  EXPECT_EQ(found.expected, 0.0);
  EXPECT_EQ(found.measured, -2.0);
  EXPECT_EQ(falling({-0.4}).verdict, Verdict::undecided);
  EXPECT_EQ(falling({-0.4, -2.0}).verdict, Verdict::undecided);
  EXPECT_EQ(falling({0.4, -2.0}).verdict, Verdict::undecided);
  EXPECT_EQ(falling({0.6, -2.0}).verdict, Verdict::failed);
  EXPECT_EQ(falling({std::nan("")}).verdict, Verdict::failed);
}

TEST(Claims, TheComparisonThatDecidesIsReported) {
  const Claim claim = claim_of_one();
  const std::vector<Measurement> agree = {{"blunt", Vector(), 1.1, 1.0, false},
                                          {"sharp", Vector(), 1.01, 0.02, false}};
  const ClaimFacts confirmed = judge(claim, agree, claim.formula);
  EXPECT_EQ(confirmed.verdict, Verdict::confirmed);
  EXPECT_EQ(confirmed.measured, 1.01);
  ASSERT_EQ(confirmed.comparisons.size(), 2u);
  EXPECT_EQ(confirmed.comparisons[0].effect, 1.0);
  EXPECT_EQ(confirmed.comparisons[0].margin, 5.0);
  const std::vector<Measurement> differ = {{"sharp", Vector(), 1.0, 0.02, false},
                                           {"off", Vector(), 1.3, 0.05, false}};
  const ClaimFacts failed = judge(claim, differ, claim.formula);
  EXPECT_EQ(failed.verdict, Verdict::failed);
  EXPECT_EQ(failed.measured, 1.3);
}

TEST(Claims, NamedClaimsRunInTheOrderOfTheRegistryAndOnce) {
  const std::string first = claims()[2].id, second = claims()[5].id;
  std::vector<std::size_t> told;
  const Verification found = verify({second, first, second}, {}, [&](std::size_t done, std::size_t total) {
    EXPECT_EQ(total, 2u);
    told.push_back(done);
  });
  EXPECT_EQ(told, (std::vector<std::size_t>{1, 2}));
  ASSERT_EQ(found.claims.size(), 2u);
  EXPECT_EQ(found.claims[0].id, first);
  EXPECT_EQ(found.claims[1].id, second);
}

TEST(Claims, AnUnknownClaimNamesTheNearest) {
  try {
    verify({"softmax-identitty"}, {});
    FAIL();
  } catch (const ArgumentError& error) {
    EXPECT_NE(std::string(error.what()).find("is 'softmax-identity' meant?"), std::string::npos)
        << error.what();
  }
  EXPECT_THROW(verify({"nothing-like-it-at-all"}, {}), ArgumentError);
}

TEST(Claims, TheSeedDecidesTheDrawsAndThreadsDoNot) {
  const std::vector<std::string> one = {"overlap-mean"};
  VerifyOptions options;
  options.seed = 7;
  const auto value = [&](int n_threads) {
    const ThreadLimit limit(n_threads);
    return verify(one, options).claims.front().measured;
  };
  EXPECT_EQ(value(1), value(2));
  const double of_seven = value(0);
  options.seed = 8;
  EXPECT_NE(value(0), of_seven);
}

TEST(Claims, MutationPutsTheWrongFormulaToTheTest) {
  VerifyOptions options;
  options.mutate = true;
  const ClaimFacts found = verify({"closure"}, options).claims.front();
  EXPECT_EQ(found.verdict, Verdict::failed);
}

}  // namespace
}  // namespace headspan::experiments
