// Statistics of deviations, by hand.
#include "core/validate/deviation.h"

#include <gtest/gtest.h>

#include "core/validate/regret.h"

namespace tandem {
namespace {

TEST(Deviations, OfThreeRowsByHand) {
  const std::vector<Pair> pairs = {{1.1, 1.0}, {1.8, 2.0}, {4.8, 4.0}};  // +10, -10, +20 per cent
  const Deviations d = deviations(pairs);
  EXPECT_EQ(d.rows, 3u);
  EXPECT_NEAR(d.median_abs, 0.10, 1e-12);
  EXPECT_NEAR(d.mean_abs, 0.4 / 3, 1e-12);
  EXPECT_NEAR(d.bias, 0.10, 1e-12);
  EXPECT_NEAR(d.p90_abs, 0.18, 1e-12);
  ASSERT_TRUE(d.rank_correlation);
  EXPECT_NEAR(*d.rank_correlation, 1, 1e-12);
}

TEST(Deviations, OfNoRowsAreZero) { EXPECT_EQ(deviations({}).rows, 0u); }

TEST(RankCorrelation, OfTheOppositeOrderIsMinusOne) {
  const std::vector<Pair> pairs = {{3, 1}, {2, 2}, {1, 3}};
  EXPECT_NEAR(*rank_correlation(pairs), -1, 1e-12);
}

TEST(RankCorrelation, EqualValuesShareTheirMeanRank) {
  const std::vector<Pair> pairs = {{1, 1}, {1, 2}, {2, 3}};
  EXPECT_NEAR(*rank_correlation(pairs), 0.8660254, 1e-6);
}

TEST(RankCorrelation, IsAbsentForFewRowsAndForEqualOnes) {
  EXPECT_FALSE(rank_correlation(std::vector<Pair>{{1, 1}, {2, 2}}));
  EXPECT_FALSE(rank_correlation(std::vector<Pair>{{1, 1}, {1, 2}, {1, 3}}));
}

TEST(Regret, IsWhatThePlanRankedFirstLosesAgainstTheBest) {
  const std::vector<RankedPlan> plans = {{"a", {1, 12}}, {"a", {2, 10}}, {"a", {3, 11}}, {"a", {4, 20}}};
  const Regret r = regret(plans);
  EXPECT_EQ(r.groups, 1u);
  EXPECT_NEAR(r.first, 0.2, 1e-12);
  EXPECT_NEAR(r.best_of_three, 0, 1e-12);
}

TEST(Regret, LeavesOutGroupsOfLessThanThreePlans) {
  EXPECT_EQ(regret(std::vector<RankedPlan>{{"a", {1, 1}}, {"a", {2, 2}}, {"b", {1, 1}}}).groups, 0u);
}

TEST(Regret, GainsNothingFromTheOrderOfRowsWhenPredictionsAreEqual) {
  std::vector<RankedPlan> sorted, reversed;
  for (int group = 0; group < 50; ++group)
    for (int plan = 0; plan < 10; ++plan) sorted.push_back({"g" + std::to_string(group), {1, 1.0 + plan}});
  reversed.assign(sorted.rbegin(), sorted.rend());
  EXPECT_GT(regret(sorted).first, 2);
  EXPECT_EQ(regret(sorted).first, regret(reversed).first);
}

}  // namespace
}  // namespace tandem
