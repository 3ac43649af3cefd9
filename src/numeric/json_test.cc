#include "headspan/numeric/json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "headspan/numeric/error.h"

namespace headspan {
namespace {

std::string nested(int depth) {
  return std::string(static_cast<std::size_t>(depth), '[') +
         std::string(static_cast<std::size_t>(depth), ']');
}

TEST(StrictJson, ReadsOneValue) {
  const nlohmann::json value = parse_json(R"( {"a": [1, -2.5, null], "b": {"a": "\u00e9\"" }}  )", "x.json");
  EXPECT_EQ(value["a"][0], 1);
  EXPECT_EQ(value["a"][1], -2.5);
  EXPECT_TRUE(value["a"][2].is_null());
  EXPECT_EQ(value["b"]["a"], "\xc3\xa9\"");
  EXPECT_EQ(parse_json(nested(kMaxJsonDepth), "x.json").size(), 1U);
  EXPECT_EQ(parse_json("18446744073709551615", "x.json").get<std::uint64_t>(), 18446744073709551615U);
}

struct Defect {
  const char* name;
  std::string text;
  std::uint64_t offset;
  std::string item;
};

const std::vector<Defect>& defects() {
  static const std::vector<Defect> all{
      {"empty", "", 0, ""},
      {"only spaces", "  ", 2, ""},
      {"cut in an object", R"({"a": 1)", 7, ""},
      {"cut in a text", R"({"a)", 3, ""},
      {"trailing brace", "{}}", 2, ""},
      {"two values", "{} {}", 3, ""},
      {"trailing NUL", std::string("{}\0", 3), 2, ""},
      {"single quotes", "{'a': 1}", 1, ""},
      {"comment", "{/**/}", 1, ""},
      {"trailing comma", "[1,]", 3, ""},
      {"NaN", "[NaN]", 1, ""},
      {"not UTF-8 in a text", "[\"\xff\"]", 2, ""},
      {"overlong UTF-8", "[\"\xc0\xaf\"]", 2, ""},
      {"a lone surrogate in UTF-8", "[\"\xed\xa0\x80\"]", 3, ""},
      {"control character in a text", "[\"\n\"]", 2, ""},
      {"key twice", R"({"a": 1, "b": 2, "a": 3})", 17, "a"},
      {"key twice, once escaped", R"({"a\"": 1, "\u0061\"": 3})", 11, "a\""},
      {"key twice, inside", R"({"o": [{"k": 1, "k": 2}]})", 16, "k"},
      {"empty key twice", R"({"": 1, "": 2})", 8, ""},
      {"arrays one level too deep", nested(kMaxJsonDepth + 1), kMaxJsonDepth, ""},
      {"nested without end", std::string(1000000, '['), kMaxJsonDepth, ""},
  };
  return all;
}

TEST(StrictJson, EachDefectIsNamedWithItsByte) {
  constexpr std::uint64_t kFirstByte = 8;
  for (const Defect& defect : defects()) {
    SCOPED_TRACE(defect.name);
    try {
      parse_json(defect.text, "x.json", kFirstByte);
      ADD_FAILURE() << "it was accepted";
    } catch (const FileError& error) {
      EXPECT_EQ(error.fault(), FileFault::malformed);
      EXPECT_EQ(error.place().path, "x.json");
      EXPECT_EQ(error.place().item, defect.item) << error.what();
      EXPECT_EQ(error.place().offset, kFirstByte + defect.offset) << error.what();
    }
  }
}

TEST(StrictJson, NumbersBeyondDoubleAreRefused) {
  try {
    parse_json("[1e999]", "x.json");
    ADD_FAILURE();
  } catch (const FileError& error) {
    EXPECT_EQ(error.fault(), FileFault::malformed);
  }
}

TEST(StrictJson, OneKeyInSiblingsIsNoDuplicate) {
  const nlohmann::json value = parse_json(R"([{"a": 1}, {"a": {"a": 2}}])", "x.json");
  EXPECT_EQ(value[1]["a"]["a"], 2);
}

TEST(StrictJson, MessagesArePrintable) {
  try {
    parse_json("[\"\x1b[31m\xff\"]", "x.json");
    ADD_FAILURE();
  } catch (const FileError& error) {
    for (const char c : error.reason()) EXPECT_TRUE(c >= ' ' && c <= '~') << static_cast<int>(c);
  }
}

}  // namespace
}  // namespace headspan
