#include "headspan/ensemble/predictions.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "headspan/ensemble/shrinkage.h"
#include "headspan/numeric/error.h"
#include "headspan/numeric/parallel.h"
#include "headspan/numeric/random.h"

namespace headspan::ensemble {
namespace {

/// Members f_h = y + b_h + common + own_h, the first with the least noise.
Replicates made(Index n_replicates, Index n_members, Index n, std::uint64_t seed = 0) {
  Replicates out;
  RandomStream random(seed, 0);
  out.truth = random.normal_matrix(n, 1).col(0);
  for (Index r = 0; r < n_replicates; ++r) {
    Matrix f = random.normal_matrix(n_members, n);
    const Eigen::RowVectorXd common = random.normal_matrix(1, n).row(0);
    for (Index h = 0; h < n_members; ++h)
      f.row(h) = f.row(h) * (0.3 + 0.2 * static_cast<double>(h)) + 0.5 * common + out.truth.transpose() +
                 Eigen::RowVectorXd::Constant(n, 0.1 * static_cast<double>(h));
    out.predictions.push_back(f);
  }
  return out;
}

const FittedWeights& named(const PredictionFacts& facts, const std::string& name) {
  for (const FittedWeights& one : facts.weights)
    if (one.name == name) return one;
  throw std::runtime_error("no weights called " + name);
}

TEST(DecomposePredictions, OneTrainingSetIdentifiesNoBias) {
  const Replicates all = made(1, 4, 60);
  const PredictionFacts facts = decompose_predictions(all);
  EXPECT_FALSE(facts.bias2 || facts.variance || facts.covariance || facts.disparity || facts.diversity);
  EXPECT_FALSE(facts.unbiased || facts.linking_closure);
  const Matrix errors = all.predictions[0].rowwise() - all.truth.transpose();
  EXPECT_NEAR(facts.mse.value, errors.colwise().mean().squaredNorm() / 60.0, 1e-14);
  EXPECT_NEAR(facts.mean_member_mse.value, errors.squaredNorm() / 240.0, 1e-14);
  EXPECT_NEAR(facts.closure, 0.0, 1e-15);
  EXPECT_TRUE(facts.error_second_moments.isApprox(errors * errors.transpose() / 60.0, 1e-13));
  EXPECT_EQ(facts.correlation_of, "errors");
  const Matrix& m = facts.error_second_moments;
  EXPECT_NEAR((*facts.correlation)(1, 3), m(1, 3) / std::sqrt(m(1, 1) * m(3, 3)), 1e-15);
  EXPECT_EQ(facts.hdi->origin, Origin::exact);
}

TEST(DecomposePredictions, ReplicatesCloseTheDecomposition) {
  const PredictionFacts facts = decompose_predictions(made(6, 4, 50));
  EXPECT_NEAR(facts.closure, 0.0, 1e-14);
  EXPECT_NEAR(*facts.linking_closure, 0.0, 1e-14);
  EXPECT_NEAR(facts.mse.value,
              facts.bias2->value + facts.variance->value / 4.0 + 0.75 * facts.covariance->value, 1e-14);
  EXPECT_NEAR(facts.diversity->value, facts.ambiguity.value, 1e-14);
  EXPECT_EQ(facts.bias2->origin, Origin::estimated);
  EXPECT_LT(facts.unbiased->squared_bias->value, facts.bias2->value);
  EXPECT_NEAR(facts.unbiased->mse->value, facts.mse.value, 1e-13);
  EXPECT_EQ(facts.correlation_of, "replicates");
  EXPECT_FALSE(decompose_predictions(made(2, 4, 50)).unbiased);
}

TEST(DecomposePredictions, StandardErrorsAreThoseOverFreshPoints) {
  // Of a mean, and of the index, which is none: the spread over fresh tables of as many points.
  const Index n_tables = 200, n_stated = 20;
  Vector mse(n_tables), hdi(n_tables);
  double stated_mse = 0.0, stated_hdi = 0.0;
  for (Index t = 0; t < n_tables; ++t) {
    PredictionOptions options;
    options.n_bootstrap = t < n_stated ? 400 : 0;
    options.n_folds = 2;
    const PredictionFacts facts =
        decompose_predictions(made(1, 3, 80, static_cast<std::uint64_t>(t)), options);
    mse[t] = facts.mse.value;
    hdi[t] = facts.hdi->value;
    if (t >= n_stated) continue;
    stated_mse += *facts.mse.standard_error / static_cast<double>(n_stated);
    stated_hdi += *facts.hdi->standard_error / static_cast<double>(n_stated);
  }
  const auto spread = [](const Vector& v) { return std::sqrt((v.array() - v.mean()).square().mean()); };
  EXPECT_NEAR(stated_mse / spread(mse), 1.0, 0.2);
  EXPECT_NEAR(stated_hdi / spread(hdi), 1.0, 0.2);
}

TEST(DecomposePredictions, GroupsOfManyPointsGiveTheSameErrorsAsPoints) {
  // 5000 points are resampled in 1000 groups; the standard error of a mean needs no groups.
  const Replicates all = made(1, 3, 5000);
  const PredictionFacts facts = decompose_predictions(all);
  EXPECT_EQ(facts.n_groups, 1000);
  const Vector squares = (all.predictions[0].colwise().mean().transpose() - all.truth).array().square();
  const double sd = std::sqrt((squares.array() - squares.mean()).square().mean() / 5000.0);
  EXPECT_NEAR(*facts.mse.standard_error / sd, 1.0, 0.12);
}

TEST(DecomposePredictions, FitsEveryWayToWeight) {
  const Replicates all = made(1, 5, 40);
  const PredictionFacts facts = decompose_predictions(all);
  const Matrix& m = facts.error_second_moments;
  ASSERT_EQ(facts.weights.size(), 9U);
  EXPECT_NEAR(named(facts, "uniform").weighting.risk, facts.mse.value, 1e-14);
  EXPECT_TRUE(named(facts, "optimal").weighting.weights.isApprox(optimal_weights(m).weights, 1e-9));
  EXPECT_TRUE(named(facts, "simplex").weighting.weights.isApprox(simplex_weights(m).weights, 1e-9));
  EXPECT_TRUE(named(facts, "monotone").weighting.weights.isApprox(monotone_weights(m).weights, 1e-9));
  const Matrix rows = (all.predictions[0].rowwise() - all.truth.transpose()).transpose();
  const Shrunk by = ledoit_wolf(rows, Centring::none);
  EXPECT_NEAR(named(facts, "shrunk").parameters.at(0).second, by.shrinkage, 1e-12);
  EXPECT_TRUE(named(facts, "shrunk").weighting.weights.isApprox(optimal_weights(by.matrix).weights, 1e-9));
  EXPECT_EQ(named(facts, "geometric").parameters.at(0).first, "r");
  for (const FittedWeights& one : facts.weights) {
    EXPECT_NEAR(one.weighting.risk, risk(m, one.weighting.weights), 1e-13) << one.name;
    EXPECT_GE(one.weighting.risk, named(facts, "optimal").weighting.risk - 1e-13) << one.name;
    EXPECT_NEAR(one.gain_cv->value, *facts.weights[0].risk_cv - *one.risk_cv, 1e-13) << one.name;
  }
}

TEST(DecomposePredictions, LeavesEveryPointOutOnceWhereThereAreAsManyFoldsAsPoints) {
  const Replicates all = made(1, 3, 12);
  const PredictionFacts facts = decompose_predictions(all, {.n_bootstrap = 0, .n_folds = 100});
  EXPECT_EQ(facts.n_folds, 12);
  double expected = 0.0;
  const Matrix errors = all.predictions[0].rowwise() - all.truth.transpose();
  for (Index i = 0; i < 12; ++i) {
    Matrix others(3, 11);
    others << errors.leftCols(i), errors.rightCols(11 - i);
    const Vector a = simplex_weights(others * others.transpose() / 11.0).weights;
    expected += std::pow(a.dot(errors.col(i)), 2.0) / 12.0;
  }
  EXPECT_NEAR(*named(facts, "simplex").risk_cv, expected, 1e-12);
  EXPECT_NEAR(*named(facts, "uniform").risk_cv, facts.mse.value, 1e-14);
}

TEST(DecomposePredictions, CrossValidationSeesThroughMoreMembersThanPoints) {
  const PredictionFacts facts = decompose_predictions(made(1, 30, 20));
  const FittedWeights& optimal = named(facts, "optimal");
  EXPECT_EQ(optimal.weighting.status, WeightsStatus::singular);
  EXPECT_NEAR(optimal.weighting.risk, 0.0, 1e-12);
  EXPECT_GT(*optimal.risk_cv, 0.01);
}

TEST(DecomposePredictions, DoesNotDependOnThreads) {
  const Replicates all = made(3, 4, 3000);
  const auto with = [&](int n_threads) {
    const ThreadLimit limit(n_threads);
    return decompose_predictions(all);
  };
  const PredictionFacts one = with(1), three = with(3);
  EXPECT_EQ(*one.hdi->standard_error, *three.hdi->standard_error);
  EXPECT_EQ(one.error_second_moments, three.error_second_moments);
  for (std::size_t i = 0; i < one.weights.size(); ++i)
    EXPECT_EQ(*one.weights[i].risk_cv, *three.weights[i].risk_cv);
  // The seed draws the points; the weights rest on the training sets.
  const PredictionFacts other = decompose_predictions(all, {.seed = 1});
  EXPECT_NE(*other.hdi->standard_error, *one.hdi->standard_error);
  EXPECT_EQ(*other.weights[1].risk_cv, *one.weights[1].risk_cv);
}

/// Members that miss by a draw of their own at all points alike, a new one in every training set.
Replicates shocked(std::uint64_t seed) {
  RandomStream random(seed, 0);
  Replicates out;
  out.truth = random.normal_matrix(40, 1).col(0);
  for (int r = 0; r < 10; ++r) {
    Matrix f = 0.1 * random.normal_matrix(3, 40);
    f.colwise() += random.normal_matrix(3, 1).col(0);
    out.predictions.push_back(f.rowwise() + out.truth.transpose());
  }
  return out;
}

TEST(DecomposePredictions, ChanceIsCountedOverTheTrainingSets) {
  int n_rejected = 0, n_gains = 0;
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    const PredictionFacts facts = decompose_predictions(shocked(seed), {.n_bootstrap = 0, .n_folds = 5});
    EXPECT_EQ(facts.n_folds, 5);
    n_rejected += facts.alike.holds ? 0 : 1;
    const Part& gain = *named(facts, "optimal").gain_cv;
    n_gains += gain.value > 2.0 * *gain.standard_error ? 1 : 0;
  }
  // Over the points, which all share the shocks, every one of the 30 was rejected.
  EXPECT_LE(n_rejected, 5);
  EXPECT_LE(n_gains, 4);
  // One member that is three times worse is found out.
  Replicates worse = shocked(99);
  for (Matrix& f : worse.predictions) f.row(2) += 3.0 * (f.row(2) - worse.truth.transpose());
  const PredictionFacts facts = decompose_predictions(worse, {.n_bootstrap = 0});
  EXPECT_GT(named(facts, "optimal").gain_cv->value, 0.0);
  EXPECT_LT(named(facts, "optimal").weighting.weights[2], 0.2);
}

TEST(DecomposePredictions, OneMember) {
  const PredictionFacts facts = decompose_predictions(made(4, 1, 20));
  EXPECT_NEAR(facts.ambiguity.value, 0.0, 1e-16);
  EXPECT_FALSE(facts.hdi || facts.covariance);
  EXPECT_NEAR(facts.mse.value, facts.bias2->value + facts.variance->value, 1e-14);
  for (const FittedWeights& one : facts.weights) EXPECT_EQ(one.weighting.weights, Vector::Ones(1));
}

TEST(DecomposePredictions, IdenticalMembers) {
  Replicates all = made(1, 1, 20);
  all.predictions[0] = all.predictions[0].replicate(3, 1).eval();
  const PredictionFacts facts = decompose_predictions(all);
  EXPECT_NEAR(facts.hdi->value, 0.0, 1e-14);
  EXPECT_NEAR(facts.n_eff_2->value, 1.0, 1e-14);
  EXPECT_NEAR(facts.ambiguity.value, 0.0, 1e-16);
  EXPECT_TRUE(facts.alike.holds);
  EXPECT_EQ(named(facts, "optimal").weighting.status, WeightsStatus::singular);
  EXPECT_TRUE(named(facts, "optimal").weighting.weights.isApprox(Vector::Constant(3, 1.0 / 3.0), 1e-9));
}

TEST(DecomposePredictions, MembersWithoutErrorAndConstantTruth) {
  Replicates all = made(1, 2, 20);
  all.truth.setConstant(3.0);
  EXPECT_TRUE(std::isfinite(decompose_predictions(all).mse.value));
  all.predictions[0].row(0).setConstant(3.0);
  const PredictionFacts facts = decompose_predictions(all);
  EXPECT_FALSE(facts.correlation || facts.hdi || facts.n_eff_2);
  EXPECT_NEAR(named(facts, "optimal").weighting.weights[0], 1.0, 1e-12);
  EXPECT_NEAR(named(facts, "optimal").weighting.risk, 0.0, 1e-15);
}

TEST(DecomposePredictions, OnePointHasNoStandardErrorAndNoFolds) {
  const PredictionFacts facts = decompose_predictions(made(1, 3, 1));
  EXPECT_FALSE(facts.mse.standard_error.has_value());
  EXPECT_FALSE(facts.weights[0].risk_cv.has_value());
  EXPECT_EQ(facts.n_folds, 0);
  EXPECT_TRUE(std::isfinite(decompose_predictions(made(1, 3, 2)).weights[1].risk_cv.value()));
}

TEST(DecomposePredictions, RefusesWhatDoesNotFit) {
  const Replicates all = made(2, 3, 10);
  EXPECT_THROW(decompose_predictions({}), ArgumentError);
  EXPECT_THROW(decompose_predictions(all, {.n_bootstrap = 1}), ArgumentError);
  EXPECT_THROW(decompose_predictions(all, {.n_folds = 1}), ArgumentError);
  EXPECT_THROW(decompose_predictions(all, {.greatest_norm2 = 0.3}), ArgumentError);
  Replicates other = all;
  other.predictions[1] = Matrix::Ones(2, 10);
  EXPECT_THROW(decompose_predictions(other), ArgumentError);
  other = all;
  other.truth[3] = std::nan("");
  EXPECT_THROW(decompose_predictions(other), ArgumentError);
  other = all;
  other.predictions[0](1, 1) = 1e200;
  EXPECT_THROW(decompose_predictions(other), ArgumentError);
}

// The mean of equal doubles need not be that double: rounding must not pass for variance.
TEST(DecomposePredictions, AMemberThatNeverVariesHasNoCorrelation) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Replicates all = made(2 + static_cast<Index>(seed % 7), 4, 13, seed);
    for (Matrix& f : all.predictions) f.row(1) = all.predictions.front().row(1);
    const PredictionFacts facts = decompose_predictions(all, {.n_bootstrap = 0});
    EXPECT_FALSE(facts.correlation || facts.hdi || facts.n_eff_2) << seed;
    EXPECT_EQ(facts.uncorrelated, std::vector<Index>{1}) << seed;
  }
}

