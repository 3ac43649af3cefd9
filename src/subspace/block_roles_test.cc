#include "headspan/subspace/block_roles.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "headspan/numeric/error.h"
#include "headspan/numeric/parallel.h"
#include "headspan/numeric/random.h"

namespace headspan::subspace {
namespace {

constexpr Index kHeadDim = 16, kWidth = 96;

// Projections of one layer, heads stacked; output transposed.
struct Planted {
  Matrix query, key, value, output;
  Index n_heads = 0, n_kv_heads = 0;
};

// Heads whose row energies are a profile of their own, shared by the queries and the key of a group and by a
// value and its output heads, as balanced training leaves them. Nothing else tells the blocks apart.
Planted balanced_layer(Index n_heads, Index n_kv_heads, std::uint64_t seed) {
  RandomStream random(seed, 0);
  Planted p{{}, {}, {}, {}, n_heads, n_kv_heads};
  const Index group = n_heads / n_kv_heads;
  p.query.resize(n_heads * kHeadDim, kWidth), p.output = p.query;
  p.key.resize(n_kv_heads * kHeadDim, kWidth), p.value = p.key;
  for (Index g = 0; g < n_kv_heads; ++g)
    for (Matrix* const side : {&p.key, &p.value}) {
      Matrix& many = side == &p.key ? p.query : p.output;
      const Vector profile = random.normal_matrix(kHeadDim, 1).array().exp();
      const auto head = [&]() -> Matrix {
        return profile.asDiagonal() * random.normal_matrix(kHeadDim, kWidth);
      };
      side->middleRows(g * kHeadDim, kHeadDim) = head();
      for (Index h = g * group; h < (g + 1) * group; ++h) many.middleRows(h * kHeadDim, kHeadDim) = head();
    }
  return p;
}

// Independent normal heads: no order.
Planted random_layer(Index n_heads, Index n_kv_heads, std::uint64_t seed) {
  RandomStream random(seed, 0);
  const auto heads = [&](Index n) { return random.normal_matrix(n * kHeadDim, kWidth); };
  return {heads(n_heads), heads(n_kv_heads), heads(n_kv_heads), heads(n_heads), n_heads, n_kv_heads};
}

Matrix fuse(const Planted& p, const RoleCandidate& order) {
  Matrix out(p.query.rows() + 2 * p.key.rows(), kWidth);
  const auto place = [&](const std::vector<Index>& blocks, const Matrix& heads) {
    for (std::size_t h = 0; h < blocks.size(); ++h)
      out.middleRows(blocks[h] * kHeadDim, kHeadDim) =
          heads.middleRows(static_cast<Index>(h) * kHeadDim, kHeadDim);
  };
  place(order.query, p.query), place(order.key, p.key), place(order.value, p.value);
  return out;
}

RoleScore score(const Planted& p, const RoleCandidate& order) {
  return score_block_roles(fuse(p, order), p.output, p.n_heads, p.n_kv_heads, kHeadDim);
}

using Blocks = std::vector<Index>;

TEST(RoleOrder, BlocksOfEveryCode) {
  const RoleCandidate s3 = role_order("S3", 4, 2), ig = role_order("IG", 4, 2), i3 = role_order("I3", 2, 2),
                      slabs = role_order("QVK4", 8, 8);
  EXPECT_EQ(s3.query, (Blocks{0, 1, 2, 3}));
  EXPECT_EQ(s3.key, (Blocks{4, 5}));
  EXPECT_EQ(s3.value, (Blocks{6, 7}));
  EXPECT_EQ(ig.query, (Blocks{0, 1, 4, 5}));
  EXPECT_EQ(ig.key, (Blocks{2, 6}));
  EXPECT_EQ(ig.value, (Blocks{3, 7}));
  EXPECT_EQ(i3.query, (Blocks{0, 3}));
  EXPECT_EQ(i3.key, (Blocks{1, 4}));
  EXPECT_EQ(i3.value, (Blocks{2, 5}));
  EXPECT_EQ(slabs.query, (Blocks{0, 1, 6, 7, 12, 13, 18, 19}));
  EXPECT_EQ(slabs.value, (Blocks{2, 3, 8, 9, 14, 15, 20, 21}));
  EXPECT_EQ(slabs.key, (Blocks{4, 5, 10, 11, 16, 17, 22, 23}));
}

TEST(RoleOrder, RefusesWhatCannotBe) {
  EXPECT_THROW(role_order("I3", 8, 4), ArgumentError);
  EXPECT_THROW(role_order("QVK4", 6, 6), ArgumentError);
  EXPECT_THROW(role_order("SEP", 8, 8), ArgumentError);
  EXPECT_THROW(role_order("S3", 7, 2), ArgumentError);
  EXPECT_THROW(role_order("S3", 0, 0), ArgumentError);
  EXPECT_THROW(same_block_order("S3", "Q3", 8, 8), ArgumentError);
}

std::vector<std::string> codes(Index n_heads, Index n_kv_heads) {
  std::vector<std::string> out;
  for (const RoleCandidate& c : role_candidates(n_heads, n_kv_heads)) out.push_back(c.code);
  return out;
}

TEST(RoleCandidates, NoTwoAlike) {
  using Codes = std::vector<std::string>;
  EXPECT_EQ(codes(8, 8), (Codes{"S3", "I3", "QVK4"}));
  EXPECT_EQ(codes(6, 6), (Codes{"S3", "I3"}));
  EXPECT_EQ(codes(8, 4), (Codes{"S3", "IG"}));
  EXPECT_EQ(codes(8, 1), (Codes{"S3"}));
  EXPECT_EQ(codes(1, 1), (Codes{"S3"}));
}

TEST(SameBlockOrder, ByOrderNotByName) {
  EXPECT_TRUE(same_block_order("I3", "IG", 6, 6));
  EXPECT_TRUE(same_block_order("S3", "IG", 8, 1));
  EXPECT_FALSE(same_block_order("S3", "IG", 8, 2));
  EXPECT_FALSE(same_block_order("I3", "IG", 8, 4));
  EXPECT_FALSE(same_block_order("S3", "QVK4", 8, 8));
}

struct Counts {
  Index n_heads, n_kv_heads;
};

class PlantedOrder : public testing::TestWithParam<Counts> {};

TEST_P(PlantedOrder, IsNamedWithConfidence) {
  const auto [n_heads, n_kv_heads] = GetParam();
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    const Planted layer = balanced_layer(n_heads, n_kv_heads, seed);
    for (const RoleCandidate& order : role_candidates(n_heads, n_kv_heads)) {
      const RoleScore result = score(layer, order);
      EXPECT_EQ(result.best, order.code) << "seed " << seed;
      EXPECT_TRUE(result.decided) << order.code << " " << result.confidence << " seed " << seed;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Counts, PlantedOrder,
                         testing::Values(Counts{9, 9}, Counts{12, 12}, Counts{16, 16}, Counts{16, 8}),
                         [](const auto& counts) {
                           return std::to_string(counts.param.n_heads) + "over" +
                                  std::to_string(counts.param.n_kv_heads);
                         });

// With 8 heads half of the value/output pairs of I3 are pairs of QVK4 too; the norms of the roles add what is
// missing.
TEST(BlockRoles, NormsOfTheRolesAddToThePairs) {
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    const Planted plain = balanced_layer(8, 8, seed);
    Planted layer = plain;
    layer.value *= 0.2;
    for (const RoleCandidate& order : role_candidates(8, 8)) {
      const RoleScore result = score(layer, order);
      EXPECT_EQ(result.best, order.code) << "seed " << seed;
      EXPECT_TRUE(result.decided) << order.code << " " << result.confidence << " seed " << seed;
      EXPECT_GT(result.scores.at(order.code), score(plain, order).scores.at(order.code)) << "seed " << seed;
    }
  }
}

TEST(BlockRoles, RandomWeightsCannotBeTold) {
  double most = 0.0;
  for (std::uint64_t seed = 0; seed < 60; ++seed)
    for (const auto [n_heads, n_kv_heads] : {Counts{12, 12}, Counts{8, 8}, Counts{16, 4}, Counts{4, 2}}) {
      const RoleScore result =
          score(random_layer(n_heads, n_kv_heads, seed), role_order("S3", n_heads, n_kv_heads));
      EXPECT_FALSE(result.decided) << n_heads << " over " << n_kv_heads << " seed " << seed;
      EXPECT_EQ(result.scores.size(), role_candidates(n_heads, n_kv_heads).size());
      most = std::max(most, result.confidence);
    }
  EXPECT_GT(most, 0.5);  // the confidence is not stuck at zero
}

TEST(BlockRoles, KeysAndValuesExchangedAreNotCalledAnyOrder) {
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    const Planted layer = balanced_layer(12, 12, seed);
    for (RoleCandidate order : role_candidates(12, 12)) {
      std::swap(order.key, order.value);
      EXPECT_FALSE(score(layer, order).decided) << order.code << " seed " << seed;
    }
  }
}

// Row energies by role alone, equal norms: periods of a wrong order line up roles, which must not pass for
// pairs.
TEST(BlockRoles, RoleProfilesAloneNeverNameAWrongOrder) {
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    Planted layer = random_layer(16, 16, seed);
    RandomStream random(seed, 1);
    for (Matrix* const role : {&layer.query, &layer.key, &layer.value}) {
      const Vector profile = random.normal_matrix(kHeadDim, 1).array().exp();
      for (Index h = 0; h < 16; ++h) {
        auto head = role->middleRows(h * kHeadDim, kHeadDim);
        head = Matrix(profile.asDiagonal() * head).normalized();
      }
    }
    for (const RoleCandidate& order : role_candidates(16, 16)) {
      const RoleScore result = score(layer, order);
      EXPECT_EQ(result.best, order.code) << "seed " << seed;
    }
  }
}

