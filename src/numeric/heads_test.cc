#include "headspan/numeric/heads.h"

#include <gtest/gtest.h>

#include "headspan/numeric/error.h"

namespace headspan {
namespace {

LayerHeads good() {
  LayerHeads heads;
  heads.query = {Matrix::Ones(8, 6), 4, 2, 0x1p-24};
  heads.key = {Matrix::Ones(4, 6), 2, 2, 0x1p-24};
  heads.value = {Matrix::Ones(6, 6), 2, 3, 0x1p-24};
  heads.output = {Matrix::Ones(12, 5), 4, 3, 0x1p-24};
  return heads;
}

void expect_refused(const LayerHeads& heads, const std::string& words) {
  try {
    check_shapes(heads);
    ADD_FAILURE() << "accepted; expected: " << words;
  } catch (const ArgumentError& error) {
    EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
  }
}

TEST(CheckShapes, AcceptsGroupedHeadsOfUnequalWidths) {
  EXPECT_NO_THROW(check_shapes(good()));
  EXPECT_EQ(good().group(), 2);
}

TEST(CheckShapes, NamesTheRuleBroken) {
  LayerHeads heads = good();
  heads.query.n_heads = 3;
  expect_refused(heads, "query: weight is 8 x 6, but 3 heads of dimension 2 need 6 rows");
  heads = good();
  heads.key.head_dim = 4, heads.key.n_heads = 1;
  expect_refused(heads, "query and key head_dim must agree: 2 against 4");
  heads = good();
  heads.value = {Matrix::Ones(3, 6), 1, 3, 0};
  expect_refused(heads, "key and value n_heads must agree: 2 against 1");
  heads = good();
  heads.key = {Matrix::Ones(6, 6), 3, 2, 0}, heads.value = {Matrix::Ones(9, 6), 3, 3, 0};
  expect_refused(heads, "4 query heads cannot share 3 key/value heads evenly");
  heads = good();
  heads.query_gain = Vector::Ones(3);
  expect_refused(heads, "query_gain has 3 entries for 8 rows");
}

}  // namespace
}  // namespace headspan
