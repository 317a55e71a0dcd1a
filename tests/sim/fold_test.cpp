// Folded simulations against simulations of every device, and what may not be folded.
#include <gtest/gtest.h>

#include <random>

#include "core/estimate/fold.h"
#include "core/estimate/play.h"
#include "sim/simulate_costs.h"
#include "tests/support/graph_builder.h"
#include "tests/support/synthetic_costs.h"

namespace tandem {
namespace {

using testing::GraphBuilder;
using testing::pipeline_graph;
using testing::PipelineShape;
using testing::seconds_of_work;
using testing::SyntheticCosts;
using testing::SyntheticMachine;

PlayOptions at(Fidelity fidelity) {
  PlayOptions options;
  options.fidelity = fidelity;
  return options;
}

struct Case {
  PipelineShape shape;
  SyntheticMachine machine;
};

// Meshes of 4 to 64 ranks on nodes of 2 to 8 devices, fabrics up to eight-fold oversubscribed.
Case random_case(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto pick = [&](auto... choices) {
    const std::array list{choices...};
    return list[random() % list.size()];
  };
  Case result;
  result.shape = {.tp = pick(1, 2, 4),
                  .pp = pick(1, 2, 4),
                  .dp = pick(2, 4),
                  .microbatches = static_cast<std::uint32_t>(pick(2, 3, 6)),
                  .layers = static_cast<std::uint32_t>(pick(1, 2)),
                  .buckets = 2,
                  .message_bytes = pick(1e5, 4e6, 3e7),
                  .bucket_bytes = pick(1e6, 4e7, 3e8),
                  .host = pick(0.0, 1e-4),
                  .overlap = pick(true, false),
                  .seed = seed};
  result.machine = {.devices = static_cast<std::uint32_t>(result.shape.tp * result.shape.pp * result.shape.dp),
                    .devices_per_node = static_cast<std::uint32_t>(pick(2, 4, 8)),
                    .nodes_per_leaf = static_cast<std::uint32_t>(pick(1, 2)),
                    .oversubscription = pick(1.0, 2.0, 8.0),
                    .overlap = pick(1.0, 1.2)};
  return result;
}

class RandomPlan : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(RandomPlan, FoldedEqualsFull) {
  const Case c = random_case(GetParam());
  const TaskGraph graph = pipeline_graph(c.shape);
  const SyntheticCosts costs(c.machine);
  const Playback full = simulate_in_child(graph, costs, at(Fidelity::Full));
  const Playback folded = simulate_in_child(graph, costs, at(Fidelity::Folded));
  EXPECT_NEAR(folded.step_time.value, full.step_time.value, 1e-9 * full.step_time.value);
  EXPECT_LE(folded.rank_classes, full.rank_classes);
  const Playback replicas = simulate_in_child(graph, costs, at(Fidelity::Replicas));
  EXPECT_NEAR(replicas.step_time.value, full.step_time.value, 1e-9 * full.step_time.value);
}

TEST_P(RandomPlan, StragglerSplitsClassesAndStillEqualsFull) {
  Case c = random_case(GetParam());
  c.machine.slow[c.machine.devices - 1] = 1.3;
  const TaskGraph graph = pipeline_graph(c.shape);
  const SyntheticCosts costs(c.machine);
  const Playback full = simulate_in_child(graph, costs, at(Fidelity::Full));
  const Playback folded = simulate_in_child(graph, costs, at(Fidelity::Folded));
  EXPECT_NEAR(folded.step_time.value, full.step_time.value, 1e-9 * full.step_time.value);
  EXPECT_GT(folded.rank_classes, static_cast<std::size_t>(c.shape.pp));
}

TEST_P(RandomPlan, RecordedTimesOfEveryRankEqualFull) {
  const Case c = random_case(GetParam());
  const TaskGraph graph = pipeline_graph(c.shape);
  const SyntheticCosts costs(c.machine);
  PlayOptions options = at(Fidelity::Full);
  for (std::uint32_t r = 0; r < c.machine.devices; ++r) options.recorded.push_back(RankId(r));
  const Playback full = simulate_in_child(graph, costs, options);
  options.fidelity = Fidelity::Folded;
  const Playback folded = simulate_in_child(graph, costs, options);
  ASSERT_EQ(folded.ranks.size(), full.ranks.size());
  for (std::size_t r = 0; r < full.ranks.size(); ++r) {
    for (std::size_t t = 0; t < full.ranks[r].tasks.size(); ++t) {
      ASSERT_NEAR(folded.ranks[r].tasks[t].end.value, full.ranks[r].tasks[t].end.value,
                  1e-9 * full.step_time.value)
          << "rank " << r << " task " << t;
    }
  }
}

TEST_P(RandomPlan, JoinedRunsKeepEveryTime) {
  Case c = random_case(GetParam());
  if (GetParam() % 3 == 0) c.machine.slow[0] = 1.4;
  const TaskGraph graph = pipeline_graph(c.shape);
  const SyntheticCosts costs(c.machine);
  const Playback replicas = simulate_in_child(graph, costs, at(Fidelity::Replicas));
  const Playback fused = simulate_in_child(graph, costs, at(Fidelity::Fused));
  EXPECT_LE(fused.tasks_played, replicas.tasks_played);
  for (std::size_t r = 0; r < replicas.ranks.size(); ++r) {
    for (std::size_t t = 0; t < replicas.ranks[r].tasks.size(); ++t) {
      ASSERT_NEAR(fused.ranks[r].tasks[t].start.value, replicas.ranks[r].tasks[t].start.value,
                  1e-9 * replicas.step_time.value)
          << "rank " << r << " task " << t;
      ASSERT_NEAR(fused.ranks[r].tasks[t].end.value, replicas.ranks[r].tasks[t].end.value,
                  1e-9 * replicas.step_time.value);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomPlan, ::testing::Range<std::uint64_t>(1, 31));

TEST(Fold, SymmetricPlanHasOneClassAStage) {
  const TaskGraph graph = pipeline_graph({.tp = 8, .pp = 4, .dp = 16});
  const SyntheticCosts costs({.devices = 512, .nodes_per_leaf = 64});
  const Traffic traffic = find_traffic(graph, costs, true);
  EXPECT_EQ(fold(graph, costs, traffic, FoldStart::Alike).ranks, 4u);
  EXPECT_EQ(fold(graph, costs, traffic, FoldStart::TensorGroups).ranks, 64u);
}

TEST(Fold, StragglerKeepsItsPipelineAndItsPeersApart) {
  const TaskGraph graph = pipeline_graph({.tp = 2, .pp = 2, .dp = 4});
  const SyntheticCosts costs({.devices = 16, .nodes_per_leaf = 64, .slow = {{0, 1.5}}});
  const Traffic traffic = find_traffic(graph, costs, true);
  EXPECT_GT(fold(graph, costs, traffic, FoldStart::Alike).ranks, 4u);
}

TEST(Fold, JitterOfTensorPeersIsTheLargestDraw) {
  GraphBuilder builder({.tp = 4, .dp = 2, .edp = 8});
  const ProgramId p = builder.add_program();
  std::vector<std::uint32_t> after;
  for (int i = 0; i < 10; ++i) {
    Collective reduce;
    reduce.axis = Axis::Tensor;
    reduce.size = Bytes(1e6);
    after = {
        builder.add(p, Lane::Tensor, reduce, {builder.add(p, Lane::Compute, seconds_of_work(0.1), after)})};
  }
  const SyntheticCosts costs({.devices = 8});
  PlayOptions options = at(Fidelity::Full);
  options.jitter = 0.05;
  const double full = simulate_in_child(builder.graph(), costs, options).step_time.value;
  options.fidelity = Fidelity::Folded;
  const Playback folded = simulate_in_child(builder.graph(), costs, options);
  EXPECT_NE(folded.remark, "");
  EXPECT_EQ(folded.rank_classes, 2u);
  EXPECT_NEAR(folded.step_time.value, full, 1e-9 * full);
}

// Four senders leave through one uplink: one flow of a quarter of it.
TEST(Fold, EqualFlowsOfOneLinkAreWeighed) {
  GraphBuilder builder({.dp = 4, .pp = 2, .edp = 4});
  const ProgramId sender = builder.add_program(), receiver = builder.add_program();
  builder.add(sender, Lane::SendNext, Send{Axis::Pipeline, 1, Bytes(50e9)}, {}, 0);
  builder.add(receiver, Lane::ReceivePrevious, Receive{Axis::Pipeline, 0, Bytes(50e9)}, {}, 0);
  for (std::uint32_t r = 0; r < 8; ++r)
    builder.assign(RankId(r), builder.mesh().stage(RankId(r)) == 0 ? sender : receiver);
  const SyntheticCosts costs(
      {.devices = 8, .devices_per_node = 4, .nodes_per_leaf = 1, .oversubscription = 2, .latency = 0});
  const Playback playback = simulate_in_child(builder.graph(), costs, at(Fidelity::Folded));
  EXPECT_EQ(playback.rank_classes, 2u);
  EXPECT_EQ(playback.flows_played, 1u);
  EXPECT_NEAR(playback.step_time.value, 2, 1e-9);  // four ports' bytes over half of their rate
}

// Two data-parallel rings cross the uplinks that four pipelines also cross: their weights differ, and so do the
// shares.
TEST(Fold, UnequalWeightsKeepTheirRatio) {
  const TaskGraph graph =
      pipeline_graph({.tp = 2, .pp = 2, .dp = 4, .message_bytes = 3e7, .bucket_bytes = 3e8});
  const SyntheticCosts costs(
      {.devices = 16, .devices_per_node = 2, .nodes_per_leaf = 2, .oversubscription = 8});
  Traffic traffic = find_traffic(graph, costs, true);
  drop_private_links(graph, costs, traffic);
  EXPECT_GT(
      build_play_graph(graph, costs, traffic, fold(graph, costs, traffic, FoldStart::Alike), {}).largest_weight,
      1u);
  const Playback full = simulate_in_child(graph, costs, at(Fidelity::Full));
  const Playback folded = simulate_in_child(graph, costs, at(Fidelity::Folded));
  EXPECT_LT(folded.rank_classes, full.rank_classes);
  EXPECT_NEAR(folded.step_time.value, full.step_time.value, 1e-9 * full.step_time.value);
}

}  // namespace
}  // namespace tandem
