#include "headspan/table/grid.h"

#include <gtest/gtest.h>

#include <string>

#include "headspan/numeric/error.h"
#include "headspan/table/csv.h"

namespace headspan::table {
namespace {

Grid grid_of(const std::string& text) {
  const Table table = parse_csv(text, "t.csv");
  return arrange_rows(table, select_numeric(table, {"m"}, "y"), "run", "id");
}

TEST(Grid, PutsRowsWhereTheirLabelsSay) {
  const Grid grid = grid_of("run,id,m,y\nb,2,1,0\na,1.5,2,0\na,2,3,0\nb,1.5,4,0\n");
  EXPECT_EQ(grid.outer, (std::vector<std::string>{"b", "a"}));
  EXPECT_EQ(grid.inner, (std::vector<std::string>{"2", "1.5"}));
  EXPECT_EQ(grid.row, (std::vector<Index>{0, 3, 2, 1}));
}

void expect_refused(const std::string& text, std::optional<std::uint64_t> line, const std::string& words) {
  try {
    grid_of(text);
    ADD_FAILURE() << "not refused: " << text;
  } catch (const DataError& error) {
    EXPECT_EQ(error.place().line, line) << error.what();
    EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
  }
}

TEST(Grid, NamesThePlaceOfWhatIsNotComplete) {
  expect_refused("run,id,m,y\n1,1,0,0\n1,2,0,0\n2,1,0,0\n", std::nullopt, "id '2' of run '2' has no row");
  expect_refused("run,id,m,y\n1,1,0,0\n1,2,0,0\n2,1,0,0\n2,2,,0\n", 5, "id '2' of run '2' has no usable row");
  expect_refused("run,id,m,y\n1,1,0,0\n1,2,0,0\n2,1,0,0\n2,2,0,0\n1,2,3,0\n", 6, "is on line 3 already");
  expect_refused("run,id,m,y\n1,1,0,0\n1,,0,0\n", 3, "column 'id'");
  // Labels that never repeat ask for a grid of their square.
  expect_refused("run,id,m,y\n1,1,0,0\n2,2,0,0\n3,3,0,0\n", std::nullopt, "id '2' of run '1' has no row");
  expect_refused("run,id,m,y\n1,1,0,0\n2,2,0,0\n3,3,0,0\n1,1,0,0\n", 5, "is on line 2 already");
}

TEST(Grid, WantsTwoColumns) {
  const Table table = parse_csv("run,m,y\n1,0,0\n", "t.csv");
  const NumericRows rows = select_numeric(table, {"m"}, "y");
  EXPECT_THROW(arrange_rows(table, rows, "run", "run"), ArgumentError);
  EXPECT_THROW(arrange_rows(table, rows, "run", "id"), DataError);
}

}  // namespace
}  // namespace headspan::table
