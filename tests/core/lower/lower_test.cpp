// What a lowered step contains: arithmetic, communication, order.
#include "core/lower/lower.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "core/model/model_flops.h"
#include "tests/support/small_models.h"

namespace tandem {
namespace {

using testing::lowered;
using testing::Lowered;
using testing::small_gemma2;
using testing::small_gpt;
using testing::small_llama;
using testing::small_mixtral;
using testing::small_t5;

// Over all ranks, in the convention of published figures, recomputation apart.
struct FlopSum {
  double model = 0, recompute = 0;
};
FlopSum flop_sum(const TaskGraph& graph) {
  FlopSum sum;
  for (std::uint32_t r = 0; r < graph.mesh.ranks(); ++r) {
    for (const Task& task : graph.program(RankId(r)).tasks) {
      const auto* compute = std::get_if<Compute>(&graph.works[task.work]);
      if (!compute) continue;
      (compute->phase == Phase::Recompute ? sum.recompute : sum.model) += compute->model_flops.value;
    }
  }
  return sum;
}

// Collectives of rank 0's program along an axis, by kind.
std::map<CollectiveKind, int> collectives(const TaskGraph& graph, Axis axis, RankId rank = RankId(0)) {
  std::map<CollectiveKind, int> count;
  for (const Task& task : graph.program(rank).tasks) {
    const auto* collective = std::get_if<Collective>(&graph.works[task.work]);
    if (collective && collective->axis == axis && !graph.labels[task.label].starts_with("replicated"))
      ++count[collective->kind];
  }
  return count;
}

PlanSpec plan(std::int64_t tp, std::int64_t pp, std::int64_t dp, std::int64_t microbatches = 4) {
  PlanSpec spec;
  spec.tensor_model_parallel_size = tp;
  spec.pipeline_model_parallel_size = pp;
  spec.data_parallel_size = dp;
  spec.global_batch_size = microbatches * dp;
  spec.make_vocab_size_divisible_by = 1;
  return spec;
}

TEST(Lower, TasksDoTheModelsArithmeticExactly) {
  for (const ModelSpec& model : {small_gpt(), small_llama(), small_mixtral(), small_t5()}) {
    const Lowered one = lowered(model, plan(1, 1, 1));
    EXPECT_NEAR(flop_sum(one.graph).model / one.graph.model_flops.value, 1, 1e-12) << model.name;
    EXPECT_EQ(flop_sum(one.graph).recompute, 0);
  }
}

TEST(Lower, SplittingKeepsTheArithmetic) {
  for (auto [tp, pp, dp] : {std::tuple{2, 1, 1}, {1, 2, 1}, {1, 1, 2}, {2, 2, 2}, {4, 4, 1}}) {
    PlanSpec spec = plan(tp, pp, dp);
    const Lowered split = lowered(small_llama(), spec);
    EXPECT_NEAR(flop_sum(split.graph).model / split.graph.model_flops.value, 1, 1e-12) << tp << pp << dp;
  }
}

TEST(Lower, ContextParallelismKeepsTheArithmetic) {
  for (ContextCommunication way :
       {ContextCommunication::RingP2p, ContextCommunication::AllGather, ContextCommunication::AllToAll}) {
    for (AttentionBackend backend : {AttentionBackend::Flash, AttentionBackend::Unfused}) {
      PlanSpec spec = plan(1, 1, 1);
      spec.context_parallel_size = 4;
      spec.cp_comm_type = way;
      spec.attention_backend = backend;
      const Lowered split = lowered(small_llama(), spec);
      EXPECT_NEAR(flop_sum(split.graph).model / split.graph.model_flops.value, 1, 1e-12)
          << static_cast<int>(way) << static_cast<int>(backend);
    }
  }
}

TEST(Lower, ExpertsAreSharedOutWithoutLoss) {
  PlanSpec spec = plan(1, 1, 4);
  spec.expert_model_parallel_size = 4;
  const Lowered split = lowered(small_mixtral(), spec);
  EXPECT_NEAR(flop_sum(split.graph).model / split.graph.model_flops.value, 1, 1e-12);
}

TEST(Lower, FullRecomputationRunsEachBlocksForwardOnceMore) {
  PlanSpec spec = plan(1, 1, 1);
  spec.recompute_granularity = RecomputeGranularity::Full;
  const Lowered full = lowered(small_gpt(), spec);
  double blocks_forward = 0;
  for (const Task& task : full.graph.program(RankId(0)).tasks) {
    const auto* compute = std::get_if<Compute>(&full.graph.works[task.work]);
    if (compute && compute->phase == Phase::Forward && full.graph.labels[task.label].starts_with("L"))
      blocks_forward += compute->model_flops.value;
  }
  EXPECT_DOUBLE_EQ(flop_sum(full.graph).recompute, blocks_forward);
}

TEST(Lower, TensorParallelismReducesTwiceForwardAndTwiceBackwardALayer) {
  const Lowered split = lowered(small_llama(3), plan(2, 1, 1, 1));
  // Each layer: attention and MLP, forward and backward; the embedding forward, the head backward; three of the
  // loss.
  EXPECT_THAT(collectives(split.graph, Axis::Tensor),
              ::testing::ElementsAre(std::pair(CollectiveKind::AllReduce, 3 * 4 + 2 + 3)));
}

TEST(Lower, SequenceParallelismGathersOnceMoreForTheWeightGradient) {
  PlanSpec spec = plan(2, 1, 1, 1);
  spec.sequence_parallel = true;
  const Lowered split = lowered(small_llama(3), spec);
  const auto count = collectives(split.graph, Axis::Tensor);
  // Forward 2 gathers and 2 scatters a layer; backward 2 and 2 again, and 2 gathers of inputs for weight
  // gradients. Embedding: scatter forward, gather backward. Head: gather forward, scatter and gather of its
  // input backward.
  EXPECT_EQ(count.at(CollectiveKind::AllGather), 3 * 6 + 3);
  EXPECT_EQ(count.at(CollectiveKind::ReduceScatter), 3 * 4 + 2);
}

TEST(Lower, PipelineStagesShareOneProgramEach) {
  const Lowered split = lowered(small_llama(), plan(2, 4, 2, 8));
  EXPECT_EQ(split.graph.programs.size(), 4u);
  std::set<std::uint32_t> first_stage;
  for (std::uint32_t r = 0; r < 16; ++r) {
    if (split.graph.program_of[r] == ProgramId(0)) first_stage.insert(r);
  }
  EXPECT_EQ(first_stage.size(), 4u);
}

TEST(Lower, EachMicrobatchCrossesEachBorderOnceEachWay) {
  const Lowered split = lowered(small_llama(), plan(1, 4, 1, 8));
  std::map<std::string, int> sends;
  for (const Program& program : split.graph.programs) {
    for (const Task& task : program.tasks) {
      if (std::holds_alternative<Send>(split.graph.works[task.work])) ++sends[split.graph.labels[task.label]];
    }
  }
  EXPECT_EQ(sends["activation.send"], 3 * 8);
  EXPECT_EQ(sends["gradient.send"], 3 * 8);
}

// Without dropout a block's last operator passes its gradient through untouched: whoever uses it first must
// still wait.
TEST(Lower, EverySlotWaitsForWhatItsNeighbourSends) {
  for (const ModelSpec& model : {small_gpt(), small_llama(), small_mixtral(), small_t5()}) {
    for (ScheduleKind schedule : {ScheduleKind::OneForwardOneBackward, ScheduleKind::ZeroBubbleH1}) {
      PlanSpec spec = plan(1, 4, 1, 8);
      spec.schedule = schedule;
      const Lowered split = lowered(model, spec);
      for (const Program& program : split.graph.programs) {
        std::set<std::uint32_t> waited(program.after.begin(), program.after.end());
        for (std::uint32_t t = 0; t < program.tasks.size(); ++t) {
          if (std::holds_alternative<Receive>(split.graph.works[program.tasks[t].work])) {
            EXPECT_TRUE(waited.contains(t))
                << model.name << " " << task_key(split.graph, RankId(0), program.tasks[t]);
          }
        }
      }
    }
  }
}

// A tensor with several readers gets the sum of their gradients, whether or not a border cuts between them.
TEST(Lower, StageBordersLeaveOutNoGradientSum) {
  const auto sums = [](const TaskGraph& graph) {
    int count = 0;
    for (const Program& program : graph.programs) {
      for (const Task& task : program.tasks) count += graph.labels[task.label].ends_with("gradient_sum");
    }
    return count;
  };
  for (const ModelSpec& model : {small_gpt(), small_llama(), small_mixtral(), small_t5()}) {
    const int whole = sums(lowered(model, plan(1, 1, 1)).graph);
    EXPECT_GT(whole, 0);
    EXPECT_EQ(sums(lowered(model, plan(1, 2, 1)).graph), whole) << model.name;
    EXPECT_EQ(sums(lowered(model, plan(1, 4, 1)).graph), whole) << model.name;
  }
}

TEST(Lower, EncoderDecoderBordersCarryTheEncodersOutputToo) {
  const Lowered split = lowered(small_t5(), plan(1, 4, 1, 4));
  std::vector<double> sizes;
  for (const Task& task : split.graph.programs[ProgramId(2)].tasks) {
    if (const auto* send = std::get_if<Send>(&split.graph.works[task.work]); send && send->peer == 3)
      sizes.push_back(send->size.value);
  }
  ASSERT_FALSE(sizes.empty());
  EXPECT_EQ(sizes.front(), 2.0 * 256 * 512 * 2);  // decoder stream and encoder output, bf16
}

TEST(Lower, GradientBucketsGoOutDuringTheLastBackward) {
  PlanSpec spec = plan(1, 1, 2, 3);
  spec.overlap_grad_reduce = true;
  spec.ddp_bucket_size = 1'000'000;
  const Lowered split = lowered(small_llama(), spec);
  int reductions = 0;
  for (const Task& task : split.graph.program(RankId(0)).tasks) {
    const auto* collective = std::get_if<Collective>(&split.graph.works[task.work]);
    if (!collective || collective->axis != Axis::DataContext) continue;
    ++reductions;
    EXPECT_EQ(task.microbatch, 2u);
    EXPECT_EQ(collective->kind, CollectiveKind::AllReduce);
  }
  EXPECT_GT(reductions, 5);
}

TEST(Lower, EveryGradientIsReducedExactlyOnce) {
  for (bool overlap : {false, true}) {
    for (std::int64_t zero : {0, 1, 3}) {
      PlanSpec spec = plan(1, 2, 2, 4);
      spec.overlap_grad_reduce = overlap;
      spec.zero_stage = zero;
      const Lowered split = lowered(small_llama(), spec);
      double elements = 0;
      for (const Program& program : split.graph.programs) {
        for (const Task& task : program.tasks) {
          const auto* collective = std::get_if<Collective>(&split.graph.works[task.work]);
          if (collective && collective->axis == Axis::DataContext &&
              collective->kind != CollectiveKind::AllGather)
            elements += collective->size.value / 4;
        }
      }
      const double times = zero == 3 ? 4 : 1;  // ZeRO-3 reduces each microbatch's gradients
      EXPECT_EQ(elements, times * static_cast<double>(split.model.total_parameters())) << overlap << zero;
    }
  }
}

// Blocks that end with a norm leave its gradient to the input gradient's body.
TEST(Lower, SplitBackwardsReduceEveryGradientExactlyOnce) {
  for (const ModelSpec& model : {small_llama(8), small_gemma2(8)}) {
    for (ScheduleKind schedule :
         {ScheduleKind::ZeroBubbleH1, ScheduleKind::ZeroBubbleV, ScheduleKind::DualPipe}) {
      PlanSpec spec = plan(1, 2, 2, 8);
      spec.overlap_grad_reduce = true;
      spec.ddp_bucket_size = 1;  // a bucket for each operator
      spec.schedule = schedule;
      const Lowered split = lowered(model, spec);
      for (const Program& program : split.graph.programs) {
        double reduced = 0, held = 0;
        for (const Task& task : program.tasks) {
          const auto* collective = std::get_if<Collective>(&split.graph.works[task.work]);
          if (collective && collective->axis == Axis::DataContext) reduced += collective->size.value;
        }
        for (const Buffer& buffer : program.buffers) {
          if (buffer.memory_class == BufferClass::Gradients) held += buffer.size.value;
        }
        EXPECT_EQ(reduced, held) << model.name << " " << name(schedule);
      }
    }
  }
}

TEST(Lower, ZeroThreeGathersEachLayerForwardAndBackward) {
  PlanSpec spec = plan(1, 1, 2, 1);
  spec.zero_stage = 3;
  const Lowered split = lowered(small_llama(), spec);
  // Embedding, four blocks, head; the embedding's backward needs no parameters but gathers with its layer like
  // FSDP.
  EXPECT_EQ(collectives(split.graph, Axis::DataContext).at(CollectiveKind::AllGather), 2 * 6);
}

TEST(Lower, TiedEmbeddingsAreSummedBetweenFirstAndLastStage) {
  const Lowered split = lowered(small_gpt(), plan(1, 2, 1));
  EXPECT_EQ(collectives(split.graph, Axis::Embedding, RankId(0)).at(CollectiveKind::AllReduce), 1);
  EXPECT_EQ(collectives(split.graph, Axis::Embedding, RankId(1)).at(CollectiveKind::AllReduce), 1);
  EXPECT_TRUE(collectives(lowered(small_llama(), plan(1, 2, 1)).graph, Axis::Embedding).empty());
}

// What a rank reduces over the pair of stages with equal chunks is what it keeps of the gradients.
TEST(Lower, DualPipesStagesSumTheirShardsOfDenseAndExpertGradients) {
  PlanSpec spec = plan(1, 2, 4, 4);
  spec.expert_model_parallel_size = 2;
  spec.zero_stage = 1;
  spec.schedule = ScheduleKind::DualPipe;
  const Lowered split = lowered(small_mixtral(), spec);
  const Program& program = split.graph.program(RankId(0));
  double state = 0, summed = 0;
  for (const Buffer& buffer : program.buffers) {
    if (buffer.memory_class == BufferClass::OptimizerState) state += buffer.size.value;
  }
  for (const Task& task : program.tasks) {
    const auto* collective = std::get_if<Collective>(&split.graph.works[task.work]);
    if (collective && collective->axis == Axis::Mirror) summed += collective->size.value;
  }
  EXPECT_DOUBLE_EQ(summed / 4, state / 12);  // fp32 gradients, twelve bytes of Adam's state
}

TEST(Lower, ExpertParallelismExchangesTokensFourTimesALayer) {
  PlanSpec spec = plan(1, 1, 4, 1);
  spec.expert_model_parallel_size = 4;
  const Lowered split = lowered(small_mixtral(3), spec);
  EXPECT_EQ(collectives(split.graph, Axis::Expert).at(CollectiveKind::AllToAll), 3 * 4);
}

TEST(Lower, TensorCommunicationOverlapTravelsInPieces) {
  PlanSpec spec = plan(4, 1, 1, 1);
  spec.sequence_parallel = true;
  spec.tp_comm_overlap = true;
  const auto count = collectives(lowered(small_gpt(3), spec).graph, Axis::Tensor);
  EXPECT_EQ(count.at(CollectiveKind::Shift), 3 * 4 * 3);  // four products a layer, three hops each
}

TEST(Lower, LoweringTwiceGivesTheSameGraph) {
  const Lowered a = lowered(small_mixtral(), plan(1, 2, 2)), b = lowered(small_mixtral(), plan(1, 2, 2));
  ASSERT_EQ(a.graph.works.size(), b.graph.works.size());
  for (std::uint32_t p = 0; p < a.graph.programs.size(); ++p) {
    const Program &x = a.graph.programs[ProgramId(p)], &y = b.graph.programs[ProgramId(p)];
    ASSERT_EQ(x.tasks.size(), y.tasks.size());
    EXPECT_EQ(x.after, y.after);
    for (std::size_t t = 0; t < x.tasks.size(); ++t)
      EXPECT_EQ(task_key(a.graph, RankId(0), x.tasks[t]), task_key(b.graph, RankId(0), y.tasks[t]));
  }
}

}  // namespace
}  // namespace tandem
