#include "headspan/experiments/colony.h"

#include <gtest/gtest.h>

#include <cmath>

#include "experiments/colony_search.h"
#include "headspan/numeric/error.h"
#include "headspan/numeric/parallel.h"

namespace headspan::experiments {
namespace {

TEST(Search, PureExplorationVisitsEverySiteAlike) {
  ColonyOptions options;
  options.n_scouts = 50;
  options.n_steps = 400;
  RandomStream random(1, 0);
  const SearchEnd end = search(options, 1.0, random);
  EXPECT_EQ(end.n_steps, 400);
  EXPECT_EQ(end.weight.sum(), 50.0 * 400.0);
  // 1000 visits expected of each of 20 sites, standard deviation 31.
  EXPECT_NEAR(end.weight.colwise().sum().minCoeff(), 1000.0, 160.0);
  EXPECT_NEAR(end.weight.colwise().sum().maxCoeff(), 1000.0, 160.0);
}

TEST(Search, UnvisitedSitesHaveNoWeight) {
  ColonyOptions options;
  options.n_steps = 3;
  RandomStream random(1, 0);
  const SearchEnd end = search(options, 0.5, random);
  for (Index scout = 0; scout < options.n_scouts; ++scout)
    EXPECT_LE((end.weight.row(scout).array() > 0.0).count(), 3);
}

TEST(Search, FollowersGatherAtBetterSites) {
  ColonyOptions options;
  options.n_steps = 100;
  options.noise_sd = 0.1;
  for (const ColonyRule rule : {ColonyRule::pheromone, ColonyRule::thompson}) {
    options.rule = rule;
    options.sharing = 0.0;
    RandomStream random(2, 0);
    const Vector visits = search(options, 0.1, random).weight.colwise().sum();
    EXPECT_GT(visits.tail(5).sum(), 2.0 * visits.head(5).sum());
  }
}

TEST(Search, AQuorumEndsIt) {
  ColonyOptions options;
  options.n_steps = 1000;
  options.quorum = 0.3;
  RandomStream random(2, 0);
  EXPECT_LT(search(options, 0.05, random).n_steps, 1000);
}

ColonyOptions task(Index n_sites, Index n_steps) {
  ColonyOptions options;
  options.n_sites = n_sites;
  options.n_steps = n_steps;
  options.exploration = {0.05, 1.0};
  options.n_replicates = 150;
  return options;
}

TEST(Colony, CorrelationFallsWithExplorationWhenTheTaskIsHardAndTimeShort) {
  for (const Index size : {20, 50}) {
    const ColonyFacts facts = simulate_colony(task(size, size));
    EXPECT_EQ(facts.trend.direction, -1);
    EXPECT_EQ(facts.estimate_trend.direction, -1);
    // Without followers there is nothing in common.
    const Part& rho = facts.rows[1].law.rho;
    EXPECT_NEAR(rho.value, 0.0, 4.0 * *rho.standard_error);
    EXPECT_LT(facts.rows[0].visited, 1.0);
  }
}

TEST(Colony, OnAnEasyTaskEstimatesRiseAndErrorsDoNot) {
  const ColonyFacts facts = simulate_colony(task(5, 100));
  EXPECT_EQ(facts.estimate_trend.direction, 1);
  EXPECT_NE(facts.trend.direction, 1);
}

TEST(Colony, ErrorsAreUncorrelatedWhereScoutsLearnFromThemselvesAlone) {
  ColonyOptions options = task(20, 20);
  options.sharing = 0.0;
  const ColonyFacts facts = simulate_colony(options);
  for (const ColonyRow& row : facts.rows) {
    EXPECT_NEAR(row.law.rho.value, 0.0, 4.0 * *row.law.rho.standard_error + 0.003);
    EXPECT_NEAR(row.law.law.value, row.law.ensemble_variance.value, 0.15 * row.law.law.value);
  }
}

TEST(Colony, KeepsTheSeedOnAnyNumberOfThreads) {
  ColonyOptions options = task(5, 10);
  options.n_replicates = 20;
  const ThreadLimit one(1);
  const double alone = simulate_colony(options).rows[0].law.v.value;
  const ThreadLimit many(4);
  EXPECT_EQ(simulate_colony(options).rows[0].law.v.value, alone);
}

TEST(Colony, RefusesWhatHasNoMeaning) {
  ColonyOptions options;
  options.exploration = {1.2};
  EXPECT_THROW(simulate_colony(options), ArgumentError);
  options.exploration = {0.5};
  options.noise_sd = 0.0;
  EXPECT_THROW(simulate_colony(options), ArgumentError);
  options.noise_sd = 1.0;
  options.n_scouts = 1;
  EXPECT_THROW(simulate_colony(options), ArgumentError);
}

}  // namespace
}  // namespace headspan::experiments
