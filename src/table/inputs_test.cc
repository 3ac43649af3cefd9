#include "headspan/table/inputs.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "headspan/numeric/error.h"
#include "headspan/table/csv.h"

namespace headspan::table {
namespace {

using Words = std::vector<std::string>;

Table places() {
  return parse_csv(
      "y,size,place,year,mixed\n"
      "1,2.5,south,2010,1\n"
      "2,3.5,north,9,2\n"
      "3,1.5,,2010,x\n"
      "4,,west,100,3\n"
      "5,0.5,north,-0,4\n",
      "t.csv");
}

TEST(Inputs, WordsAreCategoriesAndSoIsWhatIsSaidToBeOrdered) {
  InputColumns columns = input_columns(places(), {"place", "size", "year"}, {"year"});
  EXPECT_EQ(columns.numbers, Words{"size"});
  ASSERT_EQ(columns.categories.size(), 2u);
  EXPECT_EQ(columns.categories[0].name, "place");
  EXPECT_FALSE(columns.categories[0].is_ordered);
  EXPECT_TRUE(columns.categories[1].is_ordered);
  EXPECT_EQ(input_columns(places(), {"place"}, {"place"}).categories[0].is_ordered, true);
  // One cell in five is a word: a slip in a column of numbers.
  EXPECT_EQ(input_columns(places(), {"mixed"}, {}).numbers, Words{"mixed"});
  EXPECT_EQ(input_columns(places(), {"mixed"}, {"mixed"}).numbers, Words{"mixed"});
}

TEST(Inputs, LevelsAreThoseOfTheRowsThatAreUsed) {
  InputColumns columns = input_columns(places(), {"size", "place", "year"}, {"year"});
  const InputRows rows = learn_inputs(places(), columns, "y");
  EXPECT_EQ(columns.categories[0].levels, (Words{"north", "south"}));
  EXPECT_EQ(columns.categories[1].levels, (Words{"0", "9", "2010"}));
  EXPECT_EQ(rows.codes, (RowMatrix<std::int32_t>(3, 2) << 1, 2, 0, 1, 0, 0).finished());
  EXPECT_EQ(rows.numbers.x, (Matrix(3, 1) << 2.5, 3.5, 0.5).finished());
  EXPECT_EQ(rows.numbers.y, (Vector(3) << 1, 2, 5).finished());
  EXPECT_EQ(rows.numbers.lines, (std::vector<std::int64_t>{2, 3, 6}));
  ASSERT_EQ(rows.numbers.dropped.size(), 2u);
  EXPECT_EQ(rows.numbers.dropped[0].column, "place");
  EXPECT_EQ(rows.numbers.dropped[1].column, "size");
  for (const Words& unseen : rows.unseen) EXPECT_TRUE(unseen.empty());
}

TEST(Inputs, AnotherTableIsReadByTheSameLevels) {
  InputColumns columns = input_columns(places(), {"place", "year"}, {"year"});
  learn_inputs(places(), columns, "y");
  // The words of one table may look like numbers in another.
  const Table other = parse_csv("year,place\n2010,7\n9,7\n100,8\n", "o.csv");
  const InputRows rows = select_inputs(other, columns, std::nullopt);
  EXPECT_EQ(rows.codes, (RowMatrix<std::int32_t>(3, 2) << 3, 3, 3, 1, 4, 2).finished());
  EXPECT_EQ(rows.unseen, (std::vector<Words>{{"7", "8"}, {}}));
}

TEST(Inputs, ALevelWithoutAPlaceIsRefusedWithItsLine) {
  InputColumns columns = input_columns(places(), {"year"}, {"year"});
  learn_inputs(places(), columns, "y");
  try {
    select_inputs(parse_csv("year\n9\n10\n", "o.csv"), columns, std::nullopt);
    FAIL() << "10 has no place";
  } catch (const DataError& error) {
    EXPECT_EQ(error.fault(), FileFault::refused);
    EXPECT_NE(std::string(error.what()).find("'10' is not among those learnt, 0 < 9 < 100 < 2010"),
              std::string::npos)
        << error.what();
    EXPECT_NE(std::string(error.what()).find("line 3"), std::string::npos) << error.what();
  }
}

TEST(Inputs, Misuse) {
  EXPECT_THROW(input_columns(places(), {}, {}), ArgumentError);
  EXPECT_THROW(input_columns(places(), {"size", "size"}, {}), ArgumentError);
  EXPECT_THROW(input_columns(places(), {"size"}, {"year"}), ArgumentError);
  EXPECT_THROW(input_columns(places(), {"sizes"}, {}), DataError);
  InputColumns mixed = input_columns(places(), {"mixed"}, {});
  EXPECT_THROW(learn_inputs(places(), mixed, "y"), DataError);
  InputColumns target = input_columns(places(), {"place"}, {});
  EXPECT_THROW(learn_inputs(places(), target, "place"), ArgumentError);
}

TEST(CellText, IsTheWordOrTheShortestNumber) {
  const Table table = places();
  EXPECT_EQ(cell_text(table, 2, 0), "south");
  EXPECT_EQ(cell_text(table, 1, 0), "2.5");
  EXPECT_EQ(cell_text(table, 3, 0), "2010");
  EXPECT_EQ(cell_text(table, 2, 2), std::nullopt);
  EXPECT_EQ(cell_text(table, 1, 3), std::nullopt);
}

}  // namespace
}  // namespace headspan::table
