// Random plans, good and broken: each becomes a plan with its invariants, or an InputError that says something.
#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "core/plan/check_plan.h"
#include "core/plan/plan.h"
#include "tests/core/plan/small_models.h"

namespace tandem {
namespace {

class Dice {
 public:
  explicit Dice(std::uint32_t seed) : random_(seed) {}
  bool one_in(std::uint32_t n) { return random_() % n == 0; }
  std::int64_t up_to(std::int64_t most) {
    return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(most + 1));
  }
  template <class T>
  T of(std::initializer_list<T> values) {
    return values.begin()[random_() % values.size()];
  }
  // Mostly sensible, now and then absurd.
  std::int64_t degree() {
    if (one_in(60))
      return of<std::int64_t>({0, -1, 3, 7, 1'000'000'000, std::numeric_limits<std::int64_t>::max(),
                               std::numeric_limits<std::int64_t>::min()});
    return of<std::int64_t>({1, 1, 1, 2, 2, 4});
  }

 private:
  std::mt19937 random_;
};

PlanSpec random_spec(Dice& dice) {
  PlanSpec spec;
  spec.tensor_model_parallel_size = dice.degree();
  spec.pipeline_model_parallel_size = dice.degree();
  spec.context_parallel_size = dice.degree();
  if (dice.one_in(4)) spec.expert_model_parallel_size = dice.degree();
  if (dice.one_in(6)) spec.expert_tensor_parallel_size = dice.degree();
  if (dice.one_in(6)) spec.data_parallel_size = dice.degree();
  if (dice.one_in(4)) spec.virtual_pipeline_model_parallel_size = dice.degree();
  if (dice.one_in(8)) spec.pipeline_layers = {dice.up_to(4), dice.up_to(8), 4};
  spec.sequence_parallel = spec.tensor_model_parallel_size > 1 ? dice.one_in(2) : dice.one_in(20);
  spec.cp_comm_type =
      dice.of({ContextCommunication::RingP2p, ContextCommunication::AllGather, ContextCommunication::AllToAll});
  if (dice.one_in(2))
    spec.schedule =
        dice.of({ScheduleKind::GPipe, ScheduleKind::OneForwardOneBackward, ScheduleKind::Interleaved,
                 ScheduleKind::ZeroBubbleH1, ScheduleKind::ZeroBubbleV, ScheduleKind::DualPipe});
  if (dice.one_in(4))
    spec.rank_order =
        dice.of<std::string>({"tp-cp-ep-pp-dp", "pp-dp-ep-cp-tp", "cp-tp-dp-ep-pp", "dp", "", "-"});
  if (dice.one_in(12))
    for (std::int64_t rank = dice.up_to(16); rank > 0; --rank)
      spec.placement.push_back(static_cast<std::uint32_t>(rank % 9));
  spec.micro_batch_size = dice.degree();
  if (dice.one_in(2)) spec.global_batch_size = dice.one_in(30) ? dice.degree() : 16 * dice.up_to(8);
  spec.seq_length = dice.one_in(20) ? dice.degree() : 64;
  if (dice.one_in(3)) spec.decoder_seq_length = 64;
  spec.zero_stage = dice.one_in(60) ? -2 : dice.of<std::int64_t>({0, 0, 0, 1, 1, 2, 3});
  if (dice.one_in(6)) spec.sharding_degree = dice.degree();
  spec.overlap_grad_reduce = dice.one_in(2);
  spec.overlap_param_gather = dice.one_in(8);
  spec.tp_comm_overlap = dice.one_in(12);
  if (dice.one_in(3))
    spec.recompute_granularity = dice.of({RecomputeGranularity::Selective, RecomputeGranularity::Full});
  if (dice.one_in(10)) spec.recompute_num_layers = dice.up_to(3);
  if (dice.one_in(16)) spec.recompute_modules = {RecomputeModule::Mlp, RecomputeModule::Moe};
  if (dice.one_in(16)) spec.recompute_method = RecomputeMethod::Block;
  if (dice.one_in(10)) spec.where["seq_length"] = {.file = "plan.toml", .line = 3};
  return spec;
}

TEST(RandomPlans, AreResolvedOrRefused) {
  const std::vector<ModelSpec> models = small_models();
  std::vector<ModelGraph> graphs;
  for (const ModelSpec& model : models) graphs.push_back(build_model(model));
  Dice dice(20260706);
  int resolved = 0, refused = 0;
  for (int trial = 0; trial < 4000; ++trial) {
    const auto model = static_cast<std::size_t>(dice.up_to(static_cast<std::int64_t>(models.size()) - 1));
    const PlanSpec spec = random_spec(dice);
    const MachineShape machine{.devices = dice.of<std::int64_t>({8, 16, 16, 32, 64, 12}),
                               .devices_per_node = 8};
    try {
      const Plan plan = resolve_plan(spec, models[model], graphs[model], machine);
      check_plan(plan, graphs[model]);
      ++resolved;
    } catch (const InputError& error) {
      ++refused;
      ASSERT_FALSE(error.problems().empty());
      for (const Problem& problem : error.problems()) ASSERT_FALSE(problem.what.empty());
    }
  }
  EXPECT_GT(resolved, 200);
  EXPECT_GT(refused, 200);
}

// Resolving what was resolved changes nothing: all defaults were filled in.
TEST(RandomPlans, AreFixedPoints) {
  const std::vector<ModelSpec> models = small_models();
  std::vector<ModelGraph> graphs;
  for (const ModelSpec& model : models) graphs.push_back(build_model(model));
  Dice dice(7);
  int resolved = 0;
  for (int trial = 0; trial < 3000; ++trial) {
    const auto index = static_cast<std::size_t>(dice.up_to(static_cast<std::int64_t>(models.size()) - 1));
    const MachineShape machine{.devices = 16, .devices_per_node = 8};
    Plan once;
    try {
      once = resolve_plan(random_spec(dice), models[index], graphs[index], machine);
    } catch (const InputError&) {
      continue;
    }
    ++resolved;
    const Plan twice = resolve_plan(once.spec, models[index], graphs[index], machine);
    ASSERT_EQ(once.mesh.text(), twice.mesh.text());
    ASSERT_EQ(once.schedule.slots, twice.schedule.slots);
    ASSERT_EQ(once.microbatches, twice.microbatches);
    ASSERT_EQ(once.bucket_elements, twice.bucket_elements);
    ASSERT_EQ(once.remarks, twice.remarks);
  }
  EXPECT_GT(resolved, 50);
}

}  // namespace
}  // namespace tandem
