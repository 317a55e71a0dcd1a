// What resolve_plan fills in and what it refuses, in the words users read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "core/plan/check_plan.h"
#include "core/plan/plan.h"
#include "tests/core/plan/small_models.h"

namespace tandem {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class ResolvePlan : public testing::Test {
 protected:
  ModelSpec model = small_llama();
  PlanSpec spec = [] {
    PlanSpec s;
    s.seq_length = 128;
    return s;
  }();
  MachineShape machine{.devices = 8, .devices_per_node = 8};

  Plan resolve() const { return resolve_plan(spec, model, build_model(model), machine); }
  // Each problem as "what | hint".
  std::vector<std::string> problems() const {
    std::vector<std::string> found;
    try {
      resolve();
    } catch (const InputError& error) {
      for (const Problem& problem : error.problems()) found.push_back(problem.what + " | " + problem.hint);
    }
    return found;
  }
};

TEST_F(ResolvePlan, FillsInWhatIsNotTyped) {
  spec.tensor_model_parallel_size = 2;
  spec.micro_batch_size = 3;
  spec.zero_stage = 1;
  const Plan plan = resolve();
  EXPECT_EQ(plan.spec.data_parallel_size, 4);
  EXPECT_EQ(plan.spec.global_batch_size, 12);
  EXPECT_EQ(plan.microbatches, 1u);
  EXPECT_EQ(plan.spec.schedule, ScheduleKind::OneForwardOneBackward);
  EXPECT_EQ(plan.spec.virtual_pipeline_model_parallel_size, 1);
  EXPECT_EQ(plan.spec.expert_tensor_parallel_size, 2);
  EXPECT_EQ(plan.spec.sharding_degree, 4);
  EXPECT_EQ(plan.bucket_elements, 40'000'000);
  EXPECT_EQ(plan.mesh.text(), "tp 2 x dp 4 = 8 ranks, order tp-cp-ep-dp-pp");
  EXPECT_THAT(plan.placement, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
}

TEST_F(ResolvePlan, BucketsGrowWithDataParallelism) {
  machine.devices = 64;
  EXPECT_EQ(resolve().bucket_elements, 64'000'000);
}

TEST_F(ResolvePlan, PadsTheVocabularyAsMegatronDoes) {
  spec.tensor_model_parallel_size = 4;
  const Plan plan = resolve();
  EXPECT_EQ(plan.padded_vocabulary, 1024);
  EXPECT_THAT(plan.remarks, Contains(HasSubstr("vocabulary padded from 1000 to 1024")));
  spec.make_vocab_size_divisible_by = 1;
  EXPECT_EQ(resolve().padded_vocabulary, 1000);
  model = small_vit();
  spec.seq_length = 0;
  EXPECT_EQ(resolve().padded_vocabulary, 0);
}

TEST_F(ResolvePlan, CutsBlocksEvenlyWithEmbeddingFirstAndHeadLast) {
  spec.pipeline_model_parallel_size = 4;
  const Plan plan = resolve();
  ASSERT_EQ(plan.chunks.size(), 4u);
  EXPECT_EQ(plan.chunks[0].first, LayerId(0));
  EXPECT_EQ(plan.chunks[0].last, LayerId(2));
  EXPECT_EQ(plan.chunks[1].first, LayerId(3));
  EXPECT_EQ(plan.chunks[3].last, LayerId(9));
}

TEST_F(ResolvePlan, TakesAnExplicitSplitWithTheHeadAlone) {
  spec.pipeline_model_parallel_size = 4;
  spec.pipeline_layers = {2, 3, 3, 0};
  const Plan plan = resolve();
  EXPECT_EQ(plan.chunks[2].last, LayerId(8));
  EXPECT_EQ(plan.chunks[3].first, LayerId(9));
  EXPECT_EQ(plan.chunks[3].last, LayerId(9));
}

TEST_F(ResolvePlan, ProposesANearEvenSplit) {
  machine.devices = 6;
  spec.pipeline_model_parallel_size = 3;
  EXPECT_THAT(
      problems(),
      ElementsAre("8 layers of small-llama cannot be split evenly over pipeline_model_parallel_size = 3 | for "
                  "pipeline_model_parallel_size, use 1, 2, 4, 8; or pipeline_layers = [3, 3, 2]"));
}

TEST_F(ResolvePlan, RefusesSplitsThatDoNotAddUp) {
  spec.pipeline_model_parallel_size = 2;
  spec.pipeline_layers = {4, 3};
  EXPECT_THAT(problems(),
              ElementsAre("pipeline_layers adds up to 7 blocks, small-llama has 8 | use for instance [4, 4]"));
  spec.pipeline_layers = {4, 2, 2};
  EXPECT_THAT(problems(), ElementsAre(HasSubstr("pipeline_layers has 3 entries, the pipeline has 2 chunks")));
  spec.pipeline_layers = {9, -1};
  EXPECT_THAT(problems(), ElementsAre(HasSubstr("pipeline_layers has 9 blocks in chunk 0")));
  spec.pipeline_model_parallel_size = 4;
  spec.pipeline_layers = {4, 0, 2, 2};
  EXPECT_THAT(problems(), ElementsAre(HasSubstr("leaves chunk 1 empty")));
}

TEST_F(ResolvePlan, CountsEncoderAndDecoderBlocksTogether) {
  model = small_t5();
  spec.decoder_seq_length = 64;
  spec.pipeline_model_parallel_size = 2;
  const Plan plan = resolve();
  EXPECT_EQ(plan.chunks[0].last, LayerId(5));
  EXPECT_EQ(plan.tokens.encoder, 128);
  EXPECT_EQ(plan.tokens.main, 64);
}

TEST_F(ResolvePlan, UsesTheModelsOwnSequenceWhereItHasOne) {
  model = small_vit();
  spec.seq_length = 0;
  EXPECT_EQ(resolve().tokens.main, 17);
  spec.seq_length = 128;
  EXPECT_THAT(problems(),
              ElementsAre("seq_length = 128, but sequences of small-vit have 17 tokens | leave it out"));
}

TEST_F(ResolvePlan, AsksForTheSequenceLength) {
  spec.seq_length = 0;
  EXPECT_THAT(problems(),
              ElementsAre(HasSubstr("seq_length is not given | give the tokens of a training sequence")));
  model = small_t5();
  spec.seq_length = 64;
  EXPECT_THAT(problems(), ElementsAre(HasSubstr("decoder_seq_length is not given")));
}

TEST_F(ResolvePlan, SaysHowManyDevicesAreNeeded) {
  machine.devices = 64;
  spec.tensor_model_parallel_size = 8;
  spec.pipeline_model_parallel_size = 8;
  spec.data_parallel_size = 2;
  EXPECT_THAT(problems(),
              ElementsAre("the plan needs 128 devices (tp 8 x dp 2 x pp 8), the cluster has 64 | use "
                          "data_parallel_size = 1, or leave it out"));
  spec.data_parallel_size = 0;
  spec.context_parallel_size = 2;
  EXPECT_THAT(
      problems(),
      ElementsAre(HasSubstr("the plan needs at least 128 devices (tp 8 x cp 2 x pp 8), the cluster has 64")));
  machine.devices = 192;
  spec.context_parallel_size = 1;
  spec.pipeline_model_parallel_size = 4;
  spec.tensor_model_parallel_size = 4;
  machine.devices = 40;
  EXPECT_THAT(problems(),
              ElementsAre("the plan needs a multiple of 16 devices (tp 4 x pp 4), the cluster has 40 | for "
                          "tensor_model_parallel_size, use 1, 2, 5, 10"));
}

TEST_F(ResolvePlan, LeavesDevicesIdleOnlyWherePlacementSaysSo) {
  spec.data_parallel_size = 2;
  EXPECT_THAT(problems(), ElementsAre(HasSubstr("the plan needs 2 devices (dp 2), the cluster has 8")));
  spec.placement = {3, 5};
  const Plan plan = resolve();
  EXPECT_THAT(plan.placement, ElementsAre(3, 5));
  EXPECT_THAT(plan.remarks, Contains("6 of 8 devices stay idle, as placed"));
}

TEST_F(ResolvePlan, RefusesPlacementsThatArePermutationsOfNothing) {
  spec.placement = {0, 1, 2};
  EXPECT_THAT(problems(), ElementsAre(HasSubstr("placement names 3 devices, the plan has 8 ranks")));
  spec.placement = {0, 1, 2, 3, 4, 5, 6, 8};
  EXPECT_THAT(problems(),
              ElementsAre(HasSubstr("placement puts rank 7 on device 8, the cluster has devices 0 to 7")));
  spec.placement = {0, 1, 2, 3, 4, 5, 6, 6};
  EXPECT_THAT(problems(),
              ElementsAre(HasSubstr("placement puts rank 7 on device 6, where another rank is already")));
}

TEST_F(ResolvePlan, ProposesTensorDegreesThatFitTheModel) {
  machine.devices = 6;
  spec.tensor_model_parallel_size = 3;
  EXPECT_THAT(problems(),
              ElementsAre("tensor_model_parallel_size = 3 does not divide 8 attention heads, and neither "
                          "divides 4 key-value heads nor is a multiple of them of small-llama | use 1, 2, 4"));
}

TEST_F(ResolvePlan, CopiesKeyValueHeadsWhereTensorDegreeIsAMultiple) {
  spec.tensor_model_parallel_size = 8;
  EXPECT_THAT(problems(), IsEmpty());
}

TEST_F(ResolvePlan, ChecksSequenceParallelism) {
  spec.sequence_parallel = true;
  EXPECT_THAT(problems(), ElementsAre(HasSubstr("sequence_parallel needs tensor_model_parallel_size > 1")));
  spec.tensor_model_parallel_size = 8;
  spec.seq_length = 100;
  EXPECT_THAT(problems(),
              ElementsAre("seq_length = 100 is not a multiple of tensor_model_parallel_size = 8, as "
                          "sequence_parallel needs | use 96 or 104"));
  spec.sequence_parallel = false;
  spec.tp_comm_overlap = true;
  EXPECT_THAT(problems(), ElementsAre("tp_comm_overlap needs sequence_parallel | turn sequence_parallel on"));
}

TEST_F(ResolvePlan, ChecksContextParallelismByItsCommunication) {
  spec.context_parallel_size = 4;
  spec.seq_length = 100;
  EXPECT_THAT(
      problems(),
      ElementsAre("seq_length = 100 is not a multiple of 2 x context_parallel_size = 8 | use 96 or 104"));
  spec.cp_comm_type = ContextCommunication::AllGather;
  EXPECT_THAT(problems(), IsEmpty());
  spec.cp_comm_type = ContextCommunication::AllToAll;
  spec.tensor_model_parallel_size = 2;
  EXPECT_THAT(problems(),
              ElementsAre("cp_comm_type = a2a: context_parallel_size 4 x tp 2 does not divide 8 attention "
                          "heads and 4 key-value heads | use 1, 2; or cp_comm_type = p2p"));
}

TEST_F(ResolvePlan, RefusesMorePositionsThanWereLearned) {
  model = small_gpt2();
  spec.seq_length = 2048;
  EXPECT_THAT(problems(),
              ElementsAre("seq_length = 2048 is longer than the 1024 learned positions of small-gpt2 | use at "
                          "most 1024"));
}

TEST_F(ResolvePlan, ChecksTheBatch) {
  spec.micro_batch_size = 2;
  spec.global_batch_size = 100;
  EXPECT_THAT(
      problems(),
      ElementsAre("global_batch_size = 100 is not a multiple of micro_batch_size 2 x data_parallel_size "
                  "8 = 16 | use 96 or 112"));
  spec.global_batch_size = 96;
  EXPECT_EQ(resolve().microbatches, 6u);
}

TEST_F(ResolvePlan, ChoosesInterleavedForSeveralChunks) {
  spec.pipeline_model_parallel_size = 4;
  spec.virtual_pipeline_model_parallel_size = 2;
  spec.global_batch_size = 16;
  const Plan plan = resolve();
  EXPECT_EQ(plan.schedule.kind, ScheduleKind::Interleaved);
  EXPECT_EQ(plan.chunks.size(), 8u);
  spec.global_batch_size = 12;
  EXPECT_THAT(
      problems(),
      ElementsAre(
          "schedule = interleaved needs a number of microbatches that 4 stages divide, not 6 "
          "(global_batch_size 12 / micro_batch_size 1 / data_parallel_size 2) | for global_batch_size, use "
          "8 or 16"));
}

TEST_F(ResolvePlan, ChecksChunksAgainstTheSchedule) {
  spec.pipeline_model_parallel_size = 2;
  spec.schedule = ScheduleKind::Interleaved;
  EXPECT_THAT(problems(), ElementsAre("schedule = interleaved needs at least two chunks a stage, but "
                                      "virtual_pipeline_model_parallel_size = 0 | use 2, 4"));
  spec.schedule = ScheduleKind::GPipe;
  spec.virtual_pipeline_model_parallel_size = 2;
  EXPECT_THAT(problems(), ElementsAre(HasSubstr("schedule = gpipe has one chunk a stage, but")));
  spec.schedule.reset();
  spec.pipeline_model_parallel_size = 1;
  EXPECT_THAT(problems(), ElementsAre(HasSubstr("virtual_pipeline_model_parallel_size = 2 needs "
                                                "pipeline_model_parallel_size > 1")));
}

TEST_F(ResolvePlan, PutsZeroBubbleVInTwoChunksAStage) {
  spec.pipeline_model_parallel_size = 2;
  spec.schedule = ScheduleKind::ZeroBubbleV;
  const Plan plan = resolve();
  EXPECT_EQ(plan.chunks.size(), 4u);
  EXPECT_EQ(plan.schedule.home({3, 0}).stage, 0u);
}

TEST_F(ResolvePlan, ChecksDualPipesShape) {
  spec.pipeline_model_parallel_size = 4;
  spec.schedule = ScheduleKind::DualPipe;
  EXPECT_THAT(problems(),
              ElementsAre(AllOf(HasSubstr("at least 8 (twice the stages), not 1"), HasSubstr("use 16"))));
  spec.global_batch_size = 16;
  EXPECT_EQ(resolve().chunks.size(), 4u);
  spec.pipeline_model_parallel_size = 1;
  EXPECT_THAT(problems(),
              ElementsAre(HasSubstr("schedule = dualpipe needs an even pipeline_model_parallel_size, not 1")));
}

TEST_F(ResolvePlan, RefusesExpertDegreesWithoutExperts) {
  spec.expert_model_parallel_size = 2;
  EXPECT_THAT(problems(),
              ElementsAre("expert_model_parallel_size = 2, but small-llama has no experts | leave it out"));
}

TEST_F(ResolvePlan, SpreadsExpertsOverContextAndData) {
  model = small_mixtral();
  spec.tensor_model_parallel_size = 2;
  spec.sequence_parallel = true;
  spec.expert_model_parallel_size = 4;
  const Plan plan = resolve();
  EXPECT_EQ(plan.mesh.shape().etp, 2);
  EXPECT_EQ(plan.mesh.shape().edp, 1);
  spec.expert_tensor_parallel_size = 1;
  EXPECT_EQ(resolve().mesh.shape().edp, 2);
}

TEST_F(ResolvePlan, ChecksExpertsAgainstTheirDegrees) {
  model = small_mixtral();
  spec.expert_model_parallel_size = 3;
  EXPECT_THAT(problems(),
              ElementsAre("expert_model_parallel_size = 3 does not divide 8 experts | use 1, 2, 4, 8"));
  spec.expert_model_parallel_size = 8;
  spec.expert_tensor_parallel_size = 2;
  EXPECT_THAT(
      problems(),
      ElementsAre("expert_model_parallel_size = 8 x expert_tensor_parallel_size = 2 does not divide the 8 "
                  "ranks of a pipeline stage (tp x cp x dp) | use 1, 2, 4"));
  spec.expert_model_parallel_size = 1;
  spec.expert_tensor_parallel_size = 1;
  spec.tensor_model_parallel_size = 2;
  EXPECT_THAT(problems(), ElementsAre(HasSubstr("with experts needs sequence_parallel")));
}

TEST_F(ResolvePlan, RefusesRankOrdersThatAreNone) {
  spec.rank_order = "tp-dp-pp";
  EXPECT_THAT(problems(),
              ElementsAre(HasSubstr("order 'tp-dp-pp' does not name each of tp, cp, ep, dp, pp once")));
}

TEST_F(ResolvePlan, RefusesZeroTwoInAPipelineAndSaysWhy) {
  spec.zero_stage = 2;
  EXPECT_THAT(problems(), IsEmpty());
  spec.pipeline_model_parallel_size = 2;
  EXPECT_THAT(problems(), ElementsAre(AllOf(HasSubstr("zero_stage = 2 with pipeline_model_parallel_size = 2"),
                                            HasSubstr("use 1 (Megatron's distributed optimizer) or 3"))));
  spec.zero_stage = 3;
  EXPECT_THAT(problems(), IsEmpty());
}

TEST_F(ResolvePlan, RefusesZeroThreeWithWeightGradientsThatComeLaterWhateverTheStages) {
  spec.zero_stage = 3;
  for (const std::int64_t stages : {1, 2}) {
    spec.pipeline_model_parallel_size = stages;
    for (const ScheduleKind kind : {ScheduleKind::ZeroBubbleH1, ScheduleKind::ZeroBubbleV}) {
      spec.schedule = kind;
      EXPECT_THAT(problems(), ElementsAre(HasSubstr("finishes weight gradients later"))) << stages;
    }
  }
}

TEST_F(ResolvePlan, ShardsInGroupsThatDivideTheReplicas) {
  spec.zero_stage = 1;
  spec.sharding_degree = 4;
  EXPECT_EQ(resolve().mesh.group_count(Axis::Shard), 2u);
  spec.sharding_degree = 3;
  EXPECT_THAT(problems(), ElementsAre(HasSubstr("sharding_degree = 3 does not divide data_parallel_size 8 x "
                                                "context_parallel_size 1 = 8 | use 1, 2, 4, 8")));
  spec.zero_stage = 0;
  spec.sharding_degree = 4;
  EXPECT_THAT(problems(), ElementsAre(HasSubstr("sharding_degree = 4 needs zero_stage >= 1")));
}

TEST_F(ResolvePlan, GathersParametersOnlyWhereTheyAreSharded) {
  spec.overlap_param_gather = true;
  EXPECT_THAT(problems(), ElementsAre(HasSubstr("overlap_param_gather needs zero_stage >= 1")));
  spec.zero_stage = 1;
  EXPECT_THAT(problems(), ElementsAre(HasSubstr("overlap_param_gather needs overlap_grad_reduce")));
}

TEST_F(ResolvePlan, ChecksRecompute) {
  spec.recompute_num_layers = 2;
  EXPECT_THAT(problems(),
              ElementsAre(HasSubstr("recompute_num_layers has no effect without recompute_granularity")));
  spec.recompute_granularity = RecomputeGranularity::Full;
  EXPECT_THAT(problems(), IsEmpty());
  spec.recompute_num_layers = 9;
  EXPECT_THAT(problems(),
              ElementsAre("recompute_num_layers = 9 is more than the 8 layers of a chunk | use 1 to 8"));
  spec.recompute_num_layers = 0;
  spec.recompute_method = RecomputeMethod::Block;
  EXPECT_THAT(problems(), ElementsAre(HasSubstr("recompute_method = block needs recompute_num_layers")));
  spec.recompute_method = RecomputeMethod::Uniform;
  spec.recompute_granularity = RecomputeGranularity::Selective;
  EXPECT_THAT(resolve().spec.recompute_modules, ElementsAre(RecomputeModule::CoreAttention));
  spec.recompute_modules = {RecomputeModule::Moe};
  EXPECT_THAT(problems(), ElementsAre(HasSubstr("names a module of experts, but small-llama has none")));
}

TEST_F(ResolvePlan, RefusesNumbersOutOfRange) {
  spec.tensor_model_parallel_size = 0;
  spec.pipeline_model_parallel_size = -4;
  spec.data_parallel_size = std::numeric_limits<std::int64_t>::max();
  spec.zero_stage = 4;
  EXPECT_THAT(problems(),
              ElementsAre("tensor_model_parallel_size = 0 is less than 1 | use at least 1",
                          "pipeline_model_parallel_size = -4 is less than 1 | use at least 1",
                          "zero_stage = 4 is more than 3 | use at most 3",
                          "data_parallel_size = 9223372036854775807 is more than 1000000000 | use at most "
                          "1000000000"));
}

TEST_F(ResolvePlan, RefusesProductsThatNoNumberHolds) {
  spec.pipeline_model_parallel_size = 1'000'000'000;
  spec.context_parallel_size = 1'000'000'000;
  spec.data_parallel_size = 1'000'000'000;
  EXPECT_THAT(problems(), Contains(HasSubstr("the plan needs more than 9e18 devices")));
}

TEST_F(ResolvePlan, RefusesMoreMicrobatchesThanCanBeScheduled) {
  machine.devices = 1;
  spec.global_batch_size = 1'000'000'000;
  EXPECT_THAT(problems(),
              ElementsAre(HasSubstr("1000000000 microbatches of 1 chunks are more than can be scheduled")));
}

TEST_F(ResolvePlan, ReportsIndependentProblemsTogetherWithTheirPlaces) {
  spec.tensor_model_parallel_size = 3;
  spec.seq_length = 0;
  spec.zero_stage = 7;
  spec.where["tensor_model_parallel_size"] = {.file = "plan.toml", .line = 4};
  try {
    resolve();
    FAIL();
  } catch (const InputError& error) {
    ASSERT_EQ(error.problems().size(), 3u);
    EXPECT_EQ(error.problems()[1].where.line, 4);
    EXPECT_EQ(error.problems()[2].where.file, "plan.toml");
    EXPECT_EQ(error.problems()[2].where.line, 0);
  }
}

TEST_F(ResolvePlan, RefusesATypedZero) {
  spec.where["data_parallel_size"] = {.file = "plan.toml", .line = 2};
  EXPECT_THAT(problems(),
              ElementsAre("data_parallel_size = 0 makes no sense | use at least 1, or leave it out"));
}

TEST_F(ResolvePlan, RefusesHostTimesThatAreNoTimes) {
  spec.host_seconds_per_step = Seconds(std::numeric_limits<double>::quiet_NaN());
  spec.data_bytes_per_sample = Bytes(-1);
  EXPECT_EQ(problems().size(), 2u);
}

}  // namespace
}  // namespace tandem
