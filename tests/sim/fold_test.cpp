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

using testing::pipeline_graph;
using testing::PipelineShape;
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
  result.shape = {.tp = pick(1, 2, 4), .pp = pick(1, 2, 4), .dp = pick(2, 4), .microbatches = static_cast<std::uint32_t>(pick(2, 3, 6)),
                  .layers = static_cast<std::uint32_t>(pick(1, 2)), .buckets = 2, .message_bytes = pick(1e5, 4e6, 3e7),
                  .bucket_bytes = pick(1e6, 4e7, 3e8), .host = pick(0.0, 1e-4), .overlap = pick(true, false), .seed = seed};
  result.machine = {.devices = static_cast<std::uint32_t>(result.shape.tp * result.shape.pp * result.shape.dp),
                    .devices_per_node = static_cast<std::uint32_t>(pick(2, 4, 8)), .nodes_per_leaf = static_cast<std::uint32_t>(pick(1, 2)),
                    .oversubscription = pick(1.0, 2.0, 8.0), .overlap = pick(1.0, 1.2), .slow = {}};
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
      ASSERT_NEAR(folded.ranks[r].tasks[t].end.value, full.ranks[r].tasks[t].end.value, 1e-9 * full.step_time.value)
          << "rank " << r << " task " << t;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomPlan, ::testing::Range<std::uint64_t>(1, 31));

TEST(Fold, SymmetricPlanHasOneClassAStage) {
  const TaskGraph graph = pipeline_graph({.tp = 8, .pp = 4, .dp = 16});
  const SyntheticCosts costs({.devices = 512, .nodes_per_leaf = 64, .slow = {}});
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
  const TaskGraph graph = pipeline_graph({.tp = 4, .pp = 2, .dp = 1, .message_bytes = 0});
  const SyntheticCosts costs({.devices = 16, .slow = {}});
  PlayOptions options = at(Fidelity::Full);
  options.jitter = 0.05;
  const double full = simulate_in_child(graph, costs, options).step_time.value;
  options.fidelity = Fidelity::Folded;
  const Playback folded = simulate_in_child(graph, costs, options);
  EXPECT_NE(folded.remark, "");
  EXPECT_EQ(folded.rank_classes, 2u);
  EXPECT_NEAR(folded.step_time.value, full, 1e-9 * full);
}

}  // namespace
}  // namespace tandem
