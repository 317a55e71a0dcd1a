// Breakdown of a step: every moment in one part, and in the right one.
#include "core/record/breakdown.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/random_record.h"
#include "tests/support/record_builder.h"

namespace tandem {
namespace {

using testing::RecordBuilder;

double part(const Breakdown& breakdown, Activity activity) { return breakdown[activity].value; }

double sum(const Breakdown& breakdown) {
  double total = 0;
  for (const Seconds time : breakdown.parts) total += time.value;
  return total;
}

TEST(Breakdown, TellsPhasesApart) {
  RecordBuilder builder;
  builder.compute(0, Phase::Forward, 0, 1);
  builder.compute(0, Phase::Recompute, 1, 3);
  builder.compute(0, Phase::InputGradient, 3, 6);
  builder.compute(0, Phase::WeightGradient, 6, 10);
  builder.compute(0, Phase::Update, 10, 15);
  const Breakdown mean = breakdown(builder.record()).mean;
  EXPECT_EQ(part(mean, Activity::Forward), 1);
  EXPECT_EQ(part(mean, Activity::Recompute), 2);
  EXPECT_EQ(part(mean, Activity::Backward), 3);
  EXPECT_EQ(part(mean, Activity::WeightGradient), 4);
  EXPECT_EQ(part(mean, Activity::Optimizer), 5);
  EXPECT_EQ(mean.compute().value, 10);
  EXPECT_EQ(mean.step.value, 15);
}

TEST(Breakdown, CommunicationThatTheNextComputationAwaitsIsExposed) {
  RecordBuilder builder;
  const auto first = builder.compute(0, Phase::Forward, 0, 1);
  const auto reduce = builder.collective(0, Lane::Tensor, 1, 3);
  const auto second = builder.compute(0, Phase::Forward, 3, 4);
  builder.held(reduce, HeldBy::Dependency, first).held(second, HeldBy::Dependency, reduce);
  const Breakdown mean = breakdown(builder.record()).mean;
  EXPECT_EQ(part(mean, Activity::Tensor), 2);
  EXPECT_EQ(part(mean, Activity::Forward), 2);
}

TEST(Breakdown, CommunicationBehindComputationIsHidden) {
  RecordBuilder builder;
  builder.compute(0, Phase::InputGradient, 0, 4);
  builder.collective(0, Lane::Data, 1, 3, CollectiveKind::ReduceScatter);
  const Breakdown mean = breakdown(builder.record()).mean;
  EXPECT_EQ(part(mean, Activity::Data), 0);
  EXPECT_EQ(mean.hidden[static_cast<std::size_t>(TrafficAxis::Data)].value, 2);
  EXPECT_EQ(mean.busy[static_cast<std::size_t>(TrafficAxis::Data)].value, 2);
}

TEST(Breakdown, HalfHiddenCommunicationIsCountedInBothParts) {
  RecordBuilder builder;
  builder.compute(0, Phase::InputGradient, 0, 2);
  const auto scatter = builder.collective(0, Lane::Data, 1, 5, CollectiveKind::ReduceScatter);
  const auto update = builder.compute(0, Phase::Update, 5, 6);
  builder.held(update, HeldBy::Dependency, scatter);
  const Breakdown mean = breakdown(builder.record()).mean;
  EXPECT_EQ(part(mean, Activity::Data), 3);
  EXPECT_EQ(mean.hidden[static_cast<std::size_t>(TrafficAxis::Data)].value, 1);
}

TEST(Breakdown, QueuedCommunicationBeforeTheAwaitedOneIsExposedToo) {
  RecordBuilder builder;
  builder.compute(0, Phase::InputGradient, 0, 1);
  const auto context = builder.collective(0, Lane::Context, 1, 2);
  const auto gather = builder.collective(0, Lane::Data, 2, 4);
  const auto next = builder.compute(0, Phase::Forward, 4, 5);
  builder.held(gather, HeldBy::Dependency, context).held(next, HeldBy::Dependency, gather);
  const Breakdown mean = breakdown(builder.record()).mean;
  EXPECT_EQ(part(mean, Activity::Context), 1);
  EXPECT_EQ(part(mean, Activity::Data), 2);
}

TEST(Breakdown, WaitingForAMessageIsBubbleAndItsFlightIsExposed) {
  RecordBuilder builder;
  builder.rank(0, 0).rank(1, 1);
  const auto forward = builder.compute(0, Phase::Forward, 0, 3);
  const auto send = builder.send(0, 7, 3, 4);
  const auto receive = builder.receive(1, 7, 3, 4);
  const auto next = builder.compute(1, Phase::Forward, 4, 6);
  builder.held(send, HeldBy::Dependency, forward)
      .held(receive, HeldBy::Peer, forward)
      .held(next, HeldBy::Dependency, receive);
  const StepBreakdown step = breakdown(builder.record());
  EXPECT_EQ(part(step.ranks[1].breakdown, Activity::Bubble), 3);
  EXPECT_EQ(part(step.ranks[1].breakdown, Activity::Pipeline), 1);
  EXPECT_EQ(part(step.ranks[1].breakdown, Activity::Forward), 2);
  // The first stage sends for a second, which nothing of its own awaits but the end, and then waits for the
  // other stage.
  EXPECT_EQ(part(step.ranks[0].breakdown, Activity::Pipeline), 1);
  EXPECT_EQ(part(step.ranks[0].breakdown, Activity::Bubble), 2);
}

TEST(Breakdown, WaitingForAnotherStageInACollectiveIsBubble) {
  RecordBuilder builder;
  builder.rank(0, 0).rank(1, 1);
  const auto slow = builder.compute(0, Phase::InputGradient, 0, 5);
  builder.compute(1, Phase::InputGradient, 0, 2);
  const auto norm = builder.collective(1, Lane::Data, 5, 6);
  const auto update = builder.compute(1, Phase::Update, 6, 7);
  builder.held(norm, HeldBy::Peer, slow).held(update, HeldBy::Dependency, norm);
  const Breakdown second = breakdown(builder.record()).ranks[1].breakdown;
  EXPECT_EQ(part(second, Activity::Bubble), 3);
  EXPECT_EQ(part(second, Activity::Data), 1);
  EXPECT_EQ(part(second, Activity::Idle), 0);
}

TEST(Breakdown, WaitingForAMemberOfTheSameStageIsIdle) {
  RecordBuilder builder;
  const auto slow = builder.compute(0, Phase::Forward, 0, 5);
  builder.compute(1, Phase::Forward, 0, 2);
  const auto reduce = builder.collective(1, Lane::Tensor, 5, 6);
  const auto next = builder.compute(1, Phase::Forward, 6, 7);
  builder.held(reduce, HeldBy::Peer, slow).held(next, HeldBy::Dependency, reduce);
  const Breakdown second = breakdown(builder.record()).ranks[1].breakdown;
  EXPECT_EQ(part(second, Activity::Idle), 3);
  EXPECT_EQ(part(second, Activity::Bubble), 0);
}

TEST(Breakdown, LateLaunchIsHostTime) {
  RecordBuilder builder;
  builder.compute(0, Phase::Forward, 0, 1);
  const auto next = builder.compute(0, Phase::Forward, 1.5, 2);
  builder.held(next, HeldBy::Host);
  EXPECT_EQ(part(breakdown(builder.record()).mean, Activity::Host), 0.5);
}

TEST(Breakdown, LateLaunchAfterACommunicationSharesTheGap) {
  RecordBuilder builder;
  builder.compute(0, Phase::Forward, 0, 1);
  const auto reduce = builder.collective(0, Lane::Tensor, 1, 3);
  const auto next = builder.compute(0, Phase::Forward, 3.5, 4);
  builder.held(next, HeldBy::Host, reduce);
  const Breakdown mean = breakdown(builder.record()).mean;
  EXPECT_EQ(part(mean, Activity::Host), 0.5);
  EXPECT_EQ(part(mean, Activity::Tensor), 2);
}

TEST(Breakdown, CopiesAndInputHavePartsOfTheirOwn) {
  RecordBuilder builder;
  const auto input = builder.add(0, Lane::Input, {.label = "input", .kind = TaskKind::Input}, 0, 1);
  const auto copy = builder.add(0, Lane::Copy, {.label = "fetch", .kind = TaskKind::Copy}, 1, 3);
  const auto forward = builder.compute(0, Phase::Forward, 3, 4);
  builder.held(copy, HeldBy::Dependency, input).held(forward, HeldBy::Dependency, copy);
  const Breakdown mean = breakdown(builder.record()).mean;
  EXPECT_EQ(part(mean, Activity::Input), 1);
  EXPECT_EQ(part(mean, Activity::Copy), 2);
}

TEST(Breakdown, InfersWhatAMeasuredGapWaitedFor) {
  RecordBuilder builder;
  builder.compute(0, Phase::Forward, 0, 1);
  builder.collective(0, Lane::Tensor, 1.25, 3);
  builder.compute(0, Phase::Forward, 3, 4);
  const Breakdown mean = breakdown(builder.record()).mean;
  EXPECT_EQ(part(mean, Activity::Tensor), 1.75);
  EXPECT_EQ(part(mean, Activity::Idle), 0.25);
}

TEST(Breakdown, WeighsRanksByTheRanksTheyStandFor) {
  RecordBuilder builder;
  builder.rank(0, 0, 3).rank(1, 1, 1);
  builder.compute(0, Phase::Forward, 0, 4);
  builder.compute(1, Phase::Forward, 0, 2);
  const StepBreakdown step = breakdown(builder.record());
  EXPECT_EQ(part(step.mean, Activity::Forward), 3.5);
  EXPECT_EQ(part(step.mean, Activity::Bubble), 0.5);
  EXPECT_EQ(step.mean.bubble_fraction(), 0.125);
}

TEST(Breakdown, AveragesOverTheStepsAfterWarmUp) {
  RecordBuilder builder;
  builder.compute(0, Phase::Forward, 0, 10);
  builder.next_step().compute(0, Phase::Forward, 10, 12);
  builder.next_step().compute(0, Phase::Forward, 12, 16);
  builder.record().warmup_steps = 1;
  const Breakdown mean = breakdown(builder.record()).mean;
  EXPECT_EQ(mean.step.value, 3);
  EXPECT_EQ(part(mean, Activity::Forward), 3);
}

TEST(Breakdown, FillsAPredictedStepThatEndsAfterItsLastSpan) {
  RecordBuilder builder;
  builder.compute(0, Phase::Forward, 0, 2);
  builder.record().summary["step_time_s"] = 2.5;
  const Breakdown mean = breakdown(builder.record()).mean;
  EXPECT_EQ(mean.step.value, 2.5);
  EXPECT_EQ(part(mean, Activity::Idle), 0.5);
}

TEST(Breakdown, OfAnEmptyRecordIsNothing) { EXPECT_EQ(sum(breakdown(RecordBuilder().record()).mean), 0); }

TEST(Breakdown, PartsOfRandomRecordsSumToTheStep) {
  for (std::uint32_t seed = 0; seed < 60; ++seed) {
    RunRecord record = testing::random_record(seed);
    check_record(record);
    if (seed % 3 == 0)  // as measured: without causes
      for (RecordSpan& span : record.spans) span.cause = no_span, span.held_by = 0;
    const StepBreakdown step = breakdown(record);
    for (const RankBreakdown& rank : step.ranks) {
      EXPECT_NEAR(sum(rank.breakdown), rank.breakdown.step.value, 1e-12 * rank.breakdown.step.value) << seed;
      for (const Seconds time : rank.breakdown.parts) EXPECT_GE(time.value, 0) << seed;
      for (std::size_t axis = 0; axis < traffic_axis_count; ++axis)
        EXPECT_LE(rank.breakdown.hidden[axis].value, rank.breakdown.busy[axis].value * (1 + 1e-12)) << seed;
    }
    EXPECT_NEAR(sum(step.mean), step.mean.step.value, 1e-12 * step.mean.step.value) << seed;
  }
}

TEST(BreakdownValues, HaveStableKeysThatSumToTheStep) {
  const Breakdown mean = breakdown(testing::random_record(5)).mean;
  const auto values = breakdown_values(mean);
  double total = 0;
  for (const char* key : {"compute_s", "optimizer_s", "exposed_comm_s", "exposed_copy_s", "input_s", "bubble_s",
                          "host_s", "idle_s"})
    total += values.at(key);
  EXPECT_NEAR(total, mean.step.value, 1e-12 * mean.step.value);
  EXPECT_DOUBLE_EQ(values.at("bubble_fraction"), values.at("bubble_s") / mean.step.value);
  for (const char* axis : {"tp", "cp", "ep", "dp", "pp"}) {
    EXPECT_TRUE(values.contains(std::string("exposed_") + axis + "_s"));
    EXPECT_TRUE(values.contains(std::string("hidden_") + axis + "_s"));
  }
}

TEST(BreakdownText, ListsPartsWithShares) {
  RecordBuilder builder;
  const auto first = builder.compute(0, Phase::Forward, 0, 3);
  const auto reduce = builder.collective(0, Lane::Tensor, 3, 4);
  builder.held(reduce, HeldBy::Dependency, first);
  EXPECT_THAT(text(breakdown(builder.record()).mean),
              ::testing::ContainsRegex("forward +3.* s +75.0 %\nexposed tp +1.* s +25.0 %"));
}

TEST(OperatorOfLabel, DropsLayersAndNumbers) {
  EXPECT_EQ(operator_of_label("L12.mlp.up"), "mlp.up");
  EXPECT_EQ(operator_of_label("gradients 3.reduce_scatter"), "gradients.reduce_scatter");
  EXPECT_EQ(operator_of_label("Linear"), "Linear");
  EXPECT_EQ(operator_of_label("L12"), "L12");
  EXPECT_EQ(operator_of_label(""), "");
}

}  // namespace
}  // namespace tandem
