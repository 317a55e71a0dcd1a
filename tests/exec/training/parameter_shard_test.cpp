// Every plan's shards tile the whole parameters; what is cut where.
#include "exec/training/parameter_shard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "core/lower/parameters.h"
#include "core/problem/problem.h"
#include "exec/training/parameter_run.h"
#include "tests/exec/training/tiny_models.h"

namespace tandem {
namespace {

using testing::Degrees;
using ::testing::ElementsAre;
using testing::Model;
using testing::plan_of;
using testing::shard_named;

constexpr RankId first{0}, second{1};

// How often each element of each whole parameter is held by one data-parallel replica.
std::map<std::string, std::vector<int>> holders(const Model& model, const Plan& plan, std::uint32_t replica) {
  std::map<std::string, std::vector<int>> held;
  for (std::uint32_t r = 0; r < plan.mesh.ranks(); ++r) {
    for (const ParameterShard& shard : parameter_shards(model.graph, plan, RankId(r))) {
      std::vector<int>& count = held[shard.name];
      count.resize(static_cast<std::size_t>(shard.whole.count()));
      if (!is_first_copy(plan, RankId(r), shard) || testing::replica_of(plan, RankId(r), shard) != replica)
        continue;
      for (const ParameterRun& run : parameter_runs(shard))
        for (std::int64_t i = 0; i < run.length && !run.padding; ++i)
          ++count[static_cast<std::size_t>(run.whole + i)];
    }
  }
  return held;
}

void expect_tiled(const Model& model, const Plan& plan, std::uint32_t replica, const std::string& what) {
  std::int64_t total = 0;
  for (const auto& [name, count] : holders(model, plan, replica)) {
    total += static_cast<std::int64_t>(count.size());
    EXPECT_THAT(count, ::testing::Each(1)) << name << " of " << model.graph.name() << ", " << what;
  }
  EXPECT_EQ(total, model.graph.total_parameters()) << model.graph.name() << ", " << what;
}

TEST(ParameterShards, TileEveryParameterOnce) {
  for (const Model& model : testing::tiny_models()) {
    for (const Degrees& degrees :
         {Degrees{}, Degrees{.tp = 2}, Degrees{.dp = 2, .pp = 2}, Degrees{.dp = 4, .ep = 2},
          Degrees{.tp = 2, .dp = 2, .pp = 2, .ep = 2}, Degrees{.tp = 2, .dp = 2, .ep = 4, .etp = 1},
          Degrees{.cp = 2, .dp = 2, .ep = 4}}) {
      const Plan plan = plan_of(model, degrees);
      expect_tiled(model, plan, 0, text(degrees));
    }
  }
}

TEST(ParameterShards, TileEveryParameterInEachReplica) {
  const Model model = testing::tiny_llama();
  const Plan plan = plan_of(model, {.tp = 2, .cp = 2, .dp = 2});
  for (std::uint32_t replica = 0; replica < 4; ++replica) expect_tiled(model, plan, replica, "one of four");
}

TEST(ParameterShards, TileEveryParameterOnceUnderSchedulesThatFoldThePipeline) {
  for (const ScheduleKind schedule :
       {ScheduleKind::ZeroBubbleV, ScheduleKind::DualPipe, ScheduleKind::Interleaved}) {
    PlanSpec spec;
    spec.schedule = schedule;
    if (schedule == ScheduleKind::Interleaved) spec.virtual_pipeline_model_parallel_size = 2;
    for (const Model& model : {testing::tiny_gpt(), testing::tiny_mixtral()})
      expect_tiled(model, plan_of(model, {.pp = 2}, spec), 0, std::string(name(schedule)));
  }
}

// Four query heads and two key-value heads of eight elements: rows 0-31 are q, 32-47 k, 48-63 v.
TEST(ParameterShards, OfAFusedProductHoldTheirOwnHeadsOfQueryKeyAndValue) {
  const Model model = testing::tiny_llama();
  const Plan plan = plan_of(model, {.tp = 2});
  EXPECT_THAT(shard_named(model, plan, first, "L0.attention.qkv.weight").rows,
              ElementsAre(IndexRange{0, 16}, IndexRange{32, 40}, IndexRange{48, 56}));
  EXPECT_THAT(shard_named(model, plan, second, "L0.attention.qkv.weight").rows,
              ElementsAre(IndexRange{16, 32}, IndexRange{40, 48}, IndexRange{56, 64}));
}

TEST(ParameterShards, OfABiasFollowTheirWeight) {
  const Model model = testing::tiny_gpt();
  const Plan plan = plan_of(model, {.tp = 2});
  const ParameterShard weight = shard_named(model, plan, second, "L1.attention.qkv.weight");
  const ParameterShard bias = shard_named(model, plan, second, "L1.attention.qkv.bias");
  EXPECT_EQ(bias.rows, weight.rows);
  EXPECT_EQ(bias.local(), (ParameterShape{1, 48, 1}));
  EXPECT_TRUE(bias.vector);
}

TEST(ParameterShards, OfAGatedProductHoldTheSamePartOfGateAndUp) {
  const Model model = testing::tiny_llama();
  const Plan plan = plan_of(model, {.tp = 2});
  EXPECT_THAT(shard_named(model, plan, second, "L0.mlp.up.weight").rows,
              ElementsAre(IndexRange{24, 48}, IndexRange{72, 96}));
  EXPECT_EQ(shard_named(model, plan, second, "L0.mlp.down.weight").columns, (IndexRange{24, 48}));
}

TEST(ParameterShards, OfCrossAttentionHoldTheirHeadsOfKeyAndValue) {
  const Model model = testing::tiny_t5();
  const Plan plan = plan_of(model, {.tp = 2});
  EXPECT_THAT(shard_named(model, plan, second, "L0.cross.kv.weight").rows,
              ElementsAre(IndexRange{16, 32}, IndexRange{48, 64}));
}

TEST(ParameterShards, OfRelativeBiasesHoldTheColumnsOfTheirHeads) {
  const Model model = testing::tiny_t5();
  const Plan plan = plan_of(model, {.tp = 2});
  const ParameterShard shard = shard_named(model, plan, second, "E0.attention.core.relative_bias");
  EXPECT_EQ(shard.whole, (ParameterShape{1, 32, 4}));
  EXPECT_EQ(shard.columns, (IndexRange{2, 4}));
}

TEST(ParameterShards, OfARowSplitProductShareItsBias) {
  const Model model = testing::tiny_gpt();
  const Plan plan = plan_of(model, {.tp = 2});
  EXPECT_EQ(shard_named(model, plan, second, "L0.attention.out.weight").columns, (IndexRange{16, 32}));
  const ParameterShard bias = shard_named(model, plan, second, "L0.attention.out.bias");
  EXPECT_EQ(bias.local(), (ParameterShape{1, 32, 1}));
  EXPECT_TRUE(bias.replicated);
  EXPECT_FALSE(is_first_copy(plan, second, bias));
}

TEST(ParameterShards, OfAVocabularyReachIntoItsPadding) {
  const Model model = testing::tiny_gpt();
  const Plan plan = plan_of(model, {.tp = 2});
  const ParameterShard shard = shard_named(model, plan, second, "embedding.word.weight");
  EXPECT_EQ(shard.whole.rows, 50);
  EXPECT_THAT(shard.rows, ElementsAre(IndexRange{32, 64}));
}

TEST(ParameterShards, OfExpertsAreCutByExpertAndByWidth) {
  const Model model = testing::tiny_mixtral();
  const Plan plan = plan_of(model, {.tp = 2, .dp = 2, .ep = 2, .etp = 2});
  const RankId last{3};
  const ParameterShard up = shard_named(model, plan, last, "L0.moe.up.weight");
  EXPECT_EQ(up.whole, (ParameterShape{4, 96, 32}));
  EXPECT_EQ(up.experts, (IndexRange{2, 4}));
  EXPECT_THAT(up.rows, ElementsAre(IndexRange{24, 48}, IndexRange{72, 96}));
  EXPECT_EQ(shard_named(model, plan, last, "L0.moe.down.weight").columns, (IndexRange{24, 48}));
  EXPECT_TRUE(up.expert);
  EXPECT_FALSE(shard_named(model, plan, last, "L0.moe.router.weight").expert);
}

TEST(ParameterShards, OfATiedHeadAreACopyOnlyWhereTheTableIsNot) {
  const Model model = testing::tiny_gpt();
  const OperatorId head(model.graph.size() - 2);  // the logits, before the loss
  ASSERT_EQ(model.graph[head].name, "head.logits");
  EXPECT_TRUE(parameter_shards(model.graph, plan_of(model, {}), head, first).empty());
  const Plan plan = plan_of(model, {.pp = 2});
  EXPECT_TRUE(parameter_shards(model.graph, plan, head, first).empty());
  const std::vector<ParameterShard> copy = parameter_shards(model.graph, plan, head, second);
  ASSERT_EQ(copy.size(), 1u);
  EXPECT_EQ(copy[0].name, "embedding.word.weight");
  EXPECT_EQ(copy[0].op, head);
  EXPECT_TRUE(copy[0].tied_copy);
  EXPECT_EQ(tied_owner(model.graph, head), OperatorId(0));
}

TEST(ParameterShards, OfStagesAreTheirOwnLayersAlone) {
  const Model model = testing::tiny_llama();
  const Plan plan = plan_of(model, {.pp = 2});
  for (const ParameterShard& shard : parameter_shards(model.graph, plan, second))
    EXPECT_TRUE(shard.name.starts_with("L2.") || shard.name.starts_with("L3.") ||
                shard.name.starts_with("head."))
        << shard.name;
}

// What a rank holds is what the lowered graph has counted for it.
TEST(ParameterShards, HaveAsManyElementsAsTheGraphCounts) {
  for (const Model& model : testing::tiny_models()) {
    for (const Degrees& degrees : {Degrees{}, Degrees{.tp = 2, .dp = 2, .pp = 2, .ep = 2},
                                   Degrees{.tp = 2, .dp = 2, .ep = 4, .etp = 1}}) {
      const Plan plan = plan_of(model, degrees);
      const Shard shares(model.graph, plan);
      for (std::uint32_t r = 0; r < plan.mesh.ranks(); ++r) {
        const bool embeds = stage_holds(model.graph, plan, OperatorId(0), RankId(r));
        for (std::uint32_t o = 0; o < model.graph.size(); ++o) {
          if (!stage_holds(model.graph, plan, OperatorId(o), RankId(r))) continue;
          std::int64_t dense = 0, expert = 0;
          for (const ParameterShard& shard : parameter_shards(model.graph, plan, OperatorId(o), RankId(r)))
            (shard.expert ? expert : dense) += shard.local().count();
          const ParameterCount counted = parameters_of(model.graph, shares, OperatorId(o), embeds);
          EXPECT_EQ(dense, counted.dense) << model.graph[OperatorId(o)].name << ", " << text(degrees);
          EXPECT_EQ(expert, counted.expert) << model.graph[OperatorId(o)].name << ", " << text(degrees);
        }
      }
    }
  }
}

TEST(ParameterShards, CannotHoldCopiesOfKeyValueHeads) {
  const Model model = testing::tiny_llama();
  EXPECT_TRUE(check_parameter_shards(model.graph, plan_of(model, {.tp = 2})).empty());
  const std::vector<Problem> problems = check_parameter_shards(model.graph, plan_of(model, {.tp = 4}));
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_THAT(problems[0].what, ::testing::HasSubstr("tensor_model_parallel_size = 4"));
  EXPECT_EQ(problems[0].hint, "use at most 2");
}

}  // namespace
}  // namespace tandem
