#include "headspan/report/regression_report.h"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

namespace headspan::report {
namespace {

using estimator::ColumnDecision;
using estimator::ColumnUse;
using estimator::Exclusion;
using Json = nlohmann::json;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

PredictReport predictions() {
  PredictReport report;
  report.input.understood.path = "d.csv";
  report.model_path = "m.headspan";
  report.target = "the \"y\", in m";
  report.lines = {2, 3};
  report.value = (Vector(2) << 0.1, -2.0).finished();
  report.n_eff = (Vector(2) << 12.5, 1.0).finished();
  report.extrapolated = {false, true};
  return report;
}

FitReport fitted() {
  FitReport report;
  report.question.input.understood.path = "d.csv";
  report.question.target = "y";
  report.model_path = "m.headspan";
  report.facts.n_rows = 5;
  report.facts.encoding = {{{"a", ColumnUse::number, Exclusion::none, 0, 0, ""},
                            {"b\x1b[31m", ColumnUse::left_out, Exclusion::leak, 0, 0, "gives it away"},
                            {"c", ColumnUse::number, Exclusion::constant, 0, 0, "the same"}},
                           {"a", "c"}};
  report.facts.repairs = {{"a", 1, 0, 0, ""}, {"c", 0, 2, 7, ""}};
  report.facts.leave_one_out = {2.0, 0.5};
  return report;
}

template <class Write>
std::string text_of(Write write) {
  std::ostringstream out;
  write(out);
  return out.str();
}

TEST(RegressionReport, CsvQuotesNamesAndKeepsEveryDigit) {
  PredictReport report = predictions();
  EXPECT_EQ(text_of([&](std::ostream& out) { write_predict_csv(out, report); }),
            "line,\"the \"\"y\"\", in m\",n_eff,extrapolated\n2,0.1,12.5,0\n3,-2,1,1\n");
  report.interval = 0.9;
  report.lower = (Vector(2) << -kInfinity, -3.0).finished();
  report.upper = (Vector(2) << kInfinity, 1.0 / 3.0).finished();
  EXPECT_EQ(text_of([&](std::ostream& out) { write_predict_csv(out, report); }),
            "line,\"the \"\"y\"\", in m\",lower,upper,n_eff,extrapolated\n2,0.1,,,12.5,0\n"
            "3,-2,-3,0.3333333333333333,1,1\n");
}

TEST(RegressionReport, VariancesAreColumnsAndKeysWhereAskedFor) {
  PredictReport report = predictions();
  report.noise = "local";
  report.fit_variance = (Vector(2) << 0.25, 4.0).finished();
  report.noise_variance = (Vector(2) << 0.5, 8.0).finished();
  EXPECT_EQ(text_of([&](std::ostream& out) { write_predict_csv(out, report); }),
            "line,\"the \"\"y\"\", in m\",fit_variance,noise_variance,n_eff,extrapolated\n"
            "2,0.1,0.25,0.5,12.5,0\n3,-2,4,8,1,1\n");
  const Json document =
      Json::parse(text_of([&](std::ostream& out) { write_predict_json(out, report, "1.2.3"); }));
  EXPECT_EQ(document["noise"], "local");
  EXPECT_EQ(document["rows"][1]["fit_variance"], 4.0);
  EXPECT_EQ(document["rows"][0]["noise_variance"], 0.5);
  const std::string table =
      text_of([&](std::ostream& out) { write_predict_terminal(out, report, TerminalStyle{}); });
  EXPECT_NE(table.find("noise_variance"), std::string::npos);
}

TEST(RegressionReport, JsonHasNullForWhatIsNotFinite) {
  PredictReport report = predictions();
  report.interval = 0.9;
  report.lower = (Vector(2) << -kInfinity, -3.0).finished();
  report.upper = (Vector(2) << kInfinity, 4.0).finished();
  const Json document =
      Json::parse(text_of([&](std::ostream& out) { write_predict_json(out, report, "1.2.3"); }));
  EXPECT_EQ(document["headspan_version"], "1.2.3");
  EXPECT_TRUE(document["rows"][0]["lower"].is_null());
  EXPECT_EQ(document["rows"][1]["upper"], 4.0);
  EXPECT_EQ(document["rows"][1]["extrapolated"], true);
  EXPECT_TRUE(document["noise"].is_null());
  FitReport without = fitted();
  without.facts.no_folds = "none were asked for";
  const Json reason = Json::parse(text_of([&](std::ostream& out) { write_fit_json(out, without, "1.2.3"); }));
  EXPECT_EQ(reason["intervals"]["residuals"], "leave_one_out");
  EXPECT_EQ(reason["intervals"]["reason"], "none were asked for");
  const Json fit = Json::parse(text_of([&](std::ostream& out) { write_fit_json(out, fitted(), "1.2.3"); }));
  EXPECT_EQ(fit["intervals"]["residuals"], "held_out");
  EXPECT_TRUE(fit["intervals"]["reason"].is_null());
  EXPECT_TRUE(fit["held_out"].is_null());
  EXPECT_TRUE(fit["repairs"][0]["first_unseen"].is_null());
  EXPECT_EQ(fit["repairs"][1]["first_unseen"], 7);
}

TEST(RegressionReport, TheTerminalWarnsAndIsNotDriven) {
  const std::string text =
      text_of([&](std::ostream& out) { write_fit_terminal(out, fitted(), TerminalStyle{}); });
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_NE(text.find("WARNING"), std::string::npos);
  EXPECT_NE(text.find("intervals rest on these left-out residuals"), std::string::npos);
  EXPECT_NE(text.find("c (constant, kept as asked)"), std::string::npos);
  FitReport without = fitted();
  without.facts.no_folds = "none were asked for";
  EXPECT_NE(text_of([&](std::ostream& out) {
              write_fit_terminal(out, without, TerminalStyle{});
            }).find("left-out residuals: none were asked for"),
            std::string::npos);
  EXPECT_NE(text.find("a: 1 missing value got the median"), std::string::npos);
  EXPECT_NE(text.find("the first on line 7: a missing value"), std::string::npos);
  const std::string far =
      text_of([&](std::ostream& out) { write_predict_terminal(out, predictions(), TerminalStyle{}); });
  EXPECT_NE(far.find("1 row with no training row near"), std::string::npos);
}

TEST(RegressionReport, InspectionOfAModelWithoutHeads) {
  InspectReport report;
  report.facts.target = "y";
  const std::string text =
      text_of([&](std::ostream& out) { write_inspect_terminal(out, report, TerminalStyle{}); });
  EXPECT_NE(text.find("trend 0.000"), std::string::npos);
  const Json document =
      Json::parse(text_of([&](std::ostream& out) { write_inspect_json(out, report, "1.2.3"); }));
  EXPECT_TRUE(document["diversity"]["hdi"].is_null());
  EXPECT_TRUE(document["heads"].empty());
}

}  // namespace
}  // namespace headspan::report
