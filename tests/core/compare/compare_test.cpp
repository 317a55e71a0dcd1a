// Two records side by side: what is equal, what differs and by how much.
#include "core/compare/compare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/core/compare/two_ranks.h"
#include "tests/support/random_record.h"

namespace tandem {
namespace {

using testing::RecordBuilder;
using testing::StepTimes;
using testing::two_ranks;

const KindTime& kind(const Comparison& comparison, const std::string& name, Phase phase) {
  for (const KindTime& kind : comparison.kinds)
    if (kind.kind.name == name && kind.kind.phase == phase) return kind;
  throw std::logic_error("no kind " + name);
}

TEST(Compare, ARecordDoesNotDifferFromItself) {
  const RunRecord record = two_ranks();
  const Comparison same = compare(record, record);
  EXPECT_EQ(same.step.deviation(), 0.0);
  for (const KindTime& kind : same.kinds) EXPECT_EQ(kind.time.change().value, 0) << kind.kind.name;
  for (const LaneTime& lane : same.lanes) EXPECT_EQ(lane.busy.change().value, 0);
  EXPECT_TRUE(same.explanations.empty());
  EXPECT_EQ(same.tasks.size(), record.spans.size());
  EXPECT_TRUE(same.only_a.empty());
  EXPECT_TRUE(same.only_b.empty());
}
TEST(Compare, StepIsWhatTheTasksAddUpTo) {
  const Comparison comparison = compare(two_ranks({{.up = 2}}), two_ranks());
  EXPECT_DOUBLE_EQ(comparison.step.a.median.value, 13.5);
  EXPECT_DOUBLE_EQ(comparison.step.b.median.value, 11.5);
  EXPECT_DOUBLE_EQ(*comparison.step.deviation(), 2 / 11.5);
}
TEST(Compare, KindsAreSumsOverMicrobatchesOfARankOnAverage) {
  const Comparison comparison = compare(two_ranks(), two_ranks({{.up = 3}}));
  const KindTime& up = kind(comparison, "mlp.up", Phase::Forward);
  EXPECT_EQ(up.time.a.median.value, 2);
  EXPECT_EQ(up.time.b.median.value, 6);
  EXPECT_EQ(up.tasks_a, 2);
  EXPECT_EQ(&up, &comparison.kinds.front());
}
TEST(Compare, BucketsAreOneKind) {
  EXPECT_EQ(kind(compare(two_ranks(), two_ranks()), "gradients.all_reduce", Phase::Update).time.a.median.value,
            3);
}
TEST(Compare, LanesAndAxesHaveTheirTimes) {
  const Comparison comparison = compare(two_ranks(), two_ranks({{.exchange = 4}}));
  ASSERT_EQ(comparison.lanes.size(), 2u);
  EXPECT_EQ(comparison.lanes[0].busy.a.median.value, 8.5);
  EXPECT_EQ(comparison.lanes[1].busy.b.median.value, 4);
  ASSERT_EQ(comparison.axes.size(), 1u);
  EXPECT_EQ(comparison.axes[0].axis, TrafficAxis::Data);
  EXPECT_EQ(comparison.axes[0].total.change().value, 1);
  EXPECT_EQ(comparison.axes[0].exposed.change().value, 1);
}
TEST(Compare, OverlapIsTheHiddenShareOfCommunication) {
  RecordBuilder builder;
  builder.compute(0, Phase::InputGradient, 0, 4);
  builder.collective(0, Lane::Data, 3, 5, CollectiveKind::ReduceScatter);
  const Comparison comparison = compare(builder.record(), two_ranks());
  EXPECT_EQ(comparison.overlap.a.median, 0.5);
  EXPECT_EQ(comparison.overlap.b.median, 0);
}
TEST(Compare, StepsHaveAMedianAndASpreadAndTheWarmUpCountsForNothing) {
  const RunRecord measured =
      two_ranks({{.up = 50}, {.up = 1}, {.up = 1.5}, {.up = 7}}, {.warmup = 1, .backend = "cpu"});
  const Comparison comparison = compare(two_ranks(), measured);
  EXPECT_EQ(comparison.b.steps, 3u);
  EXPECT_DOUBLE_EQ(comparison.step.b.median.value, 12.5);
  const auto up = std::find_if(comparison.tasks.begin(), comparison.tasks.end(), [&](const TaskPair& pair) {
    return comparison.labels[pair.key.label] == "L0.mlp.up" && pair.key.phase == Phase::Forward;
  });
  ASSERT_NE(up, comparison.tasks.end());
  EXPECT_EQ(up->time.a.steps, 1u);
  EXPECT_EQ(up->time.b.steps, 3u);
  EXPECT_DOUBLE_EQ(up->time.b.median.value, 1.5);
  EXPECT_DOUBLE_EQ(up->time.b.spread.value, 3);
}
TEST(Compare, TasksOfOneRecordAloneAreListedByKind) {
  RunRecord shorter = two_ranks();
  std::erase_if(shorter.spans,
                [&](const RecordSpan& span) { return shorter.tasks[span.task].label == "optimizer"; });
  const Comparison comparison = compare(two_ranks(), shorter);
  ASSERT_EQ(comparison.only_a.size(), 1u);
  EXPECT_EQ(comparison.only_a[0].kind.name, "optimizer");
  EXPECT_EQ(comparison.only_a[0].tasks, 2u);
  EXPECT_EQ(comparison.only_a[0].ranks, 2u);
  EXPECT_EQ(comparison.spans_only_a, 2u);
  EXPECT_TRUE(comparison.only_b.empty());
}
TEST(Compare, KindsOfOtherTasksAreComparedAllTheSame) {
  const Comparison comparison = compare(two_ranks(), two_ranks({{.up = 2}}, {.first_microbatch = 7}));
  EXPECT_EQ(comparison.tasks.size(), 4u);  // exchange and optimizer
  EXPECT_EQ(kind(comparison, "mlp.up", Phase::Forward).time.change().value, 2);
}
TEST(Compare, OneRankThatStandsForTwoIsComparedWithBoth) {
  const Comparison comparison =
      compare(two_ranks({{}}, {.ranks = {0}, .multiplicity = 2}), two_ranks({{}}, {.backend = "cpu"}));
  EXPECT_EQ(comparison.tasks.size(), 16u);
  EXPECT_EQ(comparison.spans_only_b, 0u);
  EXPECT_EQ(comparison.spans_matched_a, 8u);
  EXPECT_EQ(comparison.step.deviation(), 0.0);
  EXPECT_EQ(comparison.kinds.front().time.change().value, 0);
  EXPECT_EQ(comparison.a.ranks, 2u);
}
TEST(Compare, ARankKeptOfManyStandsForThoseOfItsStageThatAreNotKept) {
  RunRecord kept = two_ranks({{}}, {.ranks = {0}});
  kept.summary["devices"] = 2;
  const Comparison comparison = compare(kept, two_ranks());
  EXPECT_EQ(comparison.tasks.size(), 16u);
  EXPECT_EQ(comparison.a.ranks, 2u);
  EXPECT_EQ(comparison.a.recorded, 1u);
}
TEST(Compare, ARankThatTheOtherRunDidNotHaveIsMissing) {
  const Comparison comparison = compare(two_ranks({{}}, {.ranks = {0}}), two_ranks());
  EXPECT_EQ(comparison.tasks.size(), 8u);
  EXPECT_EQ(comparison.spans_only_b, 8u);
}
TEST(Compare, EqualKeysAreToldApartByTheirOrder) {
  const auto twice = [](double second) {
    RecordBuilder builder;
    builder.compute(0, Phase::Forward, 0, 1);
    builder.compute(0, Phase::Forward, 1, 1 + second);
    return builder.record();
  };
  const Comparison comparison = compare(twice(2), twice(5));
  ASSERT_EQ(comparison.tasks.size(), 2u);
  EXPECT_EQ(comparison.tasks[0].time.change().value, 0);
  EXPECT_EQ(comparison.tasks[1].key.occurrence, 1u);
  EXPECT_EQ(comparison.tasks[1].time.change().value, 3);
}
TEST(Compare, MemoryIsThatOfTheFullestRankAtItsPeak) {
  RunRecord a = two_ranks(), b = two_ranks();
  const auto sample = [](std::uint32_t rank, double weights, double activations) {
    RecordMemory memory{RankId(rank), Seconds(0), {}};
    memory.live[static_cast<std::size_t>(BufferClass::Weights)] = Bytes(weights);
    memory.live[static_cast<std::size_t>(BufferClass::Activations)] = Bytes(activations);
    return memory;
  };
  a.memory = {sample(0, 10, 1), sample(1, 10, 5), sample(1, 10, 2)};
  b.memory = {sample(0, 10, 10)};
  const MemoryPeak memory = compare(a, b).memory;
  EXPECT_EQ(memory.total.a.median, Bytes(15));
  EXPECT_EQ(memory.total.deviation(), -0.25);
  EXPECT_EQ(memory.classes[static_cast<std::size_t>(BufferClass::Activations)].a.median, Bytes(5));
}
TEST(Compare, MemoryThatARecordDoesNotHaveIsNotZero) {
  EXPECT_EQ(compare(two_ranks(), two_ranks()).memory.total.a.steps, 0u);
}
TEST(Compare, ResidentMemoryIsThatOfAsManyProcessesAsWereRun) {
  RunRecord predicted = two_ranks(), measured = two_ranks();
  predicted.summary["resident_gib"] = 4;
  predicted.summary["resident_mpi_gib"] = 3;
  measured.summary["resident_gib"] = 2;
  measured.summary["processes"] = 1;
  EXPECT_EQ(compare(predicted, measured).memory.resident.deviation(), 1);
  measured.summary["processes"] = 2;
  EXPECT_EQ(compare(predicted, measured).memory.resident.deviation(), 0.5);
}
TEST(Compare, LossesAreThoseOfTheStepsThatBothHave) {
  RunRecord a = two_ranks(), b = two_ranks();
  a.losses = {{0, 10}, {1, 9}, {2, 8}};
  b.losses = {{1, 9}, {2, 8.5}, {3, 7}};
  const LossComparison losses = compare(a, b).losses;
  EXPECT_EQ(losses.steps, 2u);
  EXPECT_FALSE(losses.equal);
  EXPECT_EQ(losses.largest, 0.5);
  EXPECT_EQ(losses.first_step, 2u);
}
TEST(Compare, LossesOfOneRunAreEqualBitForBitAlsoWhereTheyAreNoNumbers) {
  RunRecord record = two_ranks();
  record.losses = {{0, 10}, {1, std::nan("")}};
  EXPECT_TRUE(compare(record, record).losses.equal);
  RunRecord other = record;
  other.losses[1].second = 3;
  EXPECT_TRUE(std::isinf(compare(record, other).losses.largest));
}
TEST(Compare, KnowsPredictionsFromMeasurements) {
  const RunRecord predicted = two_ranks(), measured = two_ranks({{}}, {.backend = "cpu"});
  EXPECT_EQ(compare(predicted, measured).pair, RunPair::PredictionAndMeasurement);
  EXPECT_EQ(compare(predicted, predicted).pair, RunPair::Predictions);
  EXPECT_EQ(compare(measured, measured).pair, RunPair::Measurements);
  EXPECT_EQ(compare(measured, predicted).pair, RunPair::MeasurementAndPrediction);
}
TEST(Compare, EverySpanOfAnyTwoRecordsIsMatchedOrMissing) {
  for (std::uint32_t seed = 1; seed <= 60; ++seed) {
    RunRecord a = testing::random_record(seed), b = testing::random_record(seed + 1);
    if (seed % 2 == 0) b.warmup_steps = 1;
    const Comparison comparison = compare(a, b);  // checks itself
    std::size_t missing = 0;
    for (const MissingKind& kind : comparison.only_a) missing += kind.tasks;
    EXPECT_EQ(missing > 0, comparison.spans_only_a > 0) << seed;
    const Comparison same = compare(a, a);
    EXPECT_EQ(same.spans_only_a + same.spans_only_b, 0u) << seed;
    EXPECT_EQ(same.step.change().value, 0) << seed;
  }
}

}  // namespace
}  // namespace tandem
