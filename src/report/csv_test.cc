#include <gtest/gtest.h>

#include <sstream>

#include "headspan/report/report.h"
#include "report/example_report.h"

namespace headspan::report {
namespace {

using Rows = std::vector<std::vector<std::string>>;

// A reader of RFC 4180 that shares nothing with the writer.
Rows parse_csv(const std::string& text) {
  Rows rows(1, std::vector<std::string>(1));
  bool inside = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (inside && c == '"' && i + 1 < text.size() && text[i + 1] == '"')
      rows.back().back() += text[++i];
    else if (c == '"')
      inside = !inside;
    else if (!inside && c == ',')
      rows.back().emplace_back();
    else if (!inside && c == '\n')
      rows.emplace_back(1);
    else
      rows.back().back() += c;
  }
  rows.pop_back();
  return rows;
}

std::string field(const Rows& rows, std::size_t row, const std::string& name) {
  for (std::size_t i = 0; i < rows[0].size(); ++i)
    if (rows[0][i] == name) return rows[row].at(i);
  ADD_FAILURE() << "no column " << name;
  return {};
}

TEST(Csv, HasARowForEachLayerAndSourceAndOneForARefusedLayer) {
  std::ostringstream out;
  write_csv(out, example_report());
  const Rows rows = parse_csv(out.str());
  ASSERT_EQ(rows.size(), 4u);
  for (const auto& row : rows) EXPECT_EQ(row.size(), rows[0].size());
  EXPECT_EQ(field(rows, 1, "source"), "query_subspace");
  EXPECT_EQ(field(rows, 1, "hdi"), "0.1");
  EXPECT_EQ(field(rows, 1, "z"), "-13");
  EXPECT_EQ(field(rows, 1, "n_aligned"), "1");
  EXPECT_EQ(field(rows, 2, "source"), "key_subspace");
  EXPECT_EQ(field(rows, 2, "hdi"), "");
  EXPECT_EQ(field(rows, 2, "source_reason"), "one head");
  EXPECT_EQ(field(rows, 3, "status"), "refused");
  EXPECT_EQ(field(rows, 3, "reason"), "layers.1.q: dtype F8_E4M3, \"quantised\"");
  EXPECT_EQ(field(rows, 3, "n_heads"), "");
  EXPECT_EQ(field(rows, 3, "source"), "");
}

TEST(Csv, KeepsLineBreaksInsideAField) {
  audit::AuditReport report = example_report();
  report.layers[1].reason = "first\nsecond, \"third\"";
  std::ostringstream out;
  write_csv(out, report);
  const Rows rows = parse_csv(out.str());
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(field(rows, 3, "reason"), "first\nsecond, \"third\"");
}

TEST(PairsCsv, GivesAnglesAsSmallestLargestAndList) {
  audit::AuditReport report = example_report();
  audit::PairFacts bare;
  bare.source = audit::Source::score;
  bare.a = 0;
  bare.b = 1;
  report.layers[0].pairs.push_back(bare);
  std::ostringstream out;
  write_pairs_csv(out, report);
  const Rows rows = parse_csv(out.str());
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(field(rows, 1, "angle_min"), "0.5235987755982988");
  EXPECT_EQ(field(rows, 1, "angle_max"), "1.0471975511965976");
  EXPECT_EQ(field(rows, 1, "angles"), "1.0471975511965976;0.5235987755982988");
  EXPECT_EQ(field(rows, 1, "direction"), "aligned");
  EXPECT_EQ(field(rows, 2, "overlap"), "");
  EXPECT_EQ(field(rows, 2, "angles"), "");
}

}  // namespace
}  // namespace headspan::report
