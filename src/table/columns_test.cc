#include "headspan/table/columns.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "headspan/numeric/error.h"
#include "headspan/table/csv.h"

namespace headspan::table {
namespace {

Table example() {
  return parse_csv(
      "Ozone,Wind,Temp,place,Temp,far,void\n"
      "41,7.4,67,a,1,1,\n"
      "NA,8,72,b,2,inf,\n"
      "12,,74,c,3,3,\n"
      "18,11.5,62,d,4,4,\n",
      "t.csv");
}

TEST(Columns, RowsWithAValueInEveryColumnAskedFor) {
  const NumericRows rows = select_numeric(example(), {"Wind"}, "Ozone");
  ASSERT_EQ(rows.x.rows(), 2);
  EXPECT_EQ(rows.x(0, 0), 7.4);
  EXPECT_EQ(rows.x(1, 0), 11.5);
  EXPECT_EQ(rows.y, (Vector(2) << 41, 18).finished());
  EXPECT_EQ(rows.lines, (std::vector<std::int64_t>{2, 5}));
  ASSERT_EQ(rows.dropped.size(), 2u);
  EXPECT_EQ(rows.dropped[0].line, 3);
  EXPECT_EQ(rows.dropped[0].column, "Ozone");
  EXPECT_EQ(rows.dropped[1].line, 4);
  EXPECT_EQ(rows.dropped[1].column, "Wind");
}

TEST(Columns, InputsInTheOrderAskedForAndNoTarget) {
  const Table table = parse_csv("a,b,c\n1,2,3\n4,5,6\n", "t.csv");
  const NumericRows rows = select_numeric(table, {"c", "a"}, std::nullopt);
  EXPECT_EQ(rows.x, (Matrix(2, 2) << 3, 1, 6, 4).finished());
  EXPECT_EQ(rows.y.size(), 0);
  EXPECT_TRUE(rows.dropped.empty());
}

TEST(Columns, Misuse) {
  EXPECT_THROW(select_numeric(example(), {}, "Ozone"), ArgumentError);
  EXPECT_THROW(select_numeric(example(), {"Wind", "Wind"}, "Ozone"), ArgumentError);
  EXPECT_THROW(select_numeric(example(), {"Wind"}, "Wind"), ArgumentError);
}

struct Trouble {
  std::string column;
  FileFault fault;
  std::optional<std::uint64_t> line;
  std::vector<const char*> says;
};

TEST(Columns, EachTroubleNamesThePlaceAndTheRemedy) {
  const std::vector<Trouble> troubles = {
      {"ozon", FileFault::missing, {}, {"'ozon'", "is 'Ozone' meant?", "Ozone, Wind, Temp, place"}},
      {"pressure", FileFault::missing, {}, {"'pressure'", "The columns are"}},
      {"Temp", FileFault::refused, {}, {"3 and 5", "rename"}},
      {"place", FileFault::refused, 2, {"'a'", "no row is a number", "column of words"}},
      {"far", FileFault::refused, 3, {"infinite"}},
      {"void", FileFault::refused, {}, {"every value is missing"}},
  };
  for (const Trouble& trouble : troubles) {
    SCOPED_TRACE(trouble.column);
    try {
      select_numeric(example(), {trouble.column}, std::nullopt);
      ADD_FAILURE() << "it was accepted";
    } catch (const DataError& error) {
      EXPECT_EQ(error.fault(), trouble.fault) << error.what();
      EXPECT_EQ(error.place().line, trouble.line) << error.what();
      for (const char* words : trouble.says)
        EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
    }
  }
}

TEST(Columns, AStrayWordIsShownWithItsLine) {
  try {
    select_numeric(parse_csv("x,y\n1,2\n3,4\nn.d.,5\n", "t.csv"), {"x"}, "y");
    ADD_FAILURE();
  } catch (const DataError& error) {
    EXPECT_EQ(
        std::string(error.what()),
        "t.csv: line 4: column 'x': refused: numbers are wanted and this says 'n.d.' (1 of 3 rows are not "
        "numbers); correct it, leave it empty if it is missing, or leave the column out");
  }
}

TEST(Columns, ADecimalMarkAtOddsIsExplained) {
  try {
    select_numeric(parse_csv("pay,v\n\"1,234\",1\n\"2,500\",2\n", "t.csv"), {"pay"}, "v");
    ADD_FAILURE();
  } catch (const DataError& error) {
    EXPECT_NE(error.reason().find("thousands"), std::string::npos) << error.what();
  }
}

TEST(Columns, NoCompleteRow) {
  try {
    select_numeric(parse_csv("x,y\n1,\n,2\n", "t.csv"), {"x"}, "y");
    ADD_FAILURE();
  } catch (const DataError& error) {
    EXPECT_EQ(error.fault(), FileFault::refused);
    EXPECT_NE(error.reason().find("x, y"), std::string::npos) << error.what();
  }
}

TEST(Columns, WithoutAHeaderAnUnknownNameSaysSo) {
  try {
    select_numeric(parse_csv("1,2\n3,4\n", "t.csv"), {"x"}, std::nullopt);
    ADD_FAILURE();
  } catch (const DataError& error) {
    EXPECT_NE(error.reason().find("V1, V2 (named by position"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace headspan::table