TEST(BlockRoles, OneOrderOnlyIsNoChoice) {
  for (const auto [n_heads, n_kv_heads] : {Counts{8, 1}, Counts{1, 1}}) {
    const RoleScore result =
        score(balanced_layer(n_heads, n_kv_heads, 1), role_order("S3", n_heads, n_kv_heads));
    EXPECT_FALSE(result.decided);
    EXPECT_EQ(result.best, "");
    EXPECT_TRUE(result.scores.empty());
    EXPECT_EQ(result.confidence, 0.0);
  }
}

TEST(BlockRoles, FewHeadsGiveNoConfidence) {
  for (const char* code : {"S3", "I3"})
    EXPECT_FALSE(score(balanced_layer(2, 2, 3), role_order(code, 2, 2)).decided);
}

TEST(BlockRoles, NonFiniteEntriesAreUndecided) {
  const Planted layer = balanced_layer(8, 8, 2);
  for (const double bad : {std::nan(""), std::numeric_limits<double>::infinity()}) {
    Matrix fused = fuse(layer, role_order("S3", 8, 8)), output = layer.output;
    fused(5, 7) = bad;
    EXPECT_TRUE(score_block_roles(fused, output, 8, 8, kHeadDim).scores.empty());
    output(0, 0) = bad;
    fused(5, 7) = 0.0;
    const RoleScore result = score_block_roles(fused, output, 8, 8, kHeadDim);
    EXPECT_FALSE(result.decided);
    EXPECT_EQ(result.best, "");
  }
}

