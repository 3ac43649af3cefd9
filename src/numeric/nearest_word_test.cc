#include "headspan/numeric/nearest_word.h"

#include <gtest/gtest.h>

namespace headspan {
namespace {

TEST(NearestWord, TakesTheFewestChanges) {
  const std::vector<std::string> known = {"closure", "closed", "dominance"};
  EXPECT_EQ(nearest_word("closur", known), "closure");
  EXPECT_EQ(nearest_word("dominence", known), "dominance");
  EXPECT_EQ(nearest_word("CLOSED", known), "closed");
}

TEST(NearestWord, TheFirstOfSeveral) { EXPECT_EQ(nearest_word("bat", {"cat", "hat"}), "cat"); }

TEST(NearestWord, NothingWhereNoneIsLikeIt) {
  EXPECT_EQ(nearest_word("ozone", {"wind", "temperature"}), "");
  EXPECT_EQ(nearest_word("abcdef", {"abcxyz"}), "") << "three changes are more than a third of six";
  EXPECT_EQ(nearest_word("x", {}), "");
}

}  // namespace
}  // namespace headspan
