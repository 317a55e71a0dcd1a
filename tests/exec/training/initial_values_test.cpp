// All plans start from the same whole parameters, which are as GPT-2 and Megatron have them.
#include "exec/training/initial_values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "exec/training/parameter_run.h"
#include "tests/exec/training/tiny_models.h"

namespace tandem {
namespace {

using testing::Model;
using testing::plan_of;
using testing::shard_named;

std::vector<float> initial(const Model& model, const ParameterShard& shard, std::uint64_t seed) {
  std::vector<float> values(static_cast<std::size_t>(shard.local().count()));
  initialize(values, shard, initial_rule(model.graph, shard), seed);
  return values;
}

// The whole parameters, put together from all ranks' shards.
std::map<std::string, std::vector<float>> assembled(const Model& model, const Plan& plan) {
  std::map<std::string, std::vector<float>> whole;
  for (std::uint32_t r = 0; r < plan.mesh.ranks(); ++r) {
    for (const ParameterShard& shard : parameter_shards(model.graph, plan, RankId(r))) {
      const std::vector<float> local = initial(model, shard, 5);
      std::vector<float>& values = whole[shard.name];
      values.resize(static_cast<std::size_t>(shard.whole.count()));
      for (const ParameterRun& run : parameter_runs(shard))
        for (std::int64_t i = 0; i < run.length && !run.padding; ++i)
          values[static_cast<std::size_t>(run.whole + i)] = local[static_cast<std::size_t>(run.local + i)];
    }
  }
  return whole;
}

TEST(InitialValues, AreTheSameUnderEveryPlan) {
  for (const Model& model : testing::tiny_models()) {
    const auto alone = assembled(model, plan_of(model, {}));
    EXPECT_EQ(assembled(model, plan_of(model, {.tp = 2, .dp = 2, .ep = 2})), alone) << model.graph.name();
    EXPECT_EQ(assembled(model, plan_of(model, {.dp = 2, .pp = 2, .ep = 2})), alone) << model.graph.name();
  }
}

TEST(InitialValues, OfARangeAreThoseOfTheWholeShard) {
  const Model model = testing::tiny_llama();
  const ParameterShard shard = shard_named(model, plan_of(model, {.tp = 2}), RankId(1), "L1.mlp.down.weight");
  const std::vector<float> all = initial(model, shard, 5);
  for (const std::int64_t begin : {0, 1, 7, 100}) {
    std::vector<float> part(333);
    initialize(part, shard, initial_rule(model.graph, shard), 5, begin);
    EXPECT_TRUE(std::equal(part.begin(), part.end(), all.begin() + begin)) << begin;
  }
}

TEST(InitialValues, AreStandardNormalUpToTheRule) {
  const ParameterShard shard = {.op = {},
                                .name = "any",
                                .whole = {1, 1000, 1000},
                                .experts = {0, 1},
                                .rows = {{0, 1000}},
                                .columns = {0, 1000}};
  std::vector<float> values(1'000'000);
  initialize(values, shard, {.mean = 0, .deviation = 1}, 11);
  double mean = 0, square = 0, fourth = 0, neighbours = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double x = values[i];
    mean += x / 1e6;
    square += x * x / 1e6;
    fourth += x * x * x * x / 1e6;
    neighbours += x * values[i ^ 1] / 1e6;
  }
  EXPECT_NEAR(mean, 0, 0.005);
  EXPECT_NEAR(square, 1, 0.007);
  EXPECT_NEAR(fourth, 3, 0.05);
  EXPECT_NEAR(neighbours, 0, 0.005);
}

TEST(InitialValues, DifferBySeedAndByParameter) {
  const Model model = testing::tiny_llama();
  const Plan plan = plan_of(model, {});
  const ParameterShard a = shard_named(model, plan, RankId(0), "L0.mlp.up.weight");
  const ParameterShard b = shard_named(model, plan, RankId(0), "L1.mlp.up.weight");
  EXPECT_NE(initial(model, a, 1), initial(model, a, 2));
  EXPECT_NE(initial(model, a, 1), initial(model, b, 1));
}

TEST(InitialValues, OfVocabularyPaddingAreZero) {
  const Model model = testing::tiny_gpt();
  const std::vector<float> table =
      initial(model, shard_named(model, plan_of(model, {}), RankId(0), "embedding.word.weight"), 5);
  EXPECT_THAT(std::vector<float>(table.begin() + 50 * 32, table.end()), ::testing::Each(0.0f));
}

TEST(InitialRules, AreThoseOfGpt2) {
  const Model model = testing::tiny_gpt();
  const Plan plan = plan_of(model, {});
  const auto rule = [&](const std::string& name) {
    return initial_rule(model.graph, shard_named(model, plan, RankId(0), name));
  };
  EXPECT_EQ(rule("L0.attention.qkv.weight"), (InitialRule{0, 0.02f}));
  EXPECT_EQ(rule("L0.mlp.up.bias"), (InitialRule{0, 0}));
  EXPECT_EQ(rule("L0.mlp.norm.weight"), (InitialRule{1, 0}));
  EXPECT_EQ(rule("L0.mlp.norm.bias"), (InitialRule{0, 0}));
  // Four layers with two residual sums each.
  EXPECT_EQ(rule("L0.mlp.down.weight"), (InitialRule{0, 0.02f / std::sqrt(8.0f)}));
  EXPECT_EQ(rule("L3.attention.out.weight"), (InitialRule{0, 0.02f / std::sqrt(8.0f)}));
}

TEST(InitialRules, OfATiedCopyAreTheTables) {
  const Model model = testing::tiny_gpt();
  const ParameterShard copy = shard_named(model, plan_of(model, {.pp = 2}), RankId(1), "embedding.word.weight");
  ASSERT_TRUE(copy.tied_copy);
  EXPECT_EQ(initial_rule(model.graph, copy), (InitialRule{0, 0.02f}));
}

}  // namespace
}  // namespace tandem