TEST(DecomposePredictions, ErrorsBeyondFourthPowersAreRefused) {
  for (const double unit : {1e-90, 1e90}) {
    Replicates all = made(1, 3, 20);
    all.truth *= unit;
    all.predictions[0] *= unit;
    EXPECT_THROW(decompose_predictions(all), ArgumentError) << unit;
  }
}

TEST(Ambiguity, PredictionsFarFromZeroKeepTheirDigits) {
  const Replicates all = made(1, 4, 50);
  const double offset = 1e9, unit = 0x1p-13;
  // Rounded to multiples of 2^-20, so that sums with the offset are exact.
  const auto moved = [&](const Matrix& m) {
    return Matrix((m * unit / 0x1p-20).array().round() * 0x1p-20 + offset);
  };
  const Matrix f = moved(all.predictions[0]), y = moved(all.truth);
  const Ambiguity far = ambiguity(f, y.col(0));
  const Ambiguity near = ambiguity(f.array() - offset, (y.array() - offset).matrix().col(0));
  EXPECT_NEAR(far.ensemble_error / near.ensemble_error, 1.0, 1e-13);
  EXPECT_NEAR(far.ambiguity / near.ambiguity, 1.0, 1e-13);
}

}  // namespace
}  // namespace headspan::ensemble
