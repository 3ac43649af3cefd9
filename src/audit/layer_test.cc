#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "headspan/audit/audit.h"
#include "headspan/numeric/error.h"
#include "headspan/numeric/random.h"

namespace headspan::audit {
namespace {

constexpr Index kHeads = 6, kGroups = 3, kDim = 4, kWidth = 24;

HeadWeights random_part(Index n, std::uint64_t stream) {
  return {RandomStream(8, stream).normal_matrix(n * kDim, kWidth), n, kDim, 0x1p-24};
}

LayerHeads random_layer() {
  LayerHeads heads;
  heads.query = random_part(kHeads, 0);
  heads.key = random_part(kGroups, 1);
  heads.value = random_part(kGroups, 2);
  heads.output = random_part(kHeads, 3);
  return heads;
}

const SourceFacts& source_of(const LayerFacts& facts, Source source) {
  return *std::find_if(facts.sources.begin(), facts.sources.end(),
                       [&](const SourceFacts& candidate) { return candidate.source == source; });
}

const PairFacts& pair_of(const LayerFacts& facts, Source source, int a, int b) {
  return *std::find_if(facts.pairs.begin(), facts.pairs.end(), [&](const PairFacts& pair) {
    return pair.source == source && pair.a == a && pair.b == b;
  });
}

double hdi(const LayerFacts& facts, Source source) { return *source_of(facts, source).diversity.hdi; }

TEST(AuditLayer, EverySourceHasItsMatrixBaselineAndBound) {
  const LayerFacts facts = audit_layer(random_layer(), {});
  EXPECT_EQ(facts.status, Status::ok) << facts.reason;
  ASSERT_EQ(facts.sources.size(), all_sources().size());
  for (std::size_t i = 0; i < facts.sources.size(); ++i) {
    const SourceFacts& source = facts.sources[i];
    SCOPED_TRACE(to_string(source.source));
    EXPECT_EQ(source.source, all_sources()[i]);
    const bool stored = source.source == Source::key_subspace || source.source == Source::value_subspace ||
                        source.source == Source::key_energy || source.source == Source::value_energy ||
                        source.source == Source::kernel;
    EXPECT_EQ(source.n_heads, stored ? kGroups : kHeads);
    EXPECT_TRUE(source.diversity.hdi && source.diversity.baseline && source.diversity.z &&
                source.diversity.bound);
    EXPECT_FALSE(source.diversity.z_method.empty());
    EXPECT_LE(*source.diversity.hdi, *source.diversity.bound + 1e-12);
    EXPECT_LT(std::abs(*source.diversity.z), 6.0);  // the weights are random
  }
  EXPECT_DOUBLE_EQ(*source_of(facts, Source::query_subspace).diversity.baseline, 1.0 - 4.0 / 24.0);
  EXPECT_DOUBLE_EQ(*source_of(facts, Source::query_energy).diversity.baseline, 1.0 - 4.0 / 29.0);
  EXPECT_DOUBLE_EQ(*source_of(facts, Source::score).diversity.bound, 6.0 / 5.0);
}

TEST(AuditLayer, NormsAreThoseOfTheComposedMaps) {
  const LayerHeads heads = random_layer();
  const LayerFacts facts = audit_layer(heads, {});
  for (int h = 0; h < kHeads; ++h) {
    const HeadFacts& head = facts.heads[static_cast<std::size_t>(h)];
    EXPECT_NEAR(*head.qk_norm, (heads.query.head(h).transpose() * heads.key.head(h / 2)).norm(), 1e-11);
    EXPECT_NEAR(*head.ov_norm, (heads.output.head(h).transpose() * heads.value.head(h / 2)).norm(), 1e-11);
  }
}

TEST(AuditLayer, ScaleOfAHeadChangesNothingButNorms) {
  LayerHeads heads = random_layer();
  const LayerFacts before = audit_layer(heads, {});
  heads.query.head(2) *= 1e-120;
  heads.value.head(1) *= 1e130;
  const LayerFacts after = audit_layer(heads, {});
  for (const Source source : all_sources()) EXPECT_NEAR(hdi(after, source), hdi(before, source), 1e-12);
  EXPECT_NEAR(*after.heads[2].qk_norm / *before.heads[2].qk_norm / 1e-120, 1.0, 1e-12);
}

TEST(AuditLayer, DeadHeadKeepsItsRowAndHasNoValues) {
  LayerHeads heads = random_layer();
  heads.query.head(3).setZero();
  const LayerFacts facts = audit_layer(heads, {});
  EXPECT_EQ(facts.status, Status::partial);
  EXPECT_EQ(facts.heads[3].status, Status::dead);
  EXPECT_EQ(facts.heads[3].rank_query, 0);
  EXPECT_FALSE(facts.heads[3].qk_norm.has_value());
  EXPECT_TRUE(facts.heads[3].ov_norm.has_value());
  const SourceFacts& query = source_of(facts, Source::query_subspace);
  EXPECT_EQ(query.heads_left_out, std::vector<int>{3});
  EXPECT_TRUE(std::isnan(query.matrix(3, 0)));
  EXPECT_FALSE(pair_of(facts, Source::query_subspace, 1, 3).overlap.has_value());
  EXPECT_TRUE(pair_of(facts, Source::query_subspace, 1, 2).overlap.has_value());
  EXPECT_TRUE(source_of(facts, Source::output_subspace).heads_left_out.empty());
  // The rest is what a layer without that head would give.
  double mean = 0.0;
  for (int a = 0; a < kHeads; ++a)
    for (int b = 0; b < a; ++b)
      if (a != 3 && b != 3) mean += query.matrix(a, b) / 10.0;
  EXPECT_NEAR(*query.diversity.hdi, 1.0 - mean, 1e-14);
}

TEST(AuditLayer, NonFiniteKeyHeadTouchesOnlyWhatReadsIt) {
  LayerHeads heads = random_layer();
  heads.key.weight(5, 7) =
      std::numeric_limits<double>::quiet_NaN();  // key head 1, read by query heads 2 and 3
  const LayerFacts facts = audit_layer(heads, {});
  for (const int h : {2, 3}) {
    EXPECT_EQ(facts.heads[static_cast<std::size_t>(h)].status, Status::non_finite);
    EXPECT_FALSE(facts.heads[static_cast<std::size_t>(h)].rank_key.has_value());
    EXPECT_EQ(facts.heads[static_cast<std::size_t>(h)].rank_query, kDim);
  }
  EXPECT_EQ(facts.heads[0].status, Status::ok);
  EXPECT_EQ(source_of(facts, Source::score).heads_left_out, (std::vector<int>{2, 3}));
  EXPECT_EQ(source_of(facts, Source::key_energy).heads_left_out, std::vector<int>{1});
  EXPECT_EQ(source_of(facts, Source::kernel).heads_left_out, std::vector<int>{1});
}

TEST(AuditLayer, RankDeficientHeadIsCountedByItsRank) {
  LayerHeads heads = random_layer();
  heads.query.weight.row(2) = heads.query.weight.row(3);  // head 0 has rank 3
  const LayerFacts facts = audit_layer(heads, {});
  EXPECT_EQ(facts.heads[0].status, Status::rank_deficient);
  EXPECT_EQ(facts.heads[0].rank_query, 3);
  EXPECT_NE(facts.heads[0].reason.find("query has rank 3 of 4"), std::string::npos);
  const SourceFacts& query = source_of(facts, Source::query_subspace);
  EXPECT_TRUE(query.heads_left_out.empty());
  const double pairs = 15.0, mean = (5.0 * std::sqrt(12.0) + 10.0 * 4.0) / 24.0 / pairs;
  EXPECT_NEAR(*query.diversity.baseline, 1.0 - mean, 1e-14);
}

TEST(AuditLayer, IdenticalHeadsAreFound) {
  LayerHeads heads = random_layer();
  heads.query.head(4) = heads.query.head(1);
  const LayerFacts facts = audit_layer(heads, {});
  const PairFacts& pair = pair_of(facts, Source::query_subspace, 1, 4);
  EXPECT_NEAR(*pair.overlap, 1.0, 1e-14);
  EXPECT_EQ(pair.direction, Direction::aligned);
  ASSERT_TRUE(pair.angles.has_value());
  for (const double angle : *pair.angles) EXPECT_LT(angle, 1e-14);
  EXPECT_GT(*pair.z, 5.0);
}

TEST(AuditLayer, ForcedZeroAnglesWhereTwoHeadsDoNotFit) {
  LayerHeads heads;
  for (HeadWeights* part : {&heads.query, &heads.key, &heads.value, &heads.output})
    *part = {RandomStream(8, 20).normal_matrix(10, 7), 2, 5, 0x1p-24};
  AuditOptions options;
  options.all_angles = true;
  const LayerFacts facts = audit_layer(heads, options);
  const PairFacts& pair = pair_of(facts, Source::query_subspace, 0, 1);
  EXPECT_EQ(pair.forced_zero_angles, 3);
  ASSERT_EQ(pair.angles->size(), 5U);
  EXPECT_LT((*pair.angles)[2], 1e-14);
  EXPECT_GT((*pair.angles)[1], 1e-3);
}

TEST(AuditLayer, IdentityCovarianceIsNone) {
  AuditOptions options;
  options.covariance = Matrix::Identity(kWidth, kWidth);
  const LayerFacts plain = audit_layer(random_layer(), {}), with = audit_layer(random_layer(), options);
  for (const Source source : all_sources()) EXPECT_NEAR(hdi(with, source), hdi(plain, source), 1e-12);
}

TEST(AuditLayer, CovarianceEntersAsItsSquareRoot) {
  // With S = diag(s), canonical correlations of U^T x are those of the heads with columns scaled by sqrt(s).
  Vector root = RandomStream(8, 30).normal_matrix(kWidth, 1).cwiseAbs().array() + 0.5;
  AuditOptions options;
  options.covariance = root.cwiseAbs2().asDiagonal().toDenseMatrix();
  const LayerFacts with = audit_layer(random_layer(), options);
  LayerHeads scaled = random_layer();
  for (HeadWeights* part : {&scaled.query, &scaled.key, &scaled.value}) part->weight *= root.asDiagonal();
  const LayerFacts expected = audit_layer(scaled, {});
  for (const Source source : {Source::query_subspace, Source::key_subspace, Source::value_subspace,
                              Source::score, Source::head, Source::output_subspace, Source::kernel})
    EXPECT_NEAR(hdi(with, source), hdi(expected, source), 1e-11) << to_string(source);
  EXPECT_EQ(hdi(with, Source::query_energy), hdi(audit_layer(random_layer(), {}), Source::query_energy));
}

TEST(AuditLayer, RefusesWhatIsNoCovariance) {
  AuditOptions options;
  options.covariance = -Matrix::Identity(kWidth, kWidth);
  EXPECT_THROW(audit_layer(random_layer(), options), CovarianceError);
  options.covariance = Matrix::Zero(kWidth, kWidth);
  EXPECT_THROW(audit_layer(random_layer(), options), CovarianceError);
  options.covariance = Matrix::Identity(kWidth, kWidth);
  options.covariance(0, 1) = 0.5;
  EXPECT_THROW(audit_layer(random_layer(), options), CovarianceError);
}

TEST(AuditLayer, OneHeadIsStatedNotCompared) {
  LayerHeads heads;
  for (HeadWeights* part : {&heads.query, &heads.key, &heads.value, &heads.output})
    *part = {RandomStream(8, 40).normal_matrix(4, 9), 1, 4, 0x1p-24};
  const LayerFacts facts = audit_layer(heads, {});
  EXPECT_EQ(facts.status, Status::ok);
  for (const SourceFacts& source : facts.sources) {
    EXPECT_FALSE(source.diversity.hdi || source.diversity.bound || source.diversity.baseline);
    EXPECT_EQ(*source.diversity.n_eff_2, 1.0);
    EXPECT_EQ(source.reason, "one head: nothing to compare it with");
  }
  EXPECT_TRUE(facts.pairs.empty());
}

TEST(AuditLayer, MeanFreeRowsAsWideAsTheSpaceAreNotDeficient) {
  LayerHeads heads;
  for (HeadWeights* part : {&heads.query, &heads.key, &heads.value, &heads.output}) {
    *part = {RandomStream(8, 50).normal_matrix(6, 6), 1, 6, 0x1p-24};
    part->weight.colwise() -= Vector(part->weight.rowwise().mean());
  }
  EXPECT_EQ(audit_layer(heads, {}).status, Status::ok);
}

}  // namespace
}  // namespace headspan::audit