TEST(BlockRoles, DeadHeadsAndDeadLayers) {
  Planted layer = balanced_layer(12, 12, 2);
  layer.query.topRows(kHeadDim).setZero();
  layer.value.bottomRows(kHeadDim).setZero();
  const RoleScore some = score(layer, role_order("I3", 12, 12));
  EXPECT_EQ(some.best, "I3");
  EXPECT_TRUE(some.decided);
  const Matrix zero = Matrix::Zero(36 * kHeadDim, kWidth);
  const RoleScore none = score_block_roles(zero, Matrix::Zero(12 * kHeadDim, kWidth), 12, 12, kHeadDim);
  EXPECT_FALSE(none.decided);
  for (const auto& [code, evidence] : none.scores) EXPECT_EQ(evidence, 0.0) << code;
}

TEST(BlockRoles, ScaleAndOutputAreOptional) {
  const Planted layer = balanced_layer(12, 12, 6);
  const Matrix fused = fuse(layer, role_order("QVK4", 12, 12));
  const RoleScore plain = score_block_roles(fused, layer.output, 12, 12, kHeadDim);
  const RoleScore far = score_block_roles(1e200 * fused, 1e-200 * layer.output, 12, 12, kHeadDim);
  for (const auto& [code, evidence] : plain.scores) EXPECT_NEAR(far.scores.at(code), evidence, 1e-9) << code;
  const RoleScore alone = score_block_roles(fused, Matrix(0, 0), 12, 12, kHeadDim);
  EXPECT_EQ(alone.best, "QVK4");
  EXPECT_LT(alone.scores.at("QVK4"), plain.scores.at("QVK4"));
}

