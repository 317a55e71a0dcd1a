// Runs, single indices and the shard they belong to agree.
#include "exec/training/parameter_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/exec/training/tiny_models.h"

namespace tandem {
namespace {

using ::testing::ElementsAre;
using testing::plan_of;
using testing::shard_named;

std::int64_t flat(const ParameterShard& shard, const ParameterIndex& at) {
  return (at.expert * shard.whole.rows + at.row) * shard.whole.columns + at.column;
}

TEST(ParameterRuns, OfAWholeParameterAreOne) {
  const testing::Model model = testing::tiny_llama();
  const ParameterShard shard = shard_named(model, plan_of(model, {}), RankId(0), "L0.mlp.up.weight");
  EXPECT_THAT(parameter_runs(shard), ElementsAre(ParameterRun{0, 0, 96 * 32, false}));
}

TEST(ParameterRuns, OfSplitColumnsAreRowByRow) {
  const testing::Model model = testing::tiny_llama();
  const ParameterShard shard = shard_named(model, plan_of(model, {.tp = 2}), RankId(1), "L0.mlp.down.weight");
  EXPECT_THAT(parameter_runs(shard, 12, 50),
              ElementsAre(ParameterRun{12, 36, 12, false}, ParameterRun{24, 72, 24, false},
                          ParameterRun{48, 120, 2, false}));
}

TEST(ParameterRuns, EndWithThePaddingOfTheVocabulary) {
  const testing::Model model = testing::tiny_gpt();
  const ParameterShard shard = shard_named(model, plan_of(model, {}), RankId(0), "embedding.word.weight");
  EXPECT_THAT(parameter_runs(shard),
              ElementsAre(ParameterRun{0, 0, 50 * 32, false}, ParameterRun{50 * 32, 0, 6 * 32, true}));
}

TEST(ParameterRuns, AgreeWithTheIndexOfEachElement) {
  for (const testing::Model& model : {testing::tiny_llama(), testing::tiny_mixtral()}) {
    const Plan plan = plan_of(model, {.tp = 2, .dp = 2, .ep = 2, .etp = 2});
    for (const ParameterShard& shard : parameter_shards(model.graph, plan, RankId(3))) {
      std::int64_t next = 0;
      for (const ParameterRun& run : parameter_runs(shard)) {
        ASSERT_EQ(run.local, next) << shard.name;
        next += run.length;
        for (std::int64_t i = 0; i < run.length && !run.padding; ++i)
          ASSERT_EQ(flat(shard, whole_index(shard, run.local + i)), run.whole + i) << shard.name;
      }
      EXPECT_EQ(next, shard.local().count()) << shard.name;
    }
  }
}

TEST(ParameterIndices, GoToTheWholeAndBack) {
  const testing::Model model = testing::tiny_mixtral();
  const Plan plan = plan_of(model, {.tp = 2, .dp = 2, .ep = 2, .etp = 2});
  for (const ParameterShard& shard : parameter_shards(model.graph, plan, RankId(3)))
    for (std::int64_t local = 0; local < shard.local().count(); ++local)
      ASSERT_EQ(local_index(shard, whole_index(shard, local)), local) << shard.name;
}

TEST(ParameterIndices, OfOtherRanksAreNotHere) {
  const testing::Model model = testing::tiny_llama();
  const ParameterShard shard = shard_named(model, plan_of(model, {.tp = 2}), RankId(1), "L0.mlp.up.weight");
  EXPECT_EQ(local_index(shard, {0, 23, 0}), std::nullopt);
  EXPECT_EQ(local_index(shard, {0, 24, 5}), 5);
  EXPECT_EQ(local_index(shard, {0, 72, 0}), 24 * 32);
}

}  // namespace
}  // namespace tandem
