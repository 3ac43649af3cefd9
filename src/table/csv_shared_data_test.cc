// Real tables, against what their README and the sources they come from say of them.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "headspan/table/csv.h"

namespace headspan::table {
namespace {

namespace fs = std::filesystem;

struct Known {
  std::string file;
  std::int64_t n_rows;
  std::size_t n_columns, n_text;
  std::map<std::string, std::int64_t> missing;  // columns that have any
  std::string target;
  double target_mean;  // by Python's csv module and sum()
  LineEnding line_ending = LineEnding::lf;
};

std::vector<Known> known() {
  return {
      {"faithful.csv", 272, 2, 0, {}, "waiting", 70.8970588235294},
      {"mcycle.csv", 133, 2, 0, {}, "accel", -25.54586466165414},
      {"airquality.csv", 153, 6, 0, {{"Ozone", 37}, {"Solar.R", 7}}, "Ozone", 42.12931034482759},
      {"boston.csv", 506, 14, 0, {}, "medv", 22.532806324110698},
      {"diabetes.csv", 442, 11, 0, {}, "target", 152.13348416289594},
      {"cps1985.csv", 534, 11, 7, {}, "wage", 9.024063670411985},
      {"prestige_semicolon_decimalcomma.csv",
       102,
       7,
       2,
       {{"type", 4}},
       "prestige",
       46.833333333333314,
       LineEnding::crlf},
      {"cars_bom.csv",
       406,
       9,
       3,
       {{"Miles_per_Gallon", 8}, {"Horsepower", 6}},
       "Miles_per_Gallon",
       23.514572864321615,
       LineEnding::crlf},
      {"ames.csv", 2930, 74, 40, {}, "Sale_Price", 180796.0600682594},
      {"gapminder_health_income.csv", 187, 5, 2, {}, "health", 71.67326203208557},
      {"bikes_all_quoted_crlf.csv", 2000, 4, 1, {}, "bikes_available", 4.439, LineEnding::crlf},
      {"ship_accidents.csv", 34, 2, 0, {}, "accident", 10.470588235294118},
      {"expected_stata_nw_h1.csv", 40, 3, 0, {}, "", 0},
      {"np_case_n60.csv", 60, 3, 0, {}, "y", 37.07033414966204},
      {"ledoit_wolf_n50.csv", 50, 2, 0, {}, "x2", -0.007568041011450871},
  };
}

fs::path data() { return fs::path(HEADSPAN_SHARED_DIR) / "data"; }

class SharedData : public testing::Test {
 protected:
  void SetUp() override {
    if (!fs::is_directory(data())) GTEST_SKIP() << "the real tables are not here: no " << data().string();
  }
};

TEST_F(SharedData, EveryTableIsAsItsSourceSays) {
  for (const Known& expected : known()) {
    SCOPED_TRACE(expected.file);
    const Table table = read_csv((data() / expected.file).string());
    const Understood& understood = table.understood;
    EXPECT_TRUE(understood.header);
    EXPECT_EQ(understood.n_rows, expected.n_rows);
    EXPECT_EQ(understood.columns.size(), expected.n_columns);
    EXPECT_EQ(understood.line_ending, expected.line_ending);
    std::size_t n_text = 0;
    std::map<std::string, std::int64_t> missing;
    for (const ColumnFacts& column : understood.columns) {
      if (column.type == ColumnType::text) ++n_text;
      if (column.n_missing > 0) missing[column.name] = column.n_missing;
    }
    EXPECT_EQ(n_text, expected.n_text);
    EXPECT_EQ(missing, expected.missing);
    if (expected.target.empty()) continue;
    const Matrix values = select_numeric(table, {expected.target}, std::nullopt).x;
    EXPECT_NEAR(values.mean(), expected.target_mean, 1e-13 * std::abs(expected.target_mean) + 1e-15);
  }
}

TEST_F(SharedData, SeparatorsMarksAndQuotes) {
  const Table prestige = read_csv((data() / "prestige_semicolon_decimalcomma.csv").string());
  EXPECT_EQ(prestige.understood.separator, ';');
  EXPECT_EQ(prestige.understood.decimal_mark, ',');
  EXPECT_EQ(prestige.columns[1].values[0], 13.11);
  const auto& type = prestige.columns[column_index(prestige, "type")];
  EXPECT_EQ(type.levels, (std::vector<std::string>{"prof", "bc", "wc"}));
  EXPECT_EQ(type.level_counts, (std::vector<std::int64_t>{31, 44, 23}));

  const Table cars = read_csv((data() / "cars_bom.csv").string());
  EXPECT_TRUE(cars.understood.byte_order_mark);
  EXPECT_EQ(cars.understood.columns[0].name, "Name");
  EXPECT_EQ(select_numeric(cars, {"Horsepower"}, "Miles_per_Gallon").dropped.size(), 14u);

  const Table countries = read_csv((data() / "gapminder_health_income.csv").string());
  const auto& levels = countries.columns[0].levels;
  EXPECT_EQ(levels.size(), 187u);
  EXPECT_NE(std::find(levels.begin(), levels.end(), "Congo, Dem. Rep."), levels.end());

  const Table bikes = read_csv((data() / "bikes_all_quoted_crlf.csv").string());
  EXPECT_TRUE(bikes.understood.quotes);
  EXPECT_EQ(bikes.understood.columns[1].type, ColumnType::number);
}

}  // namespace
}  // namespace headspan::table