TEST(BlockRoles, SameBitsOnOneThread) {
  const Planted layer = balanced_layer(12, 12, 8);
  const RoleScore many = score(layer, role_order("S3", 12, 12));
  const ThreadLimit one(1);
  const RoleScore single = score(layer, role_order("S3", 12, 12));
  EXPECT_EQ(many.scores, single.scores);
  EXPECT_EQ(many.confidence, single.confidence);
}

TEST(BlockRoles, RefusesShapesThatDisagree) {
  const Matrix fused = Matrix::Ones(24 * 4, 8), output = Matrix::Ones(8 * 4, 8);
  EXPECT_THROW(score_block_roles(fused, output, 8, 8, 3), ArgumentError);
  EXPECT_THROW(score_block_roles(fused, output.topRows(5), 8, 8, 4), ArgumentError);
  EXPECT_THROW(score_block_roles(fused, output, 8, 3, 4), ArgumentError);
  EXPECT_THROW(score_block_roles(fused, output, 8, 8, 0), ArgumentError);
}

// Entries from integers, the same here and in the numpy computation the expected values are from.
Matrix integer_wave(Index rows, Index cols, Index a) {
  Matrix out(rows, cols);
  for (Index i = 0; i < rows; ++i)
    for (Index j = 0; j < cols; ++j)
      out(i, j) = (static_cast<double>((i * i * a + j * j * 7 + i * j * 13 + a) % 101) - 50.0) *
                  (1.0 + static_cast<double>(i / 4 % 3) * 0.25);
  return out;
}

// Expected: score() of bench/role_hit_rate.py.
TEST(BlockRoles, EqualsAnIndependentComputation) {
  const Matrix fused = integer_wave(24 * 4, 20, 31), output = integer_wave(8 * 4, 12, 17);
  const RoleScore mha = score_block_roles(fused, output, 8, 8, 4);
  EXPECT_NEAR(mha.scores.at("S3"), 0.24007846594212912, 1e-9);
  EXPECT_NEAR(mha.scores.at("I3"), 6.776186289150914, 1e-7);
  EXPECT_NEAR(mha.scores.at("QVK4"), 0.29329975577565504, 1e-9);
  EXPECT_NEAR(mha.confidence, 0.9960443339690462, 1e-9);
  EXPECT_FALSE(mha.decided);
  EXPECT_NEAR(score_block_roles(fused, Matrix(), 8, 8, 4).confidence, 0.999628195050043, 1e-9);
  const Matrix grouped = integer_wave(16 * 4, 20, 31);
  const RoleScore gqa = score_block_roles(grouped, output, 8, 4, 4);
  EXPECT_NEAR(gqa.scores.at("S3"), 0.11237919652947176, 1e-9);
  EXPECT_NEAR(gqa.scores.at("IG"), 0.06044478595606681, 1e-9);
  EXPECT_NEAR(gqa.confidence, 0.29126115599630814, 1e-9);
}

}  // namespace
}  // namespace headspan::subspace
