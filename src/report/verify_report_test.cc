#include "headspan/report/verify_report.h"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

namespace headspan::report {
namespace {

using experiments::ClaimKind;
using experiments::Verdict;
using Json = nlohmann::json;

experiments::Verification example() {
  experiments::Verification out;
  out.options = {7, true, false};
  out.claims.push_back({"one",
                        "one is one",
                        ClaimKind::closed_form,
                        "two",
                        1.0,
                        1.5,
                        0.25,
                        Verdict::confirmed,
                        {{"a case", 1.0, 1.5, 0.25, 1.25, 3.0}}});
  out.claims.push_back({"none",
                        "not so: all",
                        ClaimKind::counterexample,
                        "some",
                        2.0,
                        std::numeric_limits<double>::quiet_NaN(),
                        0.5,
                        Verdict::failed,
                        {}});
  return out;
}

std::string words_of(const experiments::Verification& verification) {
  std::ostringstream out;
  write_verify_terminal(out, verification, {});
  return out.str();
}

TEST(VerifyReport, JsonCarriesTheFactsAndWhatIsNotFiniteIsNull) {
  std::ostringstream out;
  write_verify_json(out, example(), "1.2.3");
  const Json json = Json::parse(out.str());
  EXPECT_EQ(json["kind"], "verify");
  EXPECT_EQ(json["headspan_version"], "1.2.3");
  EXPECT_EQ(json["options"], Json::parse(R"({"seed": 7, "thorough": true, "mutate": false})"));
  ASSERT_EQ(json["claims"].size(), 2u);
  EXPECT_EQ(json["claims"][0]["kind"], "closed form");
  EXPECT_EQ(json["claims"][0]["verdict"], "confirmed");
  EXPECT_EQ(json["claims"][0]["measured"], 1.5);
  EXPECT_EQ(json["claims"][0]["comparisons"][0]["effect"], 3.0);
  EXPECT_TRUE(json["claims"][1]["measured"].is_null());
}

TEST(VerifyReport, WordsNameVerdictsAndCountThem) {
  const std::string words = words_of(example());
  for (const char* part :
       {"2 claims: 1 confirmed, 1 failed", "one is one", "the wrong formula: two",
        "a case: expected 1, measured 1.5 +- 0.25, agrees within 1.2", "5 standard errors"})
    EXPECT_NE(words.find(part), std::string::npos) << part << "\n" << words;
}

TEST(VerifyReport, ADirectionIsSaidAsSuch) {
  experiments::Verification one;
  const auto below = experiments::Relation::below;
  const double none = std::numeric_limits<double>::quiet_NaN();
  one.claims.push_back({"dial",
                        "it falls",
                        ClaimKind::simulation,
                        "it rises",
                        0.0,
                        -0.5,
                        0.01,
                        Verdict::confirmed,
                        {{"a case", 0.0, -0.5, 0.01, 0.05, none, below}},
                        below});
  const std::string words = words_of(one);
  for (const char* part : {"< 0", "a case: expected < 0 by more than 0.05, measured -0.5 +- 0.01"})
    EXPECT_NE(words.find(part), std::string::npos) << part << "\n" << words;
  std::ostringstream out;
  write_verify_json(out, one, "1.2.3");
  const Json claim = Json::parse(out.str())["claims"][0];
  EXPECT_EQ(claim["relation"], "<");
  EXPECT_EQ(claim["expected"], 0.0);
  EXPECT_EQ(claim["comparisons"][0]["relation"], "<");
  EXPECT_TRUE(claim["comparisons"][0]["effect"].is_null());
}

TEST(VerifyReport, OfManyClaimsOnlyThoseThatAreNotAsTheyShouldBeAreInWords) {
  experiments::Verification many = example();
  for (int i = 0; i < 6; ++i) many.claims.push_back(many.claims.front());
  const std::string words = words_of(many);
  EXPECT_EQ(words.find("one is one"), std::string::npos);
  EXPECT_NE(words.find("not so: all"), std::string::npos);
}

TEST(VerifyReport, MutationIsSaid) {
  experiments::Verification mutated = example();
  mutated.options.mutate = true;
  EXPECT_NE(words_of(mutated).find("every claim should fail"), std::string::npos);
}

TEST(VerifyReport, AListHasNamesKindsAndStatements) {
  std::ostringstream out;
  write_claim_list(out, example().claims, {});
  for (const char* part : {"one", "closed form", "one is one", "counterexample", "the wrong formula: some"})
    EXPECT_NE(out.str().find(part), std::string::npos) << part;
}

}  // namespace
}  // namespace headspan::report
