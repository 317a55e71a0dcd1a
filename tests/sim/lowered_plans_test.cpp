// Random plans, lowered and costed for real, on fabrics with and without oversubscription: every fidelity
// agrees.
#include <gtest/gtest.h>

#include <random>

#include "core/cluster/catalog.h"
#include "core/cost/calibration.h"
#include "core/cost/cost_model.h"
#include "core/lower/lower.h"
#include "core/problem/problem.h"
#include "sim/simulate.h"
#include "tests/support/small_models.h"

namespace tandem {
namespace {

template <class T>
T pick(std::mt19937& random, std::initializer_list<T> values) {
  return *(values.begin() + std::uniform_int_distribution<std::size_t>(0, values.size() - 1)(random));
}

PlanSpec random_plan(std::mt19937& random) {
  PlanSpec spec;
  spec.tensor_model_parallel_size = pick<std::int64_t>(random, {1, 2, 4});
  spec.pipeline_model_parallel_size = pick<std::int64_t>(random, {1, 2, 4});
  spec.context_parallel_size = pick<std::int64_t>(random, {1, 1, 2});
  spec.data_parallel_size = pick<std::int64_t>(random, {2, 4});
  spec.expert_model_parallel_size = pick<std::int64_t>(random, {1, 2, 4});
  spec.sequence_parallel = pick(random, {false, true});
  spec.tp_comm_overlap = pick(random, {false, true});
  spec.global_batch_size = spec.data_parallel_size * 4;
  spec.zero_stage = pick<std::int64_t>(random, {0, 1, 2, 3});
  spec.overlap_grad_reduce = pick(random, {false, true});
  spec.overlap_param_gather = pick(random, {false, true});
  spec.overlap_p2p_comm = pick(random, {false, true});
  spec.schedule =
      pick(random, {ScheduleKind::GPipe, ScheduleKind::OneForwardOneBackward, ScheduleKind::Interleaved,
                    ScheduleKind::ZeroBubbleH1, ScheduleKind::ZeroBubbleV, ScheduleKind::DualPipe});
  if (spec.schedule == ScheduleKind::Interleaved) spec.virtual_pipeline_model_parallel_size = 2;
  return spec;
}

struct Case {
  Plan plan;
  TaskGraph graph;
  Cluster cluster;
  CostModel cost;
};

// The seed's first plan that is not refused.
Case random_case(unsigned seed) {
  std::mt19937 random(seed);
  const std::vector<ModelSpec> models = {testing::small_gpt(8), testing::small_llama(8),
                                         testing::small_mixtral(8)};
  static const Catalog catalog = read_catalog(TANDEM_SOURCE_DIR "/scenarios/clusters");
  static const auto calibration = read_calibration(TANDEM_SOURCE_DIR "/scenarios/calibrations");
  for (;;) {
    const ModelSpec& spec = models[random() % models.size()];
    const ModelGraph model = build_model(spec);
    try {
      Plan plan = testing::plan_for(spec, model, random_plan(random));
      TaskGraph graph = lower(model, plan);
      const std::size_t nodes = std::max<std::size_t>(2, (graph.mesh.ranks() + 7) / 8);
      ClusterSpec machine = cluster_from_text(catalog, "dgx-h100:" + std::to_string(nodes), {});
      machine.fabric = FabricSpec{};
      machine.fabric.kind = pick(random, {FabricKind::SingleSwitch, FabricKind::FatTree, FabricKind::FatTree});
      machine.fabric.nodes_per_leaf = pick(random, {1, 2});
      if (machine.fabric.kind == FabricKind::FatTree)
        machine.fabric.oversubscription = pick(random, {1.0, 4.0});
      if (random() % 3 == 0)
        machine.slow_devices.push_back(
            {.device = static_cast<std::uint32_t>(random() % graph.mesh.ranks()), .factor = 1.2});
      const Cluster cluster = build_cluster(machine);
      return {std::move(plan), std::move(graph), cluster, CostModel(calibration, "megatron", cluster)};
    } catch (const InputError&) {
      continue;  // refused by name: not this test's concern
    }
  }
}

class LoweredPlan : public ::testing::TestWithParam<unsigned> {
 protected:
  static Playback play(const Case& c, Fidelity fidelity) {
    PlayOptions options;
    options.fidelity = fidelity;
    return simulate_in_child(c.graph, c.cluster, c.cost, options);
  }
};

TEST_P(LoweredPlan, FoldedAndReplicasEqualFull) {
  const Case c = random_case(GetParam());
  const Playback full = play(c, Fidelity::Full);
  ASSERT_GT(full.step_time.value, 0);
  for (const Fidelity fidelity : {Fidelity::Folded, Fidelity::Replicas}) {
    const Playback folded = play(c, fidelity);
    EXPECT_NEAR(folded.step_time.value, full.step_time.value, 1e-9 * full.step_time.value)
        << name(fidelity) << ": " << c.plan.mesh.text() << ", " << name(*c.plan.spec.schedule);
    EXPECT_LE(folded.rank_classes, full.rank_classes);
  }
}

TEST_P(LoweredPlan, JoinedRunsKeepEveryTime) {
  const Case c = random_case(GetParam());
  const Playback replicas = play(c, Fidelity::Replicas), folded = play(c, Fidelity::Folded);
  EXPECT_LT(folded.tasks_played, replicas.tasks_played);
  ASSERT_EQ(folded.ranks.size(), replicas.ranks.size());
  for (std::size_t r = 0; r < folded.ranks.size(); ++r) {
    for (std::size_t t = 0; t < folded.ranks[r].tasks.size(); ++t) {
      const TaskTimes &joined = folded.ranks[r].tasks[t], &single = replicas.ranks[r].tasks[t];
      ASSERT_NEAR(joined.start.value, single.start.value, 1e-9 * replicas.step_time.value)
          << "rank " << r << " task " << t;
      ASSERT_NEAR(joined.end.value, single.end.value, 1e-9 * replicas.step_time.value)
          << "rank " << r << " task " << t;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, LoweredPlan, ::testing::Range(1u, 31u));

}  // namespace
}  // namespace tandem
