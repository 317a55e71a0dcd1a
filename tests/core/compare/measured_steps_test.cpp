// Which steps count, from when to when.
#include "core/compare/measured_steps.h"

#include <gtest/gtest.h>

#include "tests/core/compare/two_ranks.h"

namespace tandem {
namespace {

using testing::RecordBuilder;
using testing::two_ranks;

TEST(MeasuredSteps, LeaveTheWarmUpOut) {
  const auto steps = measured_steps(two_ranks({{}, {}, {}}, {.warmup = 1}));
  ASSERT_EQ(steps.size(), 2u);
  EXPECT_EQ(steps[0].number, 1u);
  EXPECT_DOUBLE_EQ(steps[0].length().value, 11.5);
}
TEST(MeasuredSteps, DoNotCountWhatHappensBetweenThem) {
  for (const MeasuredStep& step : measured_steps(two_ranks({{}, {}, {}}, {.warmup = 1, .gap = 4})))
    EXPECT_DOUBLE_EQ(step.length().value, 11.5);
}
TEST(MeasuredSteps, DoNotOverlapWhereRanksDrift) {
  RecordBuilder builder;
  builder.compute(0, Phase::Forward, 0, 2);
  builder.compute(1, Phase::Forward, 0, 3);
  builder.next_step();
  builder.compute(0, Phase::Forward, 2, 5);
  builder.compute(1, Phase::Forward, 3, 6);
  const auto steps = measured_steps(builder.record());
  EXPECT_EQ(steps[0].length().value, 3);
  EXPECT_EQ(steps[1].length().value, 3);
}
TEST(MeasuredSteps, ASinglePredictedStepLastsAsLongAsItsSummarySays) {
  RunRecord record = two_ranks();
  record.summary["step_time_s"] = 12;
  EXPECT_EQ(measured_steps(record).at(0).length().value, 12);
}
TEST(MeasuredSteps, AreNoneWhereAllIsWarmUp) {
  EXPECT_TRUE(measured_steps(two_ranks({{}}, {.warmup = 1})).empty());
}
TEST(StepRecords, AreRecordsFromTimeZeroWithTheirOwnCauses) {
  const RunRecord whole = two_ranks({{}, {}});
  StepRecords parts(whole);
  const RunRecord& second = parts.record_of(1);
  EXPECT_EQ(record_fault(second), "");
  EXPECT_EQ(second.spans.size(), whole.spans.size() / 2);
  EXPECT_EQ(second.spans.front().start.value, 0);
  EXPECT_EQ(second.spans[7].cause, 6u);
}

}  // namespace
}  // namespace tandem
