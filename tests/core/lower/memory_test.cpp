// What a step keeps in memory, against the published formulas.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "core/lower/lower.h"
#include "tests/support/small_models.h"

namespace tandem {
namespace {

using testing::lowered;
using testing::Lowered;
using testing::small_gpt;
using testing::small_llama;

constexpr double s = 256, b = 2, h = 512, a = 8;

PlanSpec plan(std::int64_t tp, bool sp, RecomputeGranularity recompute, AttentionBackend backend) {
  PlanSpec spec;
  spec.tensor_model_parallel_size = tp;
  spec.sequence_parallel = sp;
  spec.recompute_granularity = recompute;
  spec.attention_backend = backend;
  spec.micro_batch_size = b;
  spec.make_vocab_size_divisible_by = 1;
  return spec;
}

// Bytes kept from forward to backward by the second block, for one microbatch.
double kept_by_block(const Lowered& lowered) {
  double bytes = 0;
  const Program& program = lowered.graph.programs[ProgramId(0)];
  for (const Buffer& buffer : program.buffers) {
    if (buffer.memory_class == BufferClass::Activations &&
        lowered.graph.labels[buffer.label].starts_with("L1."))
      bytes += buffer.size.value;
  }
  return bytes;
}

// Korthikanti 2022, table 2 (attention scores unfused, dropout on).
TEST(ActivationMemory, OfAPlainLayerIsSbhTimes34PlusScores) {
  const Lowered l = lowered(small_gpt(), plan(1, false, RecomputeGranularity::None, AttentionBackend::Unfused));
  EXPECT_EQ(kept_by_block(l), s * b * h * (34 + 5 * a * s / h));
}
TEST(ActivationMemory, TensorParallelismDividesAllButTen) {
  const Lowered l = lowered(small_gpt(), plan(4, false, RecomputeGranularity::None, AttentionBackend::Unfused));
  EXPECT_EQ(kept_by_block(l), s * b * h * (10 + 24 / 4.0 + 5 * a * s / (h * 4)));
}
TEST(ActivationMemory, SequenceParallelismDividesEverything) {
  const Lowered l = lowered(small_gpt(), plan(4, true, RecomputeGranularity::None, AttentionBackend::Unfused));
  EXPECT_EQ(kept_by_block(l), s * b * h / 4 * (34 + 5 * a * s / h));
}
TEST(ActivationMemory, SelectiveRecomputationDropsTheScores) {
  const Lowered l =
      lowered(small_gpt(), plan(4, true, RecomputeGranularity::Selective, AttentionBackend::Unfused));
  EXPECT_EQ(kept_by_block(l), s * b * h / 4 * 34);
}
TEST(ActivationMemory, FullRecomputationKeepsTheLayersInput) {
  const Lowered l = lowered(small_gpt(), plan(1, false, RecomputeGranularity::Full, AttentionBackend::Unfused));
  EXPECT_EQ(kept_by_block(l), s * b * h * 2);
}
TEST(ActivationMemory, FlashAttentionKeepsOneStatisticAQuery) {
  const Lowered l = lowered(small_gpt(), plan(1, false, RecomputeGranularity::None, AttentionBackend::Flash));
  EXPECT_EQ(kept_by_block(l), s * b * h * 34 + b * a * s * 4);
}

std::map<BufferClass, double> whole_step_bytes(const Lowered& lowered, std::uint32_t stage = 0) {
  std::map<BufferClass, double> bytes;
  for (const Buffer& buffer : lowered.graph.programs[ProgramId(stage)].buffers) {
    if (buffer.take == whole_step && buffer.give == whole_step) bytes[buffer.memory_class] += buffer.size.value;
  }
  return bytes;
}

// Rajbhandari 2020, with fp32 gradients: 2 + 4 + 12 bytes a parameter.
TEST(StaticMemory, OfMixedPrecisionAdamIsEighteenBytesAParameter) {
  PlanSpec spec;
  spec.make_vocab_size_divisible_by = 1;
  const Lowered l = lowered(small_llama(), spec);
  const double p = static_cast<double>(l.model.total_parameters());
  auto bytes = whole_step_bytes(l);
  EXPECT_EQ(bytes[BufferClass::Weights], 2 * p);
  EXPECT_EQ(bytes[BufferClass::Gradients], 4 * p);
  EXPECT_EQ(bytes[BufferClass::OptimizerState], 12 * p);
}
TEST(StaticMemory, EachZeroStageShardsOneClassMore) {
  for (std::int64_t zero : {1, 2, 3}) {
    PlanSpec spec;
    spec.data_parallel_size = 4;
    spec.zero_stage = zero;
    spec.make_vocab_size_divisible_by = 1;
    const Lowered l = lowered(small_llama(), spec);
    const double p = static_cast<double>(l.model.total_parameters());
    auto bytes = whole_step_bytes(l);
    EXPECT_EQ(bytes[BufferClass::OptimizerState], 12 * p / 4);
    EXPECT_EQ(bytes[BufferClass::Gradients], 4 * p / (zero >= 2 ? 4 : 1));
    EXPECT_EQ(bytes[BufferClass::Weights], 2 * p / (zero >= 3 ? 4 : 1));
  }
}
TEST(StaticMemory, StagesTogetherHoldEveryParameterOnce) {
  PlanSpec spec;
  spec.pipeline_model_parallel_size = 4;
  spec.global_batch_size = 4;
  spec.make_vocab_size_divisible_by = 1;
  const Lowered l = lowered(small_llama(), spec);
  double weights = 0;
  for (std::uint32_t stage = 0; stage < 4; ++stage) weights += whole_step_bytes(l, stage)[BufferClass::Weights];
  EXPECT_EQ(weights, 2.0 * static_cast<double>(l.model.total_parameters()));
}

// Under sequence parallelism each gather, and each sum before its scatter, takes room for all tokens.
TEST(CommunicationMemory, HoldsAllTokensForEachTensorParallelExchange) {
  for (bool split : {false, true}) {
    PlanSpec spec = plan(4, true, RecomputeGranularity::None, AttentionBackend::Flash);
    if (split) {
      spec.pipeline_model_parallel_size = 2;
      spec.schedule = ScheduleKind::ZeroBubbleH1;
      spec.global_batch_size = 8;
    }
    const Lowered l = lowered(small_llama(), spec);
    const Program& program = l.graph.programs[ProgramId(0)];
    for (std::uint32_t t = 0; t < program.tasks.size(); ++t) {
      const auto* collective = std::get_if<Collective>(&l.graph.works[program.tasks[t].work]);
      if (!collective || collective->axis != Axis::Tensor || collective->kind == CollectiveKind::AllReduce)
        continue;
      const bool gathers = collective->kind == CollectiveKind::AllGather;
      EXPECT_TRUE(std::any_of(program.buffers.begin(), program.buffers.end(), [&](const Buffer& buffer) {
        return buffer.size == collective->size && (gathers ? buffer.take : buffer.give) == t;
      })) << task_key(l.graph, RankId(0), program.tasks[t]);
    }
  }
}

TEST(ActivationMemory, EveryBufferIsGivenBack) {
  for (ScheduleKind schedule :
       {ScheduleKind::GPipe, ScheduleKind::OneForwardOneBackward, ScheduleKind::Interleaved,
        ScheduleKind::ZeroBubbleH1, ScheduleKind::ZeroBubbleV, ScheduleKind::DualPipe}) {
    PlanSpec spec;
    spec.pipeline_model_parallel_size = 2;
    spec.global_batch_size = 8;
    spec.schedule = schedule;
    if (schedule == ScheduleKind::Interleaved) spec.virtual_pipeline_model_parallel_size = 2;
    const Lowered l = lowered(small_llama(8), spec);
    for (const Program& program : l.graph.programs) {
      for (const Buffer& buffer : program.buffers) {
        if (buffer.take != whole_step) {
          EXPECT_NE(buffer.give, whole_step) << name(schedule) << " " << l.graph.labels[buffer.label];
        }
      }
    }
  }
}

// However slow the links: gradients of more than two buckets never wait for them at once.
TEST(ZeroTwo, ComputesOnWhenTheReductionBeforeTheLastHasFreedItsGradients) {
  PlanSpec spec = plan(1, false, RecomputeGranularity::None, AttentionBackend::Flash);
  spec.data_parallel_size = 2;
  spec.global_batch_size = 2 * b * 3;
  spec.zero_stage = 2;
  spec.ddp_bucket_size = 1;
  const Lowered l = lowered(small_gpt(), spec);
  const Program& program = l.graph.programs[ProgramId(0)];
  std::vector<std::uint32_t> reductions;
  for (std::uint32_t t = 0; t < program.tasks.size(); ++t)
    if (l.graph.labels[program.tasks[t].label].ends_with(".reduce_scatter")) reductions.push_back(t);
  ASSERT_GT(reductions.size(), 6u);
  for (std::size_t k = 0; k + 2 < reductions.size(); ++k) {
    bool awaited = false;
    for (std::uint32_t t = reductions[k + 1]; t < reductions[k + 2]; ++t)
      for (std::uint32_t i = program.after_begin[t]; i < program.after_begin[t + 1]; ++i)
        awaited = awaited ||
                  (program.tasks[t].lane == Lane::Compute && program.after[i] >= reductions[k] &&
                   program.after[i] < reductions[k + 2] && program.tasks[program.after[i]].lane == Lane::Data);
    EXPECT_TRUE(awaited) << k;
  }
}

}  // namespace
}  // namespace tandem
