// Exports as a whole: formats by name, one rank, files, and CSV.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "core/problem/problem.h"
#include "core/record/csv.h"
#include "core/record/export_record.h"
#include "core/record/messages.h"
#include "tests/support/random_record.h"
#include "tests/support/record_builder.h"
#include "tests/support/temporary_folder.h"

namespace tandem {
namespace {

using testing::RecordBuilder;
using testing::TemporaryFolder;

std::vector<std::string> lines(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> result;
  for (std::string line; std::getline(in, line);) result.push_back(line);
  return result;
}

std::string csv(const RunRecord& record) {
  std::ostringstream out;
  write_csv(record, out);
  return out.str();
}

TEST(ExportFormat, NamesReadBack) {
  for (const auto format : {ExportFormat::Chrome, ExportFormat::Perfetto, ExportFormat::Csv})
    EXPECT_EQ(parse_export_format(name(format)), format);
  EXPECT_EQ(parse_export_format("json"), std::nullopt);
}

TEST(Csv, HasALineASpan) {
  RecordBuilder builder;
  builder.compute(0, Phase::Forward, 0, 0.5, 3);
  builder.held(builder.receive(0, 9, 0.5, 0.75), HeldBy::Peer, 0);
  const auto rows = lines(csv(builder.record()));
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0], csv_heading);
  EXPECT_EQ(rows[1], "0,0," + std::string(name(Lane::Compute)) + ",0,0,0,0,0,0.5,0.5,L0.mlp.up," +
                         std::string(name(Phase::Forward)) + ",compute,3,,0,nothing,,,1000000000,1000000,1");
  EXPECT_EQ(rows[2], "1,0," + std::string(name(Lane::ReceivePrevious)) +
                         ",0,0,0,0,0.5,0.75,0.25,activations.receive," + std::string(name(Phase::Forward)) +
                         ",receive,,9,0,peer,0,,0,1048576,1");
}

TEST(Csv, QuotesWhatNeedsIt) {
  RecordBuilder builder;
  builder.add(0, Lane::Compute, {.label = "a,b", .detail = "say \"x\""}, 0, 1);
  EXPECT_THAT(csv(builder.record()),
              ::testing::AllOf(::testing::HasSubstr(",\"a,b\","), ::testing::HasSubstr(",\"say \"\"x\"\"\",")));
}

TEST(ExportRecord, KeepsOneRankWhenAsked) {
  const RunRecord record = testing::random_record(4);
  std::size_t expected = 0;
  for (const RecordSpan& span : record.spans) expected += record.lanes[span.lane].rank == RankId(0);
  std::ostringstream out;
  export_record(record, ExportFormat::Csv, {.rank = RankId(0)}, out);
  EXPECT_EQ(lines(out.str()).size(), expected + 1);
  EXPECT_GT(expected, 0u);
}

TEST(ExportRecord, NamesTheRanksThereAre) {
  std::ostringstream out;
  try {
    export_record(testing::random_record(4), ExportFormat::Csv, {.rank = RankId(12345)}, out);
    FAIL();
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("rank 12345 is not in the record"));
    EXPECT_THAT(error.what(), ::testing::HasSubstr("recorded ranks: 0"));
  }
}

TEST(ExportRecord, WritesAFileWholeOrNotAtAll) {
  TemporaryFolder folder;
  const RunRecord record = testing::random_record(4);
  for (const auto format : {ExportFormat::Chrome, ExportFormat::Perfetto, ExportFormat::Csv}) {
    std::ostringstream out;
    export_record(record, format, {}, out);
    export_record(record, format, {}, folder.file("a"));
    std::ifstream in(folder.file("a"), std::ios::binary);
    EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), out.str());
    EXPECT_EQ(folder.entries(), std::vector<std::string>{"a"});
    EXPECT_THROW(export_record(record, format, {}, folder.path()), BackendError);
    EXPECT_THROW(export_record(record, format, {}, std::string("/dev/full")), BackendError);
  }
}

TEST(MessagePairs, PairSeveralPipelineGroupsInTheOrderOfRanks) {
  RecordBuilder builder;
  builder.rank(0, 0).rank(1, 0).rank(2, 1).rank(3, 1);
  const auto b = builder.send(1, 5, 0, 1), a = builder.send(0, 5, 0, 1);
  const auto c = builder.receive(2, 5, 0, 1), d = builder.receive(3, 5, 0, 1);
  const auto pairs = message_pairs(builder.record());
  ASSERT_EQ(pairs.size(), 2u);
  EXPECT_EQ(pairs[0].send, a);
  EXPECT_EQ(pairs[0].receive, c);
  EXPECT_EQ(pairs[1].send, b);
  EXPECT_EQ(pairs[1].receive, d);
}

TEST(MessagePairs, KeepStepsApart) {
  RecordBuilder builder;
  builder.send(0, 5, 0, 1);
  builder.next_step().receive(1, 5, 1, 2);
  EXPECT_TRUE(message_pairs(builder.record()).empty());
}

}  // namespace
}  // namespace tandem
