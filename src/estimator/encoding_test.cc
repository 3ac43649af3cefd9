#include "headspan/estimator/encoding.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <numeric>

#include "estimator/column_profile.h"
#include "headspan/numeric/error.h"
#include "headspan/table/csv.h"

namespace headspan::estimator {
namespace {

using Names = std::vector<std::string>;

struct Learnt {
  table::Table table;
  TargetRows rows;
  Encoding encoding;
};

Learnt learn(table::Table table, const std::string& target, EncodingOptions options = {}) {
  Learnt learnt{std::move(table), {}, {}};
  options.not_inputs = {target};
  learnt.rows = target_rows(learnt.table, target, std::nullopt);
  learnt.encoding =
      learn_encoding(learnt.table, learnt.rows.rows, learnt.rows.target, learnt.rows.weight, options);
  return learnt;
}

Learnt learn(const std::string& text, const EncodingOptions& options = {}) {
  return learn(table::parse_csv(text, "t.csv"), "y", options);
}

const ColumnDecision& decision(const Encoding& encoding, const std::string& name) {
  const auto& columns = encoding.facts.columns;
  const auto found =
      std::find_if(columns.begin(), columns.end(), [&](const ColumnDecision& c) { return c.name == name; });
  if (found == columns.end()) throw std::out_of_range(name);
  return *found;
}

Exclusion exclusion(const Encoding& encoding, const std::string& name) {
  return decision(encoding, name).exclusion;
}

constexpr const char* kMixed =
    "age,sex,type,y\n"
    "30,m,a,1\n"
    "40,f,b,5\n"
    ",m,c,2\n"
    "70,f,a,9\n"
    "20,m,b,4\n"
    "35,f,a,3\n"
    "50,m,,8\n"
    "99,m,c,\n";

// Three levels in six rows would be free-form text.
Learnt learn_mixed() { return learn(kMixed, {{}, {}, {}, 64, 2.0}); }

TEST(Encoding, NumbersPairsAndLevels) {
  const Learnt learnt = learn_mixed();
  EXPECT_EQ(learnt.encoding.facts.inputs,
            (Names{"age", "age missing", "sex = m", "type = a", "type = b", "type = c", "type missing"}));
  Matrix expected(7, 7);
  expected << 30, 0, .5, 1, 0, 0, 0,  //
      40, 0, -.5, 0, 1, 0, 0,         //
      37.5, 1, .5, 0, 0, 1, 0,        //
      70, 0, -.5, 1, 0, 0, 0,         //
      20, 0, .5, 0, 1, 0, 0,          //
      35, 0, -.5, 1, 0, 0, 0,         //
      50, 0, .5, 0, 0, 0, 1;
  const EncodedRows have = encode(learnt.encoding, learnt.table, learnt.rows.rows);
  EXPECT_EQ(have.x, expected);
  EXPECT_EQ(have.x.cols(), learnt.encoding.width());
  ASSERT_EQ(learnt.rows.dropped.size(), 1u);
  EXPECT_EQ(learnt.rows.dropped[0].line, 9);
  EXPECT_EQ(decision(learnt.encoding, "type").n_levels, 3);
  ASSERT_EQ(have.repairs.size(), 1u);
  EXPECT_EQ(have.repairs[0].n_filled, 1);
}

TEST(Encoding, AnotherTableByName) {
  const Learnt learnt = learn_mixed();
  const table::Table other = table::parse_csv("more,type,age,sex\n1,z,,f\n2,b,20,\n3,,7,x\n", "other.csv");
  const EncodedRows have = encode(learnt.encoding, other, all_rows(other));
  Matrix expected(3, 7);
  expected << 37.5, 1, -.5, 0, 0, 0, 0, 20, 0, 0, 0, 1, 0, 0, 7, 0, 0, 0, 0, 0, 1;
  EXPECT_EQ(have.x, expected);
  EXPECT_EQ(have.ignored, Names{"more"});
  ASSERT_EQ(have.repairs.size(), 3u);
  EXPECT_EQ(have.repairs[1].n_unseen, 2);  // sex: missing where no training row was, and "x"
  EXPECT_EQ(have.repairs[1].first_unseen, 3);
  EXPECT_EQ(have.repairs[2].unseen, "z");
}

TEST(Encoding, NumbersOfAnotherTableAreLevelsThere) {
  const Learnt learnt = learn("code,y\n1,3\n2,4\nx,5\n1,1\n2,0\nx,7\n1,2\n2,2\nx,9\n");
  const table::Table other = table::parse_csv("code\n2\n1\n", "other.csv");
  EXPECT_EQ(encode(learnt.encoding, other, all_rows(other)).x, (Matrix(2, 3) << 0, 1, 0, 1, 0, 0).finished());
}

TEST(Encoding, LeavesOutAndSaysWhy) {
  const std::string text =
      "same,void,x,fahrenheit,leak,day,name,colour,farbe,y\n"
      "1,,1,33.8,10,2020-01-01,ann,red,rot,5\n"
      "1,,2,35.6,8,2020-01-02,bob,blue,blau,4\n"
      "1,,4,39.2,2,2020-01-03,cid,red,rot,1\n"
      "1,,7,44.6,18,2020-01-04,dee,green,gruen,9\n"
      "1,,3,37.4,6,2020-01-05,eve,blue,blau,3\n"
      "1,,9,48.2,0,2020-01-06,fay,red,rot,0\n"
      "1,,5,41,4,2020-01-07,gus,green,gruen,2\n"
      "1,,6,42.8,14,2020-01-08,hal,red,rot,7\n"
      "1,,8,46.4,16,2020-01-09,ivy,blue,blau,8\n";
  const Encoding encoding = learn(text).encoding;
  EXPECT_EQ(exclusion(encoding, "same"), Exclusion::constant);
  EXPECT_EQ(exclusion(encoding, "void"), Exclusion::empty);
  EXPECT_EQ(exclusion(encoding, "x"), Exclusion::none);
  EXPECT_EQ(exclusion(encoding, "fahrenheit"), Exclusion::duplicate);
  EXPECT_EQ(exclusion(encoding, "leak"), Exclusion::leak);
  EXPECT_EQ(exclusion(encoding, "day"), Exclusion::dates);
  EXPECT_EQ(exclusion(encoding, "name"), Exclusion::free_form);
  EXPECT_EQ(exclusion(encoding, "colour"), Exclusion::none);
  EXPECT_EQ(exclusion(encoding, "farbe"), Exclusion::duplicate);
  EXPECT_EQ(encoding.facts.inputs, (Names{"x", "colour = blue", "colour = green", "colour = red"}));
  EXPECT_NE(decision(encoding, "farbe").note.find("'colour'"), std::string::npos);
  EncodingOptions options;
  options.drop = {"x"};
  options.keep = {"leak", "void"};
  const Encoding asked = learn(text, options).encoding;
  EXPECT_EQ(exclusion(asked, "x"), Exclusion::asked);
  EXPECT_EQ(decision(asked, "leak").use, ColumnUse::number);
  EXPECT_EQ(exclusion(asked, "leak"), Exclusion::leak);
  EXPECT_EQ(decision(asked, "void").use, ColumnUse::left_out);
  EXPECT_EQ(exclusion(asked, "fahrenheit"), Exclusion::none);
}

TEST(Encoding, WordsThatGiveATwoValuedTargetAwayLeak) {
  const Encoding encoding = learn("word,x,y\nyes,1,1\nno,2,0\nyes,3,1\nno,5,0\nyes,4,1\nno,7,0\n").encoding;
  EXPECT_EQ(exclusion(encoding, "word"), Exclusion::leak);
  EXPECT_EQ(encoding.facts.inputs, Names{"x"});
}

TEST(Encoding, RareLevelsHaveNoInput) {
  std::string text = "c,x,y\n";
  for (int i = 0; i < 600; ++i)
    text += std::string(i < 2        ? "rare"
                        : i % 2 == 0 ? "even"
                                     : "odd") +
            "," + std::to_string(i) + "," + std::to_string(i * i % 17) + "\n";
  const Learnt learnt = learn(text);  // one in 200 of 600 rows is 3
  EXPECT_EQ(learnt.encoding.facts.inputs, (Names{"c = odd", "x"}));
  const EncodedRows have = encode(learnt.encoding, learnt.table, {0, 2, 3});
  EXPECT_EQ(have.x.col(0), (Vector(3) << 0.0, -0.5, 0.5).finished());
  ASSERT_EQ(have.repairs.size(), 1u);
  EXPECT_EQ(have.repairs[0].unseen, "rare");
}

TEST(Encoding, AWeightOfTwoIsTwoRowsAndNoneIsNoRow) {
  const table::Table table = table::parse_csv("x,c,y\n1,a,2\n,b,3\n5,a,1\n9,z,4\n2,b,9\n", "t.csv");
  const std::vector<Index> once = {0, 1, 2, 4}, repeated = {0, 0, 1, 2, 2, 2, 4};
  Vector weight(5), target(5), plain(7);
  weight << 2, 1, 3, 0, 1;
  target << 2, 3, 1, 4, 9;
  plain << 2, 2, 3, 1, 1, 1, 9;
  const EncodingOptions options{{"y"}, {}, {}, 64, 1.0};
  const Encoding weighted = learn_encoding(table, all_rows(table), target, weight, options);
  const Encoding written_out = learn_encoding(table, repeated, plain, Vector(), options);
  EXPECT_EQ(weighted.facts.inputs, written_out.facts.inputs);
  EXPECT_EQ(weighted.columns[0].fill, written_out.columns[0].fill);
  EXPECT_EQ(weighted.columns[1].levels, (Names{"a", "b"}));
  EXPECT_EQ(encode(weighted, table, once).x, encode(written_out, table, once).x);
}

TEST(Encoding, LearnsOnItsRowsOnly) {
  const Learnt learnt = learn_mixed();
  const std::vector<Index> rows = {0, 1, 3};
  const Encoding encoding = learn_encoding(learnt.table, rows, (Vector(3) << 1, 5, 9).finished(), Vector(),
                                           {{"y"}, {}, {}, 64, 1.0});
  EXPECT_EQ(encoding.columns[0].fill, 40.0);
  EXPECT_FALSE(encoding.columns[0].has_missing);
  EXPECT_EQ(encoding.facts.inputs, (Names{"age", "sex = m", "type = b"}));
}

struct Trouble {
  const char* train;
  const char* other;
  FileFault fault;
  std::optional<std::uint64_t> line;
  const char* says;
};

TEST(Encoding, EachTroubleNamesThePlaceAndTheRemedy) {
  const std::vector<Trouble> troubles = {
      {"a,y\n1,2\n3,5\n4,4\n", "A,z\n1,2\n", FileFault::missing, {}, "'a'"},
      {"a,y\n1,2\n3,5\n4,4\n", "a\n1\nred\n", FileFault::refused, 3, "learnt numbers"},
      {"a,y\n1,2\n3,5\n4,4\n", "a\n1\ninf\n", FileFault::refused, 3, "infinite"},
      {"a,y\n1,2\ninf,5\n4,4\n", "a\n1\n", FileFault::refused, 3, "infinite"},
      {"a,a,y\n1,1,2\n3,2,5\n", "a\n1\n", FileFault::refused, {}, "rename one"},
      {"a,b,y\n7,p,2\n7,q,5\n7,r,4\n", "a\n1\n", FileFault::refused, {}, "'a' (constant), 'b' (free form)"},
      {"y\n7\n8\n", "a\n1\n", FileFault::refused, {}, "no column but the target"},
      {"a,y\n1,p\n2,q\n", "a\n1\n", FileFault::refused, 2, "numbers are wanted"},
  };
  for (const Trouble& trouble : troubles) {
    try {
      const Learnt learnt = learn(trouble.train);
      const table::Table other = table::parse_csv(trouble.other, "other.csv");
      encode(learnt.encoding, other, all_rows(other));
      ADD_FAILURE() << trouble.says;
    } catch (const DataError& error) {
      EXPECT_EQ(error.fault(), trouble.fault) << error.what();
      EXPECT_EQ(error.place().line, trouble.line) << error.what();
      EXPECT_NE(std::string(error.what()).find(trouble.says), std::string::npos) << error.what();
    }
  }
}

TEST(Encoding, Misuse) {
  const table::Table table = table::parse_csv("a,w,y\n1,1,2\n3,-1,5\n4,2,4\n", "t.csv");
  EXPECT_THROW(learn_encoding(table, {0, 1}, Vector::Ones(3), Vector()), ArgumentError);
  EXPECT_THROW(learn_encoding(table, {0, 1}, Vector::Ones(2), Vector::Ones(1)), ArgumentError);
  EXPECT_THROW(learn_encoding(table, {0, 1}, Vector::Ones(2), Vector(), {{}, {"none"}, {}, 64, 3.0}),
               DataError);
  try {
    target_rows(table, "y", "w");
    ADD_FAILURE();
  } catch (const DataError& error) {
    EXPECT_EQ(error.place().line, 3u);
  }
}

TEST(ColumnProfile, AffineCopies) {
  const double nan = std::nan("");
  EXPECT_TRUE(is_affine_copy({1, 2, 4, nan}, {-1, -3, -7, 100}));
  EXPECT_FALSE(is_affine_copy({1, 2, 4, 8}, {1, 2, 4, 8.01}));
  EXPECT_FALSE(is_affine_copy({1, 1, 1}, {1, 2, 3}));
  EXPECT_FALSE(is_affine_copy({1, 2, 3}, {1, 1, 1}));
  EXPECT_FALSE(is_affine_copy({1, 2, nan}, {1, 2, 3}));
}

TEST(ColumnProfile, Dates) {
  for (const char* date : {"2013-08-29", "2013/08/29 12:06:01", "29.8.2013", "8/29/13", "12:06",
                           "2013-08-29T12:06:01.250Z", "2013-08-29T12:06:01+02:00", "3:15 PM"})
    EXPECT_TRUE(is_date(date)) << date;
  for (const char* other : {"", "1.5.2", "2013", "a-b-c", "ford f-150", "10-20", "12:6", "+01:00"})
    EXPECT_FALSE(is_date(other)) << other;
}

// What the data's README says is awkward about each.
struct Awkward {
  const char* file;
  const char* target;
  const char* keep;
  std::int64_t n_dropped;
  std::vector<std::pair<const char*, Exclusion>> columns;
};

TEST(Encoding, RealTables) {
  const std::string folder = HEADSPAN_SHARED_DIR "/data/";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "the real tables are not here: no " << folder;
  const std::vector<Awkward> files = {
      {"bikes_all_quoted_crlf.csv",
       "bikes_available",
       "docks_available",
       0,
       {{"station_id", Exclusion::constant},
        {"docks_available", Exclusion::leak},
        {"time", Exclusion::dates}}},
      {"cars_bom.csv",
       "Miles_per_Gallon",
       nullptr,
       8,
       {{"Name", Exclusion::free_form}, {"Year", Exclusion::dates}, {"Origin", Exclusion::none}}},
      {"prestige_semicolon_decimalcomma.csv",
       "prestige",
       nullptr,
       0,
       {{"occupation", Exclusion::free_form}, {"type", Exclusion::none}, {"income", Exclusion::none}}},
      {"airquality.csv", "Ozone", nullptr, 37, {{"Solar.R", Exclusion::none}}},
      {"cps1985.csv", "wage", nullptr, 0, {{"ethnicity", Exclusion::none}, {"married", Exclusion::none}}},
      {"ames.csv", "Sale_Price", nullptr, 0, {{"Neighborhood", Exclusion::none}}},
  };
  for (const Awkward& file : files) {
    EncodingOptions options;
    if (file.keep != nullptr) options.keep = {file.keep};
    const Learnt learnt = learn(table::read_csv(folder + file.file), file.target, options);
    EXPECT_EQ(std::ssize(learnt.rows.dropped), file.n_dropped) << file.file;
    for (const auto& [name, expected] : file.columns)
      EXPECT_EQ(exclusion(learnt.encoding, name), expected) << file.file << ' ' << name;
    const Matrix x = encode(learnt.encoding, learnt.table, learnt.rows.rows).x;
    EXPECT_TRUE(x.allFinite()) << file.file;
    EXPECT_EQ(std::ssize(learnt.encoding.facts.inputs), x.cols()) << file.file;
  }
}

}  // namespace
}  // namespace headspan::estimator
