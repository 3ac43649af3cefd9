#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "headspan/report/report.h"
#include "report/example_report.h"

namespace headspan::report {
namespace {

using Json = nlohmann::json;

std::string text_of(const audit::AuditReport& report, bool matrices = false) {
  std::ostringstream out;
  write_json(out, report, matrices, "1.2.3");
  return out.str();
}

TEST(Json, CarriesTheFactsUnderTheNamesOfTheSchema) {
  const Json json = Json::parse(text_of(example_report()));
  EXPECT_EQ(json["headspan_version"], "1.2.3");
  EXPECT_EQ(json["kind"], "audit");
  EXPECT_EQ(json["model"]["origin"]["n_heads"], "config.json: num_attention_heads");
  const Json& layer = json["layers"][0];
  EXPECT_EQ(layer["diversity"]["query_subspace"]["hdi"], 0.1);
  EXPECT_EQ(layer["diversity"]["query_subspace"]["z"], -13.0);
  EXPECT_EQ(layer["diversity"]["query_subspace"]["n_aligned"], 1);
  EXPECT_EQ(layer["pairs"][0]["direction"], "aligned");
  EXPECT_EQ(layer["pairs"][0]["angles"], Json({1.0471975511965976, 0.5235987755982988}));
  EXPECT_EQ(layer["heads"][1]["rank"]["output"], 4);
  EXPECT_EQ(json["thresholds"][0]["offenders"], Json::array({"0"}));
  EXPECT_EQ(json["summary"]["complete"], false);
}

TEST(Json, WritesWhatIsUnknownAsNull) {
  const Json json = Json::parse(text_of(example_report()));
  EXPECT_TRUE(json["model"]["n_kv_heads"].is_null());
  EXPECT_TRUE(json["options"]["bandwidth"].is_null());
  EXPECT_TRUE(json["options"]["covariance"].is_null());
  EXPECT_TRUE(json["layers"][0]["diversity"]["key_subspace"]["hdi"].is_null());
  const Json& refused = json["layers"][1];
  for (const char* key : {"n_heads", "n_kv_heads", "head_dim", "value_dim", "layout_code", "folded", "roles"})
    EXPECT_TRUE(refused[key].is_null()) << key;
  EXPECT_EQ(refused["diversity"], Json::object());
  EXPECT_EQ(refused["pairs"], Json::array());
  EXPECT_EQ(refused["reason"], "layers.1.q: dtype F8_E4M3, \"quantised\"");
}

TEST(Json, ShowsMatricesOnlyWhenAskedAndNanAsNull) {
  audit::AuditReport report = example_report();
  report.layers[0].sources[0].matrix(0, 1) = std::numeric_limits<double>::quiet_NaN();
  const Json without = Json::parse(text_of(report, false));
  EXPECT_TRUE(without["layers"][0]["diversity"]["query_subspace"]["matrix"].is_null());
  const Json with = Json::parse(text_of(report, true));
  const Json& diversity = with["layers"][0]["diversity"];
  EXPECT_EQ(diversity["query_subspace"]["matrix"], Json::parse("[[1.0, null], [0.9, 1.0]]"));
  EXPECT_TRUE(diversity["key_subspace"]["matrix"].is_null());
}

TEST(Json, KeepsEveryBitOfADouble) {
  audit::AuditReport report = example_report();
  for (const double value : {0.1, 1.0 / 3.0, 5e-324, 0.80128800000000001, 1.7976931348623157e308}) {
    report.layers[0].sources[0].diversity.hdi = value;
    const Json json = Json::parse(text_of(report));
    EXPECT_EQ(json["layers"][0]["diversity"]["query_subspace"]["hdi"].get<double>(), value);
  }
}

TEST(Json, ReplacesBytesThatAreNotUtf8) {
  audit::AuditReport report = example_report();
  report.model.path = "a\xff\"b\n";
  const Json json = Json::parse(text_of(report));
  EXPECT_EQ(json["model"]["path"], "a\xEF\xBF\xBD\"b\n");
}

TEST(Json, IsValidWithoutLayers) {
  audit::AuditReport report = example_report();
  report.layers.clear();
  report.thresholds.clear();
  const Json json = Json::parse(text_of(report));
  EXPECT_EQ(json["layers"], Json::array());
  EXPECT_EQ(json["thresholds"], Json::array());
}

}  // namespace
}  // namespace headspan::report
