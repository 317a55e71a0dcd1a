// Random valid plans keep the task graph's invariants (lower checks them itself) and the model's arithmetic.
#include <gtest/gtest.h>

#include <random>

#include "core/lower/lower.h"
#include "core/problem/problem.h"
#include "tests/support/small_models.h"

namespace tandem {
namespace {

template <class T>
T pick(std::mt19937& random, std::initializer_list<T> values) {
  return *(values.begin() + std::uniform_int_distribution<std::size_t>(0, values.size() - 1)(random));
}

PlanSpec random_plan(std::mt19937& random) {
  PlanSpec spec;
  spec.tensor_model_parallel_size = pick<std::int64_t>(random, {1, 1, 2, 4});
  spec.pipeline_model_parallel_size = pick<std::int64_t>(random, {1, 1, 2, 4});
  spec.context_parallel_size = pick<std::int64_t>(random, {1, 1, 1, 2});
  spec.data_parallel_size = pick<std::int64_t>(random, {1, 2, 4});
  spec.expert_model_parallel_size = pick<std::int64_t>(random, {1, 2, 4});
  spec.expert_tensor_parallel_size = pick<std::int64_t>(random, {0, 1});
  spec.sequence_parallel = pick(random, {false, true});
  spec.tp_comm_overlap = pick(random, {false, false, true});
  spec.cp_comm_type = pick(
      random, {ContextCommunication::RingP2p, ContextCommunication::AllGather, ContextCommunication::AllToAll});
  spec.global_batch_size = spec.data_parallel_size * pick<std::int64_t>(random, {4, 8});
  spec.zero_stage = pick<std::int64_t>(random, {0, 1, 2, 3});
  spec.overlap_grad_reduce = pick(random, {false, true});
  spec.overlap_param_gather = pick(random, {false, true});
  spec.overlap_p2p_comm = pick(random, {false, true});
  spec.recompute_granularity =
      pick(random, {RecomputeGranularity::None, RecomputeGranularity::Selective, RecomputeGranularity::Full});
  spec.attention_backend = pick(random, {AttentionBackend::Flash, AttentionBackend::Unfused});
  spec.dtype = pick(random, {DType::Fp32, DType::Bf16, DType::Fp8});
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

TEST(RandomPlans, LowerToSoundGraphs) {
  std::mt19937 random(20260714);
  const std::vector<ModelSpec> models = {testing::small_gpt(8), testing::small_llama(8),
                                         testing::small_mixtral(8), testing::small_t5(4)};
  int sound = 0, tried = 0;
  while (sound < 150 && tried < 5000) {
    ++tried;
    const ModelSpec& spec = models[static_cast<std::size_t>(tried) % models.size()];
    const ModelGraph model = build_model(spec);
    Plan plan;
    try {
      plan = testing::plan_for(spec, model, random_plan(random));
    } catch (const InputError&) {
      continue;  // refused by name: not this test's concern
    }
    const TaskGraph graph = lower(model, plan);
    ++sound;
    for (const Program& program : graph.programs) {
      for (const Buffer& buffer : program.buffers) {
        ASSERT_TRUE(buffer.take == whole_step || buffer.give != whole_step) << graph.labels[buffer.label];
      }
    }
  }
  EXPECT_EQ(sound, 150);
}

}  // namespace
}  // namespace tandem
