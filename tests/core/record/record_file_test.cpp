// Record files: what is written is read, whole or not at all, and anything else is refused by name.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <random>

#include "core/problem/problem.h"
#include "core/record/run_record.h"
#include "core/record/sqlite.h"
#include "tests/support/random_record.h"
#include "tests/support/record_builder.h"
#include "tests/support/temporary_folder.h"

namespace tandem {
namespace {

using ::testing::HasSubstr;
using testing::RecordBuilder;
using testing::TemporaryFolder;

void expect_equal(const RunRecord& a, const RunRecord& b) {
  EXPECT_EQ(a.header, b.header);
  EXPECT_EQ(a.device_kinds, b.device_kinds);
  EXPECT_EQ(a.lanes, b.lanes);
  EXPECT_EQ(a.tasks, b.tasks);
  EXPECT_EQ(a.spans, b.spans);
  EXPECT_EQ(a.memory, b.memory);
  EXPECT_EQ(a.links, b.links);
  EXPECT_EQ(a.losses, b.losses);
  EXPECT_EQ(a.warmup_steps, b.warmup_steps);
  EXPECT_EQ(a.summary, b.summary);
}

RunRecord full_record() {
  RecordBuilder builder;
  builder.rank(0, 0, 8).rank(8, 1, 8);
  const auto forward = builder.compute(0, Phase::Forward, 0, 1e-3);
  const auto send = builder.send(0, 0, 1e-3, 0.1 + 0.2);
  const auto receive = builder.receive(8, 0, 1e-3, 0.1 + 0.2);
  builder.held(send, HeldBy::Dependency, forward).held(receive, HeldBy::Peer, send);
  RunRecord record = builder.record();
  record.header = {"simgrid",
                   "folded",
                   "1.2.3",
                   ~std::uint64_t{0},
                   "seed = 1\n\"quoted\"\n",
                   "abc123",
                   "llama 8B",
                   "dgx-h100:2",
                   "tp 8 x pp 2",
                   {{"folding", "switched off: stragglers"}, {"über", ""}}};
  record.device_kinds = {
      {"H100 SXM", gibibytes(80), gigabytes_per_second(3350), {{"bf16", teraflops(989.4)}}, 132}};
  record.memory = {{RankId(0), Seconds(0), {Bytes(1), Bytes(2), Bytes(3), Bytes(4), Bytes(5), Bytes(6)}},
                   {RankId(0), Seconds(1e-3), {Bytes(7), Bytes(2), Bytes(3), Bytes(4), Bytes(5), Bytes(1e15)}}};
  record.links = {{"node0.port0.up", 16, Bytes(123456789), gigabytes_per_second(50)}};
  record.losses = {{0, 10.5}, {1, 9.25}};
  record.warmup_steps = 1;
  record.summary = {{"step_time_s", 0.30000000000000004}, {"mfu", 0.41}};
  return record;
}

std::string problem_of(const std::string& path) {
  try {
    read_record(path);
  } catch (const InputError& error) {
    return error.what();
  }
  return "no problem";
}

void write_bytes(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

std::string bytes_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void run_sql(const std::string& path, const std::string& statements) {
  sqlite::Database(path, sqlite::Database::Mode::Write).execute(statements);
}

TEST(RecordFile, GivesBackWhatWasWritten) {
  TemporaryFolder folder;
  const RunRecord record = full_record();
  write_record(record, folder.file("a.tandem"));
  expect_equal(read_record(folder.file("a.tandem")), record);
}

TEST(RecordFile, GivesBackRandomRecords) {
  TemporaryFolder folder;
  for (std::uint32_t seed = 0; seed < 20; ++seed) {
    const RunRecord record = testing::random_record(seed);
    write_record(record, folder.file("a.tandem"));
    expect_equal(read_record(folder.file("a.tandem")), record);
  }
}

TEST(RecordFile, KeepsAnEmptyRecord) {
  TemporaryFolder folder;
  const RunRecord record = RecordBuilder().record();
  write_record(record, folder.file("a.tandem"));
  expect_equal(read_record(folder.file("a.tandem")), record);
}

TEST(RecordFile, KeepsALossThatIsNotANumber) {
  TemporaryFolder folder;
  RunRecord record = full_record();
  record.losses = {{3, std::nan("")}};
  write_record(record, folder.file("a.tandem"));
  const RunRecord read = read_record(folder.file("a.tandem"));
  ASSERT_EQ(read.losses.size(), 1u);
  EXPECT_TRUE(std::isnan(read.losses[0].second));
}

TEST(RecordFile, IsTheSameBytesForTheSameRecord) {
  TemporaryFolder folder;
  write_record(full_record(), folder.file("a.tandem"));
  write_record(full_record(), folder.file("b.tandem"));
  EXPECT_EQ(bytes_of(folder.file("a.tandem")), bytes_of(folder.file("b.tandem")));
}

TEST(RecordFile, ReplacesAnOlderRecordAndLeavesNothingBeside) {
  TemporaryFolder folder;
  write_record(testing::random_record(1), folder.file("a.tandem"));
  write_record(full_record(), folder.file("a.tandem"));
  expect_equal(read_record(folder.file("a.tandem")), full_record());
  EXPECT_EQ(folder.entries(), std::vector<std::string>{"a.tandem"});
}

TEST(RecordFile, WritesThroughASymbolicLink) {
  TemporaryFolder folder;
  std::filesystem::create_symlink("real.tandem", folder.file("link.tandem"));
  write_record(full_record(), folder.file("link.tandem"));
  EXPECT_TRUE(std::filesystem::is_symlink(folder.file("link.tandem")));
  expect_equal(read_record(folder.file("real.tandem")), full_record());
}

TEST(RecordFile, ViewsJoinLabelsForSqlTools) {
  TemporaryFolder folder;
  write_record(full_record(), folder.file("a.tandem"));
  sqlite::Database database(folder.file("a.tandem"), sqlite::Database::Mode::Read);
  sqlite::Statement select(
      database, "SELECT rank, lane, label, kind, held_by, cause, message FROM spans WHERE kind = 'receive'");
  ASSERT_TRUE(select.next());
  EXPECT_EQ(select.integer(0), 8);
  EXPECT_EQ(select.text(1), name(Lane::ReceivePrevious));
  EXPECT_EQ(select.text(2), "activations.receive");
  EXPECT_EQ(select.text(4), "peer");
  EXPECT_EQ(select.integer(5), 1);
  EXPECT_EQ(select.integer(6), 0);
  EXPECT_FALSE(select.next());
}

TEST(RecordFile, RefusesABrokenRecordAsOurOwnMistake) {
  TemporaryFolder folder;
  RunRecord record = full_record();
  record.spans[0].end = Seconds(-1);
  EXPECT_THROW(write_record(record, folder.file("a.tandem")), std::logic_error);
  EXPECT_TRUE(folder.entries().empty());
}

TEST(RecordFileTarget, DirectoryIsRefused) {
  TemporaryFolder folder;
  EXPECT_THROW(write_record(full_record(), folder.path()), BackendError);
  EXPECT_THROW(write_record(full_record(), folder.path() + "/"), BackendError);
  EXPECT_TRUE(folder.entries().empty());
}

TEST(RecordFileTarget, DeviceIsRefusedAndLeftAlone) {
  EXPECT_THROW(write_record(full_record(), "/dev/full"), BackendError);
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/full"));
}

TEST(RecordFileTarget, MissingFolderIsRefused) {
  TemporaryFolder folder;
  EXPECT_THROW(write_record(full_record(), folder.file("no/such/a.tandem")), BackendError);
}

TEST(RecordFileTarget, FolderThatTakesNoFileIsRefused) {
  // Not even root makes files in /proc.
  EXPECT_THROW(write_record(full_record(), "/proc/a.tandem"), BackendError);
}

TEST(RecordFileTarget, FullDiskLeavesTheOldFileAndNothingElse) {
  TemporaryFolder folder;
  write_record(full_record(), folder.file("a.tandem"));
  // A file size limit stands for the full disk: both end a write early.
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  for (const rlim_t limit : {rlim_t{1000}, rlim_t{40'000}, rlim_t{300'000}}) {
    rlimit small = before;
    small.rlim_cur = limit;
    setrlimit(RLIMIT_FSIZE, &small);
    std::string message;
    try {
      write_record(testing::random_record(7, 20'000), folder.file("a.tandem"));
    } catch (const BackendError& error) {
      message = error.what();
    }
    setrlimit(RLIMIT_FSIZE, &before);
    EXPECT_THAT(message, HasSubstr("cannot write")) << limit;
    EXPECT_EQ(folder.entries(), std::vector<std::string>{"a.tandem"});
    expect_equal(read_record(folder.file("a.tandem")), full_record());
  }
  std::signal(SIGXFSZ, old_handler);
}

TEST(RecordFileRefusal, NamesAMissingFile) {
  EXPECT_THAT(problem_of("/nonexistent/a.tandem"), HasSubstr("no such file"));
}

TEST(RecordFileRefusal, NamesADirectory) {
  TemporaryFolder folder;
  EXPECT_THAT(problem_of(folder.path()), HasSubstr("is a directory"));
}

TEST(RecordFileRefusal, NamesAnEmptyFile) {
  TemporaryFolder folder;
  write_bytes(folder.file("a.tandem"), "");
  EXPECT_THAT(problem_of(folder.file("a.tandem")), HasSubstr("is empty"));
}

TEST(RecordFileRefusal, NamesAForeignFile) {
  TemporaryFolder folder;
  write_bytes(folder.file("a.tandem"), std::string(5000, '\xff'));
  EXPECT_THAT(problem_of(folder.file("a.tandem")), HasSubstr("is not a Tandem record"));
  write_bytes(folder.file("a.tandem"), "{}");
  EXPECT_THAT(problem_of(folder.file("a.tandem")), HasSubstr("is not a Tandem record"));
}

TEST(RecordFileRefusal, NamesAForeignDatabase) {
  TemporaryFolder folder;
  write_bytes(folder.file("a.tandem"), "");
  run_sql(folder.file("a.tandem"), "CREATE TABLE span(x)");
  EXPECT_THAT(problem_of(folder.file("a.tandem")), HasSubstr("is an SQLite file, but not a Tandem record"));
}

TEST(RecordFileRefusal, NamesANewerVersion) {
  TemporaryFolder folder;
  write_record(full_record(), folder.file("a.tandem"));
  run_sql(folder.file("a.tandem"), "PRAGMA user_version = 2");
  EXPECT_THAT(problem_of(folder.file("a.tandem")),
              HasSubstr("newer Tandem (format 2, this program reads up to 1)"));
}

TEST(RecordFileRefusal, NamesTruncationAtEveryLength) {
  TemporaryFolder folder;
  write_record(full_record(), folder.file("a.tandem"));
  const std::string whole = bytes_of(folder.file("a.tandem"));
  std::vector<std::size_t> lengths = {16, 50, 99, 100, 101, 4096, whole.size() / 2, whole.size() - 1};
  for (const std::size_t length : lengths) {
    write_bytes(folder.file("cut.tandem"), whole.substr(0, length));
    EXPECT_THAT(problem_of(folder.file("cut.tandem")), HasSubstr("is truncated")) << length;
  }
}

TEST(RecordFileRefusal, NamesAMissingTable) {
  TemporaryFolder folder;
  write_record(full_record(), folder.file("a.tandem"));
  run_sql(folder.file("a.tandem"), "DROP TABLE link");
  EXPECT_THAT(problem_of(folder.file("a.tandem")), HasSubstr("has no table link"));
}

TEST(RecordFileRefusal, NamesValuesThatCannotBe) {
  TemporaryFolder folder;
  for (const char* damage :
       {"UPDATE span SET lane = 99", "UPDATE span SET task = -1", "UPDATE span SET cause = 77",
        "UPDATE span SET end_s = -1", "UPDATE span SET held_by = 5", "UPDATE lane SET lane = 11",
        "UPDATE lane SET rank = 1 << 40", "UPDATE task SET phase = 5", "UPDATE task SET chunk = 70000",
        "UPDATE task SET label = 1000", "UPDATE task SET flops = 'much'; UPDATE task SET flops = -1",
        "DELETE FROM span WHERE id = 0", "UPDATE header SET value = 'x' WHERE key = 'seed'",
        "UPDATE header SET key = 'y' WHERE key = 'seed'", "UPDATE lane SET multiplicity = 0",
        "DELETE FROM header WHERE key = 'backend'", "UPDATE memory SET time_s = -time_s - 1"}) {
    write_record(full_record(), folder.file("a.tandem"));
    run_sql(folder.file("a.tandem"), damage);
    EXPECT_THAT(problem_of(folder.file("a.tandem")), HasSubstr("damaged record")) << damage;
  }
}

TEST(RecordFileRefusal, SurvivesRandomDamage) {
  TemporaryFolder folder;
  write_record(full_record(), folder.file("a.tandem"));
  const std::string whole = bytes_of(folder.file("a.tandem"));
  std::mt19937 random(1);
  int refused = 0;
  for (int i = 0; i < 200; ++i) {
    std::string damaged = whole;
    for (int k = 0; k < 20; ++k) damaged[random() % damaged.size()] = static_cast<char>(random());
    write_bytes(folder.file("b.tandem"), damaged);
    try {
      check_record(read_record(folder.file("b.tandem")));
    } catch (const InputError&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 0);
}

}  // namespace
}  // namespace tandem
