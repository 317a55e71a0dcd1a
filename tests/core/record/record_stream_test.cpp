// A record that grows: what is read meanwhile, at its end and after a failure.
#include "core/record/record_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "core/problem/problem.h"
#include "core/record/sqlite.h"
#include "tests/support/random_record.h"
#include "tests/support/temporary_folder.h"

namespace tandem {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A whole record, and the same one in the pieces in which a run would hand it over.
struct Pieces {
  explicit Pieces(std::uint32_t seed) {
    whole = testing::random_record(seed);
    for (std::uint32_t i = 0; i < whole.spans.size(); ++i) {
      RecordSpan& span = whole.spans[i];
      span.step = i < whole.spans.size() / 2 ? 0 : 1;
      const auto first = static_cast<std::uint32_t>(span.step == 0 ? 0 : whole.spans.size() / 2);
      if (span.cause != no_span && span.cause < first) span.cause = no_span;
    }
    whole.losses = {{0, 4.5}, {1, 3.25}};
    whole.summary = {{"step_time_s", 0.5}};
    whole.links = {{"uplink", 2, Bytes(5), gigabytes_per_second(1)}};
    whole.header.notes = {{"topic", "remark"}};
    head = whole;
    head.spans.clear();
    head.memory.clear();
    head.losses.clear();
    head.summary.clear();
    head.links.clear();
    head.header.notes.clear();
    const std::size_t half = whole.spans.size() / 2;
    steps[0].spans.assign(whole.spans.begin(), whole.spans.begin() + static_cast<std::ptrdiff_t>(half));
    steps[1].spans.assign(whole.spans.begin() + static_cast<std::ptrdiff_t>(half), whole.spans.end());
    for (RecordSpan& span : steps[1].spans)
      if (span.cause != no_span) span.cause -= static_cast<std::uint32_t>(half);
    steps[1].memory = whole.memory;
    for (std::size_t i = 0; i < 2; ++i) steps[i].losses = {whole.losses[i]};
    end = {whole.links, whole.summary, whole.header.notes};
  }
  RunRecord whole, head;
  RecordStep steps[2];
  RecordEnd end;
};

void expect_equal(const RunRecord& a, const RunRecord& b) {
  EXPECT_EQ(a.header, b.header);
  EXPECT_EQ(a.lanes, b.lanes);
  EXPECT_EQ(a.tasks, b.tasks);
  EXPECT_EQ(a.spans, b.spans);
  EXPECT_EQ(a.memory, b.memory);
  EXPECT_EQ(a.links, b.links);
  EXPECT_EQ(a.losses, b.losses);
  EXPECT_EQ(a.summary, b.summary);
}

class RecordStreamFile : public ::testing::Test {
 protected:
  testing::TemporaryFolder folder;
  const std::string file = folder.file("run.tandem");
  const Pieces pieces{5};
};

TEST_F(RecordStreamFile, IsReadWhileTheRunGoesOn) {
  RecordStream stream(file, pieces.head);
  RunRecord read = read_record(file);
  EXPECT_EQ(read.header.state, RunState::Running);
  EXPECT_EQ(read.tasks, pieces.whole.tasks);
  EXPECT_TRUE(read.spans.empty());
  stream.append(pieces.steps[0]);
  read = read_record(file);
  EXPECT_EQ(read.header.state, RunState::Running);
  EXPECT_EQ(read.spans, pieces.steps[0].spans);
  EXPECT_EQ(read.losses, pieces.steps[0].losses);
}
TEST_F(RecordStreamFile, EqualsOneWrittenAtOnceWhenItIsFinished) {
  for (std::uint32_t seed = 1; seed <= 10; ++seed) {
    const Pieces parts(seed);
    RecordStream stream(file, parts.head);
    for (const RecordStep& step : parts.steps) stream.append(step);
    stream.finish(parts.end);
    expect_equal(read_record(file), parts.whole);
  }
}
TEST_F(RecordStreamFile, IsOneFileWhenItIsFinished) {
  RecordStream stream(file, pieces.head);
  stream.append(pieces.steps[0]);
  EXPECT_THAT(folder.entries(), ::testing::Contains("run.tandem-wal"));
  stream.finish({});
  EXPECT_THAT(folder.entries(), ElementsAre("run.tandem"));
}
TEST_F(RecordStreamFile, IsFinishedAlsoBesideAReaderThatStays) {
  RecordStream stream(file, pieces.head);
  stream.append(pieces.steps[0]);
  sqlite::Database reader(file, sqlite::Database::Mode::Read);
  reader.execute("BEGIN; SELECT count(*) FROM span;");
  stream.finish(pieces.end);
  const RunRecord read = read_record(file);
  EXPECT_EQ(read.header.state, RunState::Finished);
  EXPECT_EQ(read.spans, pieces.steps[0].spans);
  EXPECT_EQ(read.summary, pieces.whole.summary);
}
TEST_F(RecordStreamFile, SaysWhyTheRunFailed) {
  RecordStream stream(file, pieces.head);
  stream.append(pieces.steps[0]);
  stream.fail("rank 3 was killed in L2.mlp.up");
  const RunRecord read = read_record(file);
  EXPECT_EQ(read.header.state, RunState::Failed);
  EXPECT_EQ(read.header.failure, "rank 3 was killed in L2.mlp.up");
  EXPECT_EQ(read.spans, pieces.steps[0].spans);
}
TEST_F(RecordStreamFile, OfNoKnownStateIsDamaged) {
  write_record(pieces.whole, file);
  sqlite::Database(file, sqlite::Database::Mode::Write)
      .execute("INSERT INTO header VALUES('state', 'resting')");
  EXPECT_THROW(read_record(file), InputError);
}
TEST_F(RecordStreamFile, ThatIsLeftWithoutAnEndSaysSo) {
  { RecordStream(file, pieces.head).append(pieces.steps[0]); }
  EXPECT_EQ(read_record(file).header.failure, "left unfinished");
}
TEST_F(RecordStreamFile, OfAKilledProcessKeepsItsSteps) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    auto* stream = new RecordStream(file, pieces.head);
    stream->append(pieces.steps[0]);
    ::_exit(0);  // no destructor runs
  }
  ::waitpid(child, nullptr, 0);
  const RunRecord read = read_record(file);
  EXPECT_EQ(read.header.state, RunState::Running);
  EXPECT_EQ(read.spans, pieces.steps[0].spans);
  // The log of the killed run does not reach into a record that takes its name.
  write_record(pieces.head, file);
  EXPECT_TRUE(read_record(file).spans.empty());
  EXPECT_EQ(folder.entries().size(), 1u);
}
TEST_F(RecordStreamFile, TakesNoStepThatWouldBreakTheRecord) {
  RecordStream stream(file, pieces.head);
  stream.append(pieces.steps[1]);
  EXPECT_THROW(stream.append(pieces.steps[0]), std::logic_error);  // back to an earlier step
  RecordStep step;
  step.spans.push_back({.lane = 99});
  EXPECT_THROW(stream.append(step), std::logic_error);
  EXPECT_EQ(stream.spans(), pieces.steps[1].spans.size());
  EXPECT_EQ(read_record(file).spans.size(), pieces.steps[1].spans.size());
}
TEST_F(RecordStreamFile, NeedsAFolderThatIsThere) {
  EXPECT_THROW(RecordStream(folder.file("absent/run.tandem"), pieces.head), BackendError);
}
TEST_F(RecordStreamFile, IsReadByManyWhileItGrows) {
  const pid_t reader = ::fork();
  ASSERT_GE(reader, 0);
  if (reader == 0) {
    while (!std::filesystem::exists(file)) ::usleep(100);
    int failures = 0;
    for (std::size_t before = 0; before < 20 * 300;) {
      try {
        const RunRecord read = read_record(file);
        if (read.spans.size() < before) ++failures;
        before = read.spans.size();
        if (read.header.state != RunState::Running) break;
      } catch (const std::exception&) {
        if (++failures == 10) break;
      }
    }
    ::_exit(failures == 0 ? 0 : 1);
  }
  RecordStream stream(file, pieces.head);
  RecordStep step = pieces.steps[0];
  Seconds length;
  for (const RecordSpan& span : step.spans) length = std::max(length, span.end);
  for (int i = 0; i < 20; ++i) {
    stream.append(step);
    for (RecordSpan& span : step.spans) {
      span.start += length;
      span.end += length;
      ++span.step;
    }
  }
  stream.finish({});
  int status = 0;
  ::waitpid(reader, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(read_record(file).spans.size(), 20 * step.spans.size());
}

}  // namespace
}  // namespace tandem
