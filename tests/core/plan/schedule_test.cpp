// Orders, bubbles and activations in flight of every schedule against the formulas of their papers.
#include "core/plan/schedule.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/plan/timeline.h"

namespace tandem {
namespace {

std::uint32_t most_in_flight(const Schedule& schedule) {
  std::uint32_t most = 0;
  for (std::uint32_t stage = 0; stage < schedule.stages; ++stage)
    most = std::max(most, peak_in_flight(schedule, StageId(stage)));
  return most;
}

// Idle time of a stage between its first and its last slot.
double idle_inside(const Schedule& schedule, std::uint32_t stage, const PhaseTimes& times) {
  const Timeline timeline = play(schedule, times);
  double busy = 0;
  for (const Slot& slot : schedule.slots[stage]) busy += duration(slot.phase, times);
  return timeline.slots[stage].back().end - timeline.slots[stage].front().start - busy;
}

const std::vector<ScheduleShape> kShapes = {
    {.stages = 1, .microbatches = 1}, {.stages = 1, .microbatches = 7}, {.stages = 2, .microbatches = 3},
    {.stages = 3, .microbatches = 1}, {.stages = 4, .microbatches = 8}, {.stages = 7, .microbatches = 7},
    {.stages = 8, .microbatches = 5}, {.stages = 8, .microbatches = 40}};

TEST(GPipe, DoesAllForwardsThenAllBackwards) {
  const Schedule schedule = gpipe({.stages = 2, .microbatches = 3});
  EXPECT_EQ(text(schedule, StageId(0)), "F0 F1 F2 B0 B1 B2");
  EXPECT_EQ(text(schedule, StageId(1)), "F0 F1 F2 B0 B1 B2");
}

TEST(GPipe, HoldsAllMicrobatches) {
  EXPECT_EQ(peak_in_flight(gpipe({.stages = 4, .microbatches = 9}), StageId(3)), 9u);
}

TEST(OneForwardOneBackward, LastStageAlternatesFromTheStart) {
  const Schedule schedule = one_forward_one_backward({.stages = 4, .microbatches = 3});
  EXPECT_EQ(text(schedule, StageId(3)), "F0 B0 F1 B1 F2 B2");
}

TEST(OneForwardOneBackward, FirstStageStartsWithOneForwardAStage) {
  const Schedule schedule = one_forward_one_backward({.stages = 3, .microbatches = 5});
  EXPECT_EQ(text(schedule, StageId(0)), "F0 F1 F2 B0 F3 B1 F4 B2 B3 B4");
}

TEST(OneForwardOneBackward, StageHoldsOneMicrobatchForItselfAndEachLaterStage) {
  for (const ScheduleShape& shape : kShapes) {
    const Schedule schedule = one_forward_one_backward(shape);
    for (std::uint32_t stage = 0; stage < shape.stages; ++stage)
      EXPECT_EQ(peak_in_flight(schedule, StageId(stage)), std::min(shape.microbatches, shape.stages - stage));
  }
}

TEST(Schedules, GPipeAndOneForwardOneBackwardIdleForOneSlotAStage) {
  for (const ScheduleShape& shape : kShapes) {
    const double p = shape.stages, m = shape.microbatches, bubble = (p - 1) / (m + p - 1);
    EXPECT_DOUBLE_EQ(ideal_bubble_fraction(gpipe(shape)), bubble);
    EXPECT_DOUBLE_EQ(ideal_bubble_fraction(one_forward_one_backward(shape)), bubble);
  }
}

TEST(Interleaved, WorksThroughGroupsOfAsManyMicrobatchesAsStages) {
  const Schedule schedule = interleaved({.stages = 2, .microbatches = 4, .chunks_per_stage = 2});
  EXPECT_EQ(text(schedule, StageId(0)),
            "F0.0 F1.0 F0.1 F1.1 F2.0 B0.1 F3.0 B1.1 F2.1 B0.0 F3.1 B1.0 B2.1 B3.1 B2.0 B3.0");
  EXPECT_EQ(text(schedule, StageId(1)),
            "F0.0 F1.0 F0.1 B0.1 F1.1 B1.1 F2.0 B0.0 F3.0 B1.0 F2.1 B2.1 F3.1 B3.1 B2.0 B3.0");
}

TEST(Interleaved, DealsPositionsRoundTheStages) {
  const Schedule schedule = interleaved({.stages = 4, .microbatches = 4, .chunks_per_stage = 3});
  EXPECT_EQ(schedule.chunks[1], (std::vector<ChunkPlace>{{.position = 1}, {.position = 5}, {.position = 9}}));
}

TEST(Interleaved, DividesTheBubbleByTheChunks) {
  for (std::uint32_t p : {2u, 3u, 4u, 8u})
    for (std::uint32_t groups : {1u, 2u, 5u})
      for (std::uint32_t v : {2u, 3u, 4u}) {
        const double m = groups * p;
        const ScheduleShape shape{.stages = p, .microbatches = groups * p, .chunks_per_stage = v};
        EXPECT_NEAR(ideal_bubble_fraction(interleaved(shape)), (p - 1) / (v * m + p - 1), 1e-15);
      }
}

TEST(ZeroBubbleH1, WeightGradientsLagByTheStagesNumber) {
  const Schedule schedule = zero_bubble_h1({.stages = 3, .microbatches = 4});
  EXPECT_EQ(text(schedule, StageId(0)), "F0 F1 F2 I0 W0 F3 I1 W1 I2 W2 I3 W3");
  EXPECT_EQ(text(schedule, StageId(2)), "F0 I0 F1 I1 F2 I2 W0 F3 I3 W1 W2 W3");
}

// (p-1)(tF + tB - tW), the paper's table 2.
TEST(ZeroBubbleH1, IdlesAsItsPaperSays) {
  for (std::uint32_t p : {1u, 2u, 4u, 7u})
    for (std::uint32_t m : {p, 2 * p, 3 * p + 1}) {
      const Schedule schedule = zero_bubble_h1({.stages = p, .microbatches = m});
      EXPECT_DOUBLE_EQ(play(schedule).span, 3.0 * m + (p - 1));
      EXPECT_NEAR(ideal_bubble_fraction(schedule), (p - 1) / (3.0 * m + p - 1), 1e-15);
      for (const PhaseTimes t : {PhaseTimes{3, 3, 2}, PhaseTimes{4, 5, 3}, PhaseTimes{2, 2, 2}})
        EXPECT_DOUBLE_EQ(play(schedule, t).span,
                         m * (t.forward + t.input_gradient + t.weight_gradient) +
                             (p - 1) * (t.forward + t.input_gradient - t.weight_gradient))
            << p << " " << m << " " << t.forward;
    }
}

TEST(ZeroBubbleH1, HoldsNoMoreThanTheFirstStageOfOneForwardOneBackward) {
  for (const ScheduleShape& shape : kShapes)
    EXPECT_EQ(most_in_flight(zero_bubble_h1(shape)), most_in_flight(one_forward_one_backward(shape)));
}

TEST(ZeroBubbleV, PutsFirstAndLastPositionOnTheFirstStage) {
  const Schedule schedule = zero_bubble_v({.stages = 4, .microbatches = 8, .chunks_per_stage = 2});
  EXPECT_EQ(schedule.chunks[0], (std::vector<ChunkPlace>{{.position = 0}, {.position = 7}}));
  EXPECT_EQ(schedule.chunks[3], (std::vector<ChunkPlace>{{.position = 3}, {.position = 4}}));
}

TEST(ZeroBubbleV, DoesNotIdleBetweenFirstAndLastSlot) {
  for (std::uint32_t p : {1u, 2u, 4u, 6u})
    for (std::uint32_t m : {2 * p - 1, 2 * p, 5 * p}) {
      const Schedule schedule = zero_bubble_v({.stages = p, .microbatches = m, .chunks_per_stage = 2});
      for (std::uint32_t stage = 0; stage < p; ++stage)
        EXPECT_EQ(idle_inside(schedule, stage, {}), 0) << p << " " << m;
      EXPECT_EQ(play(schedule).span, 6.0 * m + p - 1);
    }
}

TEST(ZeroBubbleV, HoldsNoMoreThanOneForwardOneBackward) {
  for (ScheduleShape shape : kShapes) {
    shape.chunks_per_stage = 2;
    // A chunk is half a stage.
    EXPECT_LE(most_in_flight(zero_bubble_v(shape)), 2 * shape.stages);
  }
}

TEST(ZeroBubbleV, IdlesLessThanOneForwardOneBackward) {
  for (std::uint32_t p : {2u, 4u, 8u})
    for (std::uint32_t m : {1u, p - 1, p, 4 * p}) {
      const Schedule v = zero_bubble_v({.stages = p, .microbatches = m, .chunks_per_stage = 2});
      EXPECT_LT(ideal_bubble_fraction(v), ideal_bubble_fraction(one_forward_one_backward({p, m})))
          << p << " " << m;
    }
}

TEST(DualPipe, PairsForwardsOfOneDirectionWithBackwardsOfTheOther) {
  const Schedule schedule = dualpipe({.stages = 4, .microbatches = 8});
  EXPECT_EQ(text(schedule, StageId(0)),
            "F0.0 F1.0 F2.0 F4.1 I4.1 W4.1 F5.1 F3.0&B5.1 F6.1&B0.0 B6.1 F7.1&B1.0 B7.1 I2.0 W2.0 I3.0 W3.0");
}

TEST(DualPipe, HoldsEachPositionOnTwoMirroredStages) {
  const Schedule schedule = dualpipe({.stages = 4, .microbatches = 8});
  EXPECT_EQ(schedule.positions(), 4u);
  EXPECT_EQ(schedule.chunks[1], (std::vector<ChunkPlace>{{1, 0}, {2, 1}}));
  EXPECT_EQ(schedule.home({2, 0}).stage, 2u);
  EXPECT_EQ(schedule.home({2, 1}).stage, 1u);
}

// The paper's table 2: bubble (p/2 - 1)(tFB + tB - 3 tW) with tFB = 3, tB = 2, tW = 1 here; activations p + 1.
TEST(DualPipe, IdlesAndHoldsAsItsPaperSays) {
  for (std::uint32_t p : {2u, 4u, 8u, 16u})
    for (std::uint32_t m : {2 * p, 3 * p, 2 * p + 2, 8 * p}) {
      const Schedule schedule = dualpipe({.stages = p, .microbatches = m});
      EXPECT_DOUBLE_EQ(play(schedule).span, 3.0 * m + (p / 2 - 1) * (3 + 2 - 3));
      for (std::uint32_t stage = 0; stage < p; ++stage)
        EXPECT_EQ(peak_in_flight(schedule, StageId(stage)), p + 1);
    }
}

TEST(Schedules, ArePlayedWithoutDeadlockInEveryShapeTheyAccept) {
  const std::vector<ScheduleKind> kinds = {ScheduleKind::GPipe,       ScheduleKind::OneForwardOneBackward,
                                           ScheduleKind::Interleaved, ScheduleKind::ZeroBubbleH1,
                                           ScheduleKind::ZeroBubbleV, ScheduleKind::DualPipe};
  for (ScheduleKind kind : kinds) {
    int accepted = 0;
    for (std::uint32_t stages = 1; stages <= 9; ++stages)
      for (std::uint32_t microbatches = 1; microbatches <= 20; ++microbatches)
        for (std::uint32_t chunks = 1; chunks <= 3; ++chunks) {
          const ScheduleShape shape{stages, microbatches, chunks};
          if (!schedule_misfit(kind, shape).empty()) {
            EXPECT_THROW(make_schedule(kind, shape), std::logic_error);
            continue;
          }
          ++accepted;
          EXPECT_NO_THROW(check_schedule(make_schedule(kind, shape)))
              << name(kind) << " " << stages << " " << microbatches << " " << chunks;
        }
    EXPECT_GT(accepted, 15) << name(kind);
  }
}

TEST(Schedules, NamesAreReadBack) {
  for (std::string_view typed : {"gpipe", "1f1b", "interleaved", "zb-h1", "zb-v", "dualpipe"})
    EXPECT_EQ(name(parse_schedule_kind(typed).value()), typed);
  EXPECT_FALSE(parse_schedule_kind("1F1B ").has_value());
}

TEST(Schedules, SayWhatTheyNeed) {
  EXPECT_EQ(schedule_misfit(ScheduleKind::Interleaved, {4, 6, 2}),
            "needs a number of microbatches that 4 stages divide, not 6");
  EXPECT_EQ(schedule_misfit(ScheduleKind::DualPipe, {3, 6, 1}), "needs an even number of stages, not 3");
  EXPECT_EQ(schedule_misfit(ScheduleKind::OneForwardOneBackward, {4, 6, 1}), "");
}

std::string fault(const Schedule& schedule) {
  try {
    check_schedule(schedule);
  } catch (const std::logic_error& error) {
    return error.what();
  }
  return {};
}

class BrokenSchedule : public testing::Test {
 protected:
  Schedule schedule = zero_bubble_h1({.stages = 2, .microbatches = 3});
  std::vector<Slot>& first = schedule.slots[0];  // F0 F1 I0 W0 F2 I1 W1 I2 W2
};

TEST_F(BrokenSchedule, MissingSlotIsNamed) {
  first.pop_back();
  EXPECT_THAT(fault(schedule), testing::HasSubstr("stage 0: F2 or a gradient of it is missing"));
}

TEST_F(BrokenSchedule, DoubledSlotIsNamed) {
  first.push_back(first.back());
  EXPECT_THAT(fault(schedule), testing::HasSubstr("stage 0: W2 is there twice"));
}

TEST_F(BrokenSchedule, GradientBeforeForwardIsNamed) {
  std::rotate(first.begin(), first.begin() + 2, first.begin() + 3);
  EXPECT_THAT(fault(schedule), testing::HasSubstr("stage 0: I0 comes before its forward"));
}

TEST_F(BrokenSchedule, WeightGradientBeforeInputGradientIsNamed) {
  std::swap(first[2], first[3]);
  EXPECT_THAT(fault(schedule), testing::HasSubstr("stage 0: W0 comes before its input gradient"));
}

TEST_F(BrokenSchedule, MicrobatchPastTheLastIsNamed) {
  first.back().microbatch = 3;
  EXPECT_THAT(fault(schedule), testing::HasSubstr("W3 names no chunk or microbatch"));
}

TEST_F(BrokenSchedule, ChunkAwayFromHomeIsRefused) {
  schedule.chunks[0][0].position = 1;
  EXPECT_THAT(fault(schedule), testing::HasSubstr("each chunk lives where its position says"));
}

TEST_F(BrokenSchedule, PairOfTwoForwardsIsRefused) {
  first[0].paired_with_next = true;
  EXPECT_THAT(fault(schedule), testing::HasSubstr("F0 is not paired with a slot of the other phase"));
}

// Stage 0 wants the gradient of microbatch 0 before it sends microbatch 1, stage 1 wants microbatch 1 first.
TEST_F(BrokenSchedule, StagesThatWaitForEachOtherAreNamed) {
  schedule = one_forward_one_backward({.stages = 2, .microbatches = 2});
  std::swap(schedule.slots[0][1], schedule.slots[0][2]);
  std::rotate(schedule.slots[1].begin(), schedule.slots[1].begin() + 2, schedule.slots[1].begin() + 3);
  ASSERT_EQ(text(schedule, StageId(0)), "F0 B0 F1 B1");
  ASSERT_EQ(text(schedule, StageId(1)), "F1 F0 B0 B1");
  EXPECT_THAT(fault(schedule), testing::HasSubstr("stage 0 waits for ever before B0"));
}

TEST(Timeline, SlotWaitsForTheStageBefore) {
  const Timeline timeline =
      play(gpipe({.stages = 2, .microbatches = 1}), {.forward = 2, .input_gradient = 3, .weight_gradient = 1});
  EXPECT_EQ(timeline.slots[1][0].start, 2);
  EXPECT_EQ(timeline.slots[1][1].end, 8);
  EXPECT_EQ(timeline.slots[0][1].start, 8);
  EXPECT_EQ(timeline.span, 12);
}

TEST(Timeline, PairStartsAndEndsTogether) {
  const Schedule schedule = dualpipe({.stages = 2, .microbatches = 4});
  const Timeline timeline = play(schedule);
  const std::vector<Slot>& order = schedule.slots[0];
  const auto pair =
      std::find_if(order.begin(), order.end(), [](const Slot& slot) { return slot.paired_with_next; });
  ASSERT_NE(pair, order.end());
  const auto index = static_cast<std::size_t>(pair - order.begin());
  EXPECT_EQ(timeline.slots[0][index].start, timeline.slots[0][index + 1].start);
  EXPECT_EQ(timeline.slots[0][index].end - timeline.slots[0][index].start, 3);
  EXPECT_EQ(timeline.slots[0][index].end, timeline.slots[0][index + 1].end);
}

TEST(Schedules, HoldHundredsOfStagesAndMicrobatches) {
  const Schedule schedule = zero_bubble_v({.stages = 256, .microbatches = 1024, .chunks_per_stage = 2});
  EXPECT_NO_THROW(check_schedule(schedule));
  EXPECT_EQ(play(schedule).span, 6.0 * 1024 + 255);
}

}  // namespace
}  // namespace tandem
