// Values of random plans: made before they are read, in an arena where the living never overlap.
#include "core/dataflow/data_flow.h"

#include <gtest/gtest.h>

#include <random>

#include "core/dataflow/arena.h"
#include "core/dataflow/finished_before.h"
#include "core/problem/problem.h"
#include "tests/support/small_models.h"

namespace tandem {
namespace {

template <class T>
T pick(std::mt19937& random, std::initializer_list<T> values) {
  return *(values.begin() + std::uniform_int_distribution<std::size_t>(0, values.size() - 1)(random));
}

ModelSpec without_dropout(ModelSpec spec) {
  spec.hidden_dropout = spec.attention_dropout = false;
  return spec;
}

PlanSpec random_plan(std::mt19937& random) {
  PlanSpec spec;
  spec.tensor_model_parallel_size = pick<std::int64_t>(random, {1, 1, 2, 4});
  spec.pipeline_model_parallel_size = pick<std::int64_t>(random, {1, 1, 2, 4});
  spec.context_parallel_size = pick<std::int64_t>(random, {1, 1, 2, 4});
  spec.data_parallel_size = pick<std::int64_t>(random, {1, 2, 4});
  spec.expert_model_parallel_size = pick<std::int64_t>(random, {1, 2, 4});
  spec.expert_tensor_parallel_size = pick<std::int64_t>(random, {0, 1, 2});
  spec.sequence_parallel = pick(random, {false, true});
  spec.cp_comm_type = pick(
      random, {ContextCommunication::RingP2p, ContextCommunication::AllGather, ContextCommunication::AllToAll});
  spec.global_batch_size = spec.data_parallel_size * pick<std::int64_t>(random, {4, 8});
  spec.zero_stage = pick<std::int64_t>(random, {0, 1, 2, 3});
  spec.overlap_grad_reduce = pick(random, {false, true});
  spec.overlap_param_gather = pick(random, {false, true});
  spec.overlap_p2p_comm = pick(random, {false, true});
  spec.recompute_granularity =
      pick(random, {RecomputeGranularity::None, RecomputeGranularity::Selective, RecomputeGranularity::Full});
  if (spec.context_parallel_size == 1)
    spec.attention_backend = pick(random, {AttentionBackend::Flash, AttentionBackend::Unfused});
  spec.dtype = pick(random, {DType::Fp32, DType::Bf16});
  spec.gradient_accumulation_fusion = pick(random, {true, true, false});
  if (spec.recompute_granularity == RecomputeGranularity::Selective && pick(random, {false, true})) {
    spec.recompute_modules = {pick(random, {RecomputeModule::Mlp, RecomputeModule::Moe,
                                            RecomputeModule::LayerNorm, RecomputeModule::MoeActivation})};
  }
  spec.schedule =
      pick(random, {ScheduleKind::GPipe, ScheduleKind::OneForwardOneBackward, ScheduleKind::Interleaved,
                    ScheduleKind::ZeroBubbleH1, ScheduleKind::ZeroBubbleV, ScheduleKind::DualPipe});
  if (spec.schedule == ScheduleKind::Interleaved) spec.virtual_pipeline_model_parallel_size = 2;
  return spec;
}

// Values that may be alive at once, by brute force over all pairs.
void expect_disjoint(const DataFlow& flow, const ArenaPlan& plan, const Program& program) {
  std::vector<std::vector<std::uint32_t>> touches(flow.values.size());
  for (std::uint32_t t = 0; t < program.tasks.size(); ++t) {
    for (const Operand& operand : flow.of(t)) touches[operand.value.value].push_back(t);
  }
  FinishedBefore finished(program);
  for (std::uint32_t t = 0; t < program.tasks.size(); ++t) {
    finished.start(t);
    for (std::uint32_t earlier : flow.extra_after[t]) finished.wait(earlier);
    for (const Operand& operand : flow.of(t)) {
      const ValueId b = operand.value;
      if (flow.values[b].take != t) continue;
      for (std::uint32_t other = 0; other < flow.values.size(); ++other) {
        const ValueId a(other);
        if (a == b || (flow.values[a].take != whole_step && flow.values[a].take > t)) continue;
        const double a_begin = static_cast<double>(plan.offset[a]);
        const double b_begin = static_cast<double>(plan.offset[b]);
        const bool apart =
            a_begin + flow.values[a].size.value <= b_begin || b_begin + flow.values[b].size.value <= a_begin;
        if (apart) continue;
        ASSERT_NE(flow.values[a].take, whole_step);
        for (std::uint32_t touch : touches[other]) ASSERT_TRUE(touch < t && finished(touch));
      }
    }
    finished.end();
  }
}

TEST(DataFlow, BindsEveryTaskOfRandomPlans) {
  std::mt19937 random(20261201);
  const std::vector<ModelSpec> models = {without_dropout(testing::small_gpt(8)), testing::small_llama(8),
                                         testing::small_mixtral(8), without_dropout(testing::small_t5(4))};
  int sound = 0;
  for (int tried = 0; sound < 120 && tried < 5000; ++tried) {
    const ModelSpec& spec = models[static_cast<std::size_t>(tried) % models.size()];
    const ModelGraph model = build_model(spec);
    Plan plan;
    try {
      plan = testing::plan_for(spec, model, random_plan(random));
    } catch (const InputError&) {
      continue;
    }
    const TaskGraph graph = lower(model, plan);
    ++sound;
    std::size_t waits = 0;
    for (std::uint32_t stage = 0; stage < graph.programs.size(); ++stage) {
      const Program& program = graph.programs[ProgramId(stage)];
      const DataFlow flow = bind_values(model, plan, graph, stage);
      const ArenaPlan arena = plan_arena(flow, program);
      for (const std::vector<std::uint32_t>& after : flow.extra_after) waits += after.size();
      if (program.tasks.size() < 2000) expect_disjoint(flow, arena, program);
    }
    EXPECT_EQ(waits, 0u) << spec.name;  // lowering knows what waits for what
  }
  EXPECT_EQ(sound, 120);
}

}  // namespace
}  // namespace tandem
