// Each token of a step is read by one rank of those that share it; what is to be predicted where.
#include "exec/training/batch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "exec/training/markov_source.h"
#include "exec/training/topic_source.h"
#include "tests/exec/training/numbered_source.h"
#include "tests/exec/training/tiny_models.h"

namespace tandem {
namespace {

using testing::Degrees;
using ::testing::ElementsAre;
using testing::plan_of;

BatchShape numbered(BatchShape shape) {
  shape.vocabulary = 1 << 20;
  return shape;
}

// How often each token is read in a step, by all ranks of stage 0 and tensor place 0.
std::map<std::int32_t, int> step_tokens(const testing::Model& model, const Degrees& degrees,
                                        std::int64_t micro_batch_size) {
  PlanSpec spec;
  spec.micro_batch_size = micro_batch_size;
  const Plan plan = plan_of(model, degrees, spec);
  std::map<std::int32_t, int> count;
  for (std::uint32_t r = 0; r < plan.mesh.ranks(); ++r) {
    if (plan.mesh.stage(RankId(r)) != 0 || plan.mesh.place(RankId(r), Axis::Tensor).place != 0) continue;
    const BatchShape shape = numbered(batch_shape(model.graph, plan, RankId(r)));
    for (std::int64_t m = 0; m < shape.microbatches; ++m) {
      Batch batch;
      fill_batch(batch, shape, testing::NumberedSource(), Objective::NextToken, 0, m);
      for (const std::int32_t token : batch.tokens) ++count[token];
    }
  }
  return count;
}

// Eight samples of sixteen tokens, however they are split.
TEST(Batches, HoldEachTokenOfTheStepOnceUnderEveryPlan) {
  std::map<std::int32_t, int> once;
  for (std::int32_t sample = 0; sample < 8; ++sample)
    for (std::int32_t p = 0; p < 16; ++p) once[100 * sample + p] = 1;
  const testing::Model model = testing::tiny_llama();
  EXPECT_EQ(step_tokens(model, {.microbatches = 8}, 1), once);
  EXPECT_EQ(step_tokens(model, {.microbatches = 2}, 4), once);
  EXPECT_EQ(step_tokens(model, {.tp = 2, .dp = 4, .microbatches = 2}, 1), once);
  EXPECT_EQ(step_tokens(model, {.dp = 2, .pp = 2, .microbatches = 2}, 2), once);
  EXPECT_EQ(step_tokens(model, {.cp = 2, .dp = 2, .microbatches = 4}, 1), once);
  EXPECT_EQ(step_tokens(model, {.cp = 4, .dp = 1, .microbatches = 8}, 1), once);
}

TEST(Batches, NumberSamplesByMicrobatchThenDataPlace) {
  const BatchShape shape = {
      .sequences = 2, .length = 3, .microbatches = 2, .data_place = 1, .data_ranks = 2, .vocabulary = 1 << 20};
  Batch batch;
  fill_batch(batch, shape, testing::NumberedSource(), Objective::NextToken, 0, 1);
  EXPECT_THAT(batch.tokens, ElementsAre(600, 601, 602, 700, 701, 702));
  EXPECT_THAT(batch.targets, ElementsAre(601, 602, 603, 701, 702, 703));
  EXPECT_THAT(batch.positions, ElementsAre(0, 1, 2, 0, 1, 2));
}

TEST(Batches, OfACausalRingHoldAPieceOfTheFrontAndOneOfTheBack) {
  BatchShape shape = {
      .length = 8, .context_place = 0, .context_ranks = 2, .zigzag = true, .vocabulary = 1 << 20};
  EXPECT_THAT(local_positions(shape), ElementsAre(0, 1, 6, 7));
  shape.context_place = 1;
  EXPECT_THAT(local_positions(shape), ElementsAre(2, 3, 4, 5));
  Batch batch;
  fill_batch(batch, shape, testing::NumberedSource(), Objective::NextToken, 0, 0);
  EXPECT_THAT(batch.tokens, ElementsAre(2, 3, 4, 5));
  EXPECT_THAT(batch.targets, ElementsAre(3, 4, 5, 6));
}

TEST(Batches, OfAnEncoderAreContiguousWhileItsDecoderZigzags) {
  const testing::Model model = testing::tiny_t5();
  const BatchShape shape = batch_shape(model.graph, plan_of(model, {.cp = 2}), RankId(1));
  EXPECT_THAT(local_positions(shape), ElementsAre(2, 3, 4, 5));
  EXPECT_THAT(local_positions(shape, Sequence::Encoder), ElementsAre(8, 9, 10, 11, 12, 13, 14, 15));
  Batch batch;
  fill_batch(batch, numbered(shape), testing::NumberedSource(), Objective::NextToken, 0, 0);
  EXPECT_THAT(batch.encoder_tokens, ElementsAre(1008, 1009, 1010, 1011, 1012, 1013, 1014, 1015));
  EXPECT_EQ(batch.encoder_positions, local_positions(shape, Sequence::Encoder));
}

TEST(Batches, ZigzagOnlyInACausalRing) {
  PlanSpec gather;
  gather.cp_comm_type = ContextCommunication::AllGather;
  const testing::Model llama = testing::tiny_llama(), bert = testing::tiny_bert();
  EXPECT_TRUE(batch_shape(llama.graph, plan_of(llama, {.cp = 2}), RankId(0)).zigzag);
  EXPECT_FALSE(batch_shape(llama.graph, plan_of(llama, {.cp = 2}, gather), RankId(0)).zigzag);
  EXPECT_FALSE(batch_shape(bert.graph, plan_of(bert, {.cp = 2}), RankId(0)).zigzag);
}

TEST(Objectives, FollowTheAttentionMask) {
  EXPECT_EQ(objective(testing::tiny_gpt().graph), Objective::NextToken);
  EXPECT_EQ(objective(testing::tiny_t5().graph), Objective::NextToken);
  EXPECT_EQ(objective(testing::tiny_bert().graph), Objective::MaskedTokens);
}

TEST(MaskedTokens, AreFifteenPercentOfEachSequence) {
  const BatchShape shape = {.sequences = 50, .length = 40, .vocabulary = 1 << 20};
  Batch batch;
  fill_batch(batch, shape, testing::NumberedSource(), Objective::MaskedTokens, 3, 0);
  ASSERT_EQ(targets_per_sequence(shape, Objective::MaskedTokens), 6);
  std::set<std::int64_t> places;
  for (std::int64_t s = 0; s < 50; ++s) {
    int masked = 0;
    for (std::int64_t p = 0; p < 40; ++p) {
      const auto row = static_cast<std::size_t>(s * 40 + p);
      const auto original = static_cast<std::int32_t>(100 * s + p);
      const bool hidden = batch.targets[row] != -1;
      EXPECT_EQ(batch.tokens[row], hidden ? shape.vocabulary - 1 : original);
      if (!hidden) continue;
      EXPECT_EQ(batch.targets[row], original);
      places.insert(p);
      ++masked;
    }
    EXPECT_EQ(masked, 6);
  }
  EXPECT_EQ(places.size(), 40u);  // any position may be hidden
}

TEST(MaskedTokens, AreTheSameHoweverTheSequenceIsShared) {
  const BatchShape whole = {.sequences = 2, .length = 40, .vocabulary = 1 << 20};
  Batch all, half;
  fill_batch(all, whole, testing::NumberedSource(), Objective::MaskedTokens, 3, 0);
  BatchShape shared = whole;
  shared.context_ranks = 2;
  shared.context_place = 1;
  fill_batch(half, shared, testing::NumberedSource(), Objective::MaskedTokens, 3, 0);
  EXPECT_TRUE(std::equal(half.targets.begin(), half.targets.begin() + 20, all.targets.begin() + 20));
}

TEST(EntropyFloor, FollowsTheObjective) {
  const BatchShape shape = {.length = 100, .vocabulary = 1000};
  const MarkovSource chain({.vocabulary = 999});
  const TopicSource topics({.vocabulary = 999});
  EXPECT_EQ(entropy_floor(shape, chain, Objective::NextToken), chain.entropy_floor(100));
  EXPECT_EQ(entropy_floor(shape, topics, Objective::MaskedTokens), topics.masked_entropy_floor(100, 15));
  EXPECT_EQ(entropy_floor(shape, chain, Objective::MaskedTokens), std::nullopt);
}

TEST(Batches, WithTokensBeyondTheVocabularyAreAMistake) {
  Batch batch;
  EXPECT_THROW(
      fill_batch(batch, {.length = 8, .vocabulary = 7}, testing::NumberedSource(), Objective::NextToken, 0, 0),
      std::logic_error);
}

}  // namespace
}  // namespace tandem
