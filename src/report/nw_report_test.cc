#include "headspan/report/nw_report.h"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

namespace headspan::report {
namespace {

using Json = nlohmann::json;
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

table::Understood understood(const std::string& path) {
  table::Understood facts;
  facts.path = path;
  facts.separator = ';';
  facts.decimal_mark = ',';
  facts.line_ending = table::LineEnding::crlf;
  facts.header = true;
  facts.n_rows = 4;
  facts.columns.resize(3);
  facts.columns[0].name = "a";
  facts.columns[0].type = table::ColumnType::number;
  facts.columns[0].n_missing = 1;
  facts.columns[1].name = "b\x1b[31m";
  facts.columns[1].type = table::ColumnType::number;
  facts.columns[2].name = "pay";
  facts.columns[2].type = table::ColumnType::text;
  facts.columns[2].n_levels = 4;
  facts.columns[2].misfit = {4, 2, "1.234"};
  facts.columns[2].remark = "points could group thousands";
  return facts;
}

nw::Estimate<double> estimate(std::vector<double> fits, std::vector<nw::PointStatus> status) {
  nw::Estimate<double> result;
  const auto n = static_cast<Index>(fits.size());
  result.output = Eigen::Map<const Matrix>(fits.data(), n, 1);
  result.n_eff = Vector::Constant(n, 1.5);
  result.status = std::move(status);
  return result;
}

// Two points, the second out of reach; the second input without limit.
NwReport example() {
  NwReport report;
  report.input = {understood("d.csv"), {{3, "a"}}};
  report.x = {"a", "b\x1b[31m"};
  report.y = "y";
  report.kernel = {nw::KernelFunction::tricube, nw::KernelShape::product};
  report.selection_options = nw::SelectionOptions{};
  report.bandwidth = (Vector(2) << 0.5, kInfinity).finished();
  report.selection = nw::BandwidthSelection{};
  report.selection->bandwidth = report.bandwidth;
  report.selection->value = 7.25;
  report.selection->irrelevant = {false, true};
  report.selection->at_edge = {true, false};
  report.selection->minima = {{report.bandwidth, {}, 7.25}, {(Vector(2) << 2, 3).finished(), {}, 8}};
  report.selection->n_evaluations = 99;
  report.n = 3;
  report.scores = nw::SmootherScores{};
  report.scores->loo = 7.0;
  report.scores->trace = 2.5;
  report.scores->n_isolated = 1;
  report.points = (Matrix(2, 2) << 1, 2, 30, 40).finished();
  report.lines = {2, 4};
  report.estimate = estimate({5.25, kNaN}, {nw::PointStatus::ok, nw::PointStatus::no_neighbour});
  return report;
}

Json json_of(const NwReport& report) {
  std::ostringstream out;
  write_nw_json(out, report, "1.2.3");
  return Json::parse(out.str());
}

std::string words_of(const NwReport& report) {
  std::ostringstream out;
  write_nw_terminal(out, report, {});
  return out.str();
}

TEST(NwReport, JsonCarriesTheFacts) {
  const Json json = json_of(example());
  EXPECT_EQ(json["kind"], "nw");
  EXPECT_EQ(json["headspan_version"], "1.2.3");
  EXPECT_EQ(json["n"], 3);
  EXPECT_EQ(json["n_loo"], 2);
  EXPECT_EQ(json["loo"], 7.0);
  EXPECT_EQ(json["trace"], 2.5);
  EXPECT_EQ(json["options"]["kernel"], "tricube");
  EXPECT_EQ(json["options"]["bandwidth"], "auto");
  EXPECT_EQ(json["input"]["separator"], ";");
  EXPECT_EQ(json["input"]["dropped"], Json::parse(R"([{"line": 3, "column": "a"}])"));
  EXPECT_EQ(json["input"]["columns"][2]["misfit"]["text"], "1.234");
  EXPECT_EQ(json["selection"]["minima"][1]["bandwidth"], Json::parse("[2.0, 3.0]"));
  EXPECT_EQ(json["points"].size(), 2u);
  EXPECT_EQ(json["points"][0]["x"], Json::parse("[1.0, 2.0]"));
  EXPECT_EQ(json["points"][0]["fit"], 5.25);
  EXPECT_FALSE(json["points"][0].contains("loo_fit"));
}

TEST(NwReport, WhatIsUnknownIsNull) {
  const Json json = json_of(example());
  EXPECT_EQ(json["bandwidth"], Json::parse("[0.5, null]"));
  for (const char* key : {"at", "gcv", "aicc"}) EXPECT_TRUE(json[key].is_null()) << key;
  EXPECT_TRUE(json["points"][1]["fit"].is_null());
  EXPECT_EQ(json["points"][1]["status"], "no neighbour");
}

TEST(NwReport, GivenBandwidthsAndLeaveOneOut) {
  NwReport report = example();
  report.selection.reset();
  report.selection_options.reset();
  report.bandwidth = Vector::Constant(1, 0.25);
  report.leave_one_out = estimate({kNaN, 4}, {nw::PointStatus::no_other_key, nw::PointStatus::ok});
  const Json json = json_of(report);
  EXPECT_EQ(json["options"]["bandwidth"], Json::parse("[0.25]"));
  EXPECT_TRUE(json["selection"].is_null());
  EXPECT_TRUE(json["options"]["criterion"].is_null());
  EXPECT_TRUE(json["points"][0]["loo_fit"].is_null());
  EXPECT_EQ(json["points"][0]["loo_status"], "no other key");
  EXPECT_EQ(json["points"][1]["loo_fit"], 4.0);
}

// The second input is a category; the second point has a level that no training row has.
NwReport with_categories() {
  NwReport report = example();
  report.bandwidth = Vector::Constant(1, 0.5);
  report.selection->bandwidth = report.bandwidth;
  report.selection->irrelevant = {false};
  report.selection->at_edge = {false};
  report.selection->irrelevant_category = {true};
  report.selection->minima = {{report.bandwidth, Vector{{0.5}}, 7.25}};
  report.points = (Matrix(2, 1) << 1, 30).finished();
  report.categories.columns = {{"b\x1b[31m", true, {"low", "up"}}};
  report.categories.kernels = {nw::CategoryKernel::li_racine_ordered};
  report.categories.lambda = Vector{{1.0}};
  report.categories.points = (RowMatrix<std::int32_t>(2, 1) << 1, 2).finished();
  report.categories.unseen = {{"else"}};
  return report;
}

TEST(NwReport, CategoriesStandBesideNumbers) {
  const Json json = json_of(with_categories());
  EXPECT_EQ(json["points"][0]["x"], Json::parse(R"([1.0, "up"])"));
  EXPECT_EQ(json["points"][1]["x"], Json::parse(R"([30.0, "else"])"));
  EXPECT_EQ(json["lambda"], Json::parse("[1.0]"));
  EXPECT_EQ(json["options"]["lambda"], "auto");
  EXPECT_EQ(json["categories"][0]["levels"], Json::parse(R"(["low", "up"])"));
  EXPECT_EQ(json["categories"][0]["kernel"], "li_racine_ordered");
  EXPECT_EQ(json["categories"][0]["ordered"], true);
  EXPECT_EQ(json["selection"]["minima"][0]["lambda"], Json::parse("[0.5]"));
  EXPECT_EQ(json["selection"]["irrelevant_category"], Json::parse("[true]"));
  const std::string words = words_of(with_categories());
  for (const char* part :
       {"ordered: low < up", "li_racine_ordered, from 0 to 1", "0.5 (a)", "is left out", "else"})
    EXPECT_NE(words.find(part), std::string::npos) << part << "\n" << words;
  EXPECT_EQ(words.find('\x1b'), std::string::npos);
  EXPECT_FALSE(json_of(example()).contains("lambda"));
}

TEST(NwReport, NoPointsAreAnEmptyList) {
  NwReport report = example();
  report.points.resize(0, 2);
  report.lines.clear();
  report.estimate = estimate({}, {});
  EXPECT_EQ(json_of(report)["points"], Json::array());
}

TEST(NwReport, WordsSayWhatWasUnderstoodAndWhatIsMissing) {
  const std::string words = words_of(example());
  for (const char* part :
       {"separator semicolon, decimal comma, CRLF line ends", "a number (1 missing)",
        "column pay is text: points could group thousands", "1 row for a missing value (1 a): line 3",
        "tricube, product", "0.5 (a), unlimited", "loo 7.25, 99 evaluations", "is left out",
        "edge of the search", "next best", "1 of 3 points have no other row in reach", "no neighbour"})
    EXPECT_NE(words.find(part), std::string::npos) << part << "\n" << words;
  EXPECT_EQ(words.find('\x1b'), std::string::npos);
}

TEST(NwReport, ManyPointsAreCutShort) {
  NwReport report = example();
  constexpr Index kPoints = 25;
  report.points = Matrix::Zero(kPoints, 2);
  report.lines.assign(kPoints, 1);
  report.estimate =
      estimate(std::vector<double>(kPoints, 1.0), std::vector<nw::PointStatus>(kPoints, nw::PointStatus::ok));
  EXPECT_NE(words_of(report).find("... 15 more points"), std::string::npos);
  EXPECT_EQ(json_of(report)["points"].size(), 25u);
}

}  // namespace
}  // namespace headspan::report
