// Critical path: from the last span over causes to the start.
#include "core/record/critical_path.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/random_record.h"
#include "tests/support/record_builder.h"

namespace tandem {
namespace {

using testing::RecordBuilder;

double share(const CriticalPath& path, Activity activity) {
  return path.by_activity[static_cast<std::size_t>(activity)].value;
}

// Forward on stage 0, its message, forward on stage 1; the message may start when the sender is ready.
RecordBuilder two_stages() {
  RecordBuilder builder;
  builder.rank(0, 0).rank(1, 1);
  const auto forward = builder.compute(0, Phase::Forward, 0, 3);
  const auto send = builder.send(0, 7, 3, 4);
  const auto receive = builder.receive(1, 7, 3, 4);
  const auto next = builder.compute(1, Phase::Forward, 4, 6);
  builder.held(send, HeldBy::Dependency, forward)
      .held(receive, HeldBy::Peer, forward)
      .held(next, HeldBy::Dependency, receive);
  return builder;
}

TEST(CriticalPath, CrossesRanksOverMessages) {
  const CriticalPath path = critical_path(two_stages().record());
  ASSERT_EQ(path.segments.size(), 3u);
  EXPECT_EQ(path.segments[0].span, 0u);
  EXPECT_EQ(path.segments[1].span, 2u);
  EXPECT_EQ(path.segments[2].span, 3u);
  EXPECT_EQ(share(path, Activity::Forward), 5);
  EXPECT_EQ(share(path, Activity::Pipeline), 1);
}

TEST(CriticalPath, CountsAMessageOnceWhenItsCauseIsTheSend) {
  RecordBuilder builder = two_stages();
  builder.held(2, HeldBy::Peer, 1);
  const CriticalPath path = critical_path(builder.record());
  EXPECT_EQ(share(path, Activity::Forward), 5);
  EXPECT_EQ(share(path, Activity::Pipeline), 1);
}

TEST(CriticalPath, LeavesOutWhatHadSlack) {
  RecordBuilder builder;
  const auto a = builder.compute(0, Phase::Forward, 0, 2);
  builder.collective(0, Lane::Data, 0, 1);
  const auto b = builder.compute(0, Phase::InputGradient, 2, 5);
  builder.held(b, HeldBy::Lane, a);
  const CriticalPath path = critical_path(builder.record());
  EXPECT_EQ(share(path, Activity::Data), 0);
  EXPECT_EQ(path.by_operator.at("mlp.up").value, 5);
}

TEST(CriticalPath, NamesTheHost) {
  RecordBuilder builder;
  builder.compute(0, Phase::Forward, 0, 1);
  builder.held(builder.compute(0, Phase::Forward, 2, 3), HeldBy::Host, 0);
  EXPECT_EQ(share(critical_path(builder.record()), Activity::Host), 1);
}

TEST(CriticalPath, EndsAtARankThatWasNotRecorded) {
  RecordBuilder builder;
  const auto receive = builder.receive(1, 0, 3, 4);
  const auto forward = builder.compute(1, Phase::Forward, 4, 5);
  builder.held(receive, HeldBy::Peer).held(forward, HeldBy::Dependency, receive);
  const CriticalPath path = critical_path(builder.record());
  EXPECT_EQ(path.segments.front().span, no_span);
  EXPECT_EQ(share(path, Activity::Bubble), 3);
}

TEST(CriticalPath, OfAnEmptyRecordIsEmpty) {
  EXPECT_TRUE(critical_path(RecordBuilder().record()).segments.empty());
}

TEST(CriticalPath, SegmentsOfRandomRecordsTouchAndSumToTheEnd) {
  for (std::uint32_t seed = 0; seed < 60; ++seed) {
    RunRecord record = testing::random_record(seed);
    if (seed % 3 == 0)
      for (RecordSpan& span : record.spans) span.cause = no_span, span.held_by = 0;
    const CriticalPath path = critical_path(record);
    Seconds at, sum;
    for (const PathSegment& segment : path.segments) {
      EXPECT_EQ(segment.start, at) << seed;
      EXPECT_LT(segment.start, segment.end) << seed;
      at = segment.end;
    }
    for (const Seconds time : path.by_activity) sum += time;
    EXPECT_EQ(at, path.length) << seed;
    EXPECT_NEAR(sum.value, path.length.value, 1e-12 * path.length.value) << seed;
  }
}

TEST(CriticalPathText, ListsSumsOperatorsAndSegments) {
  const RunRecord record = two_stages().record();
  const std::string lines = text(critical_path(record), record);
  EXPECT_THAT(lines, ::testing::StartsWith("critical path: "));
  EXPECT_THAT(lines, ::testing::HasSubstr("over 3 spans of 2 ranks"));
  EXPECT_THAT(lines, ::testing::ContainsRegex("forward +5.* s +83.3 %"));
  EXPECT_THAT(lines, ::testing::ContainsRegex("activations.receive +1.* s +16.7 %"));
  EXPECT_THAT(lines, ::testing::HasSubstr("mb0 r1 (compute)"));
}

}  // namespace
}  // namespace tandem
