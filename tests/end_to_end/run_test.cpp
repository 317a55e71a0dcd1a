// tandem run from outside: records, reports, checkpoints, and what becomes of a run whose ranks die.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <thread>

#include "core/record/run_record.h"
#include "tests/end_to_end/tiny_run.h"

namespace tandem {
namespace {

using testing::Finished;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

class Run : public testing::TinyRun {
 protected:
  Finished run(const std::string& more, testing::Start start = {}) const {
    return call("run" + scenario() + more + " -o " + record(), std::move(start));
  }
  static std::vector<double> losses(const RunRecord& record) {
    std::vector<double> values;
    for (const auto& [step, loss] : record.losses) values.push_back(loss);
    return values;
  }
};

// Kills or stops a process of ranks whose command line names `record`, once they have run for a moment.
void signal_later(const std::string& record, int number) {
  for (int tries = 0; tries < 1200; ++tries) {
    std::this_thread::sleep_for(std::chrono::milliseconds(25));
    if (!fs::exists(record)) continue;
    const std::vector<pid_t> found = testing::processes(record, true);
    if (found.empty()) continue;
    std::this_thread::sleep_for(std::chrono::milliseconds(600));
    ::kill(found.back(), number);
    return;
  }
}

TEST_F(Run, SaysThatMessagesArePaced) {
  ASSERT_EQ(run("--dp 2 --steps 2 --quiet --pace 1GB/s,5us").code, 0);
  EXPECT_THAT(read_record(record()).header.notes.at("pace"), HasSubstr("5 us late"));
}

TEST_F(Run, BalancesOnlyExpertsThatThereAre) {
  const Finished refused = run("--dp 2 --steps 2 --moe-router-force-load-balancing");
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.error, HasSubstr("this model has no experts"));
}

TEST_F(Run, ThreadRanksLeaveARecordThatEverythingReads) {
  const Finished done = run("--dp 2 --steps 4 --warmup 1");
  ASSERT_EQ(done.code, 0) << done.error;
  EXPECT_THAT(done.error, HasSubstr("step 4/4  loss"));
  EXPECT_THAT(done.out, HasSubstr("where the step goes"));
  const RunRecord record = read_record(this->record());
  EXPECT_EQ(record.header.backend, "cpu");
  EXPECT_EQ(record.warmup_steps, 1u);
  EXPECT_EQ(record.losses.size(), 4u);
  EXPECT_GT(record.summary.at("tokens_per_s"), 0);
  EXPECT_GT(record.summary.at("arena_gib"), 0);
  for (const char* part : {"--breakdown", "--memory", "--critical-path", "--schedule", "--json"})
    EXPECT_EQ(testing::run("tandem", {"show", this->record(), part}).code, 0) << part;
  EXPECT_EQ(
      testing::run("tandem", {"export", this->record(), "--format", "chrome", "-o", folder_.file("run.json")})
          .code,
      0);
}

TEST_F(Run, AMeasurementHasTheTasksOfItsPrediction) {
  ASSERT_EQ(run("--dp 2 --steps 2 --quiet").code, 0);
  std::vector<std::string> predict = words("predict" + scenario() + "--dp 2 --fidelity estimate -o");
  predict.push_back(folder_.file("predicted.tandem"));
  const Finished predicted = testing::run("tandem", predict);
  ASSERT_EQ(predicted.code, 0) << predicted.error;
  const RunRecord measured = read_record(record()), expected = read_record(folder_.file("predicted.tandem"));
  std::set<std::string> labels;
  for (const RecordTask& task : measured.tasks) labels.insert(task.label);
  for (const RecordTask& task : expected.tasks) {
    if (task.kind == TaskKind::Input) continue;
    EXPECT_TRUE(labels.contains(task.label)) << task.label;
  }
  const Finished compared = testing::run("tandem", {"compare", folder_.file("predicted.tandem"), record()});
  EXPECT_EQ(compared.code, 0) << compared.error;
}

TEST_F(Run, GoesOnFromACheckpointBitForBit) {
  const std::string often = " --dp 2 --quiet --checkpoint " + folder_.file("points");
  ASSERT_EQ(run("--steps 4 --dp 2 --quiet").code, 0);
  const std::vector<double> whole = losses(read_record(record()));
  ASSERT_EQ(run("--steps 2" + often).code, 0);
  const Finished rest = run("--steps 4 --resume" + often);
  ASSERT_EQ(rest.code, 0) << rest.error;
  EXPECT_EQ(losses(read_record(record())), std::vector<double>(whole.begin() + 2, whole.end()));
}

TEST_F(Run, WhatCannotBeRunIsSaidFirst) {
  const Finished dtype = run("--fp16 --dp 2");
  EXPECT_EQ(dtype.code, 2) << dtype.error;
  const Finished ranks = run("--tp 4");
  EXPECT_EQ(ranks.code, 2) << ranks.error;
  const Finished resume = run("--resume --checkpoint " + folder_.file("none"));
  EXPECT_EQ(resume.code, 2);
  EXPECT_THAT(resume.error, HasSubstr("no complete checkpoint"));
  EXPECT_FALSE(fs::exists(record()));
}

TEST_F(Run, AnInterruptedRunLeavesAReadableRecord) {
  const Finished done = run("--dp 2 --steps 100000 --quiet", {.interrupt_after_ms = 1500});
  EXPECT_EQ(done.code, 130) << done.error;
  const RunRecord record = read_record(this->record());
  EXPECT_EQ(record.header.state, RunState::Finished);
  EXPECT_GT(record.losses.size(), 0u);
}

TEST_F(Run, AKilledProcessIsNamedAndItsRecordFails) {
  std::thread killer([&] { signal_later(record(), SIGKILL); });
  const Finished done = run("--dp 2 --steps 100000 --quiet");
  killer.join();
  EXPECT_EQ(done.code, 3);
  EXPECT_THAT(done.error, HasSubstr("signal 9"));
  const RunRecord record = read_record(this->record());
  EXPECT_EQ(record.header.state, RunState::Failed);
  EXPECT_THAT(record.header.failure, HasSubstr("signal 9"));
}

TEST_F(Run, ADeathWhileACheckpointIsWrittenLeavesWholeOnes) {
  std::thread killer([&] { signal_later(record(), SIGKILL); });
  const std::string points = folder_.file("points");
  const Finished done = run("--dp 2 --steps 100000 --quiet --checkpoint-every 1 --checkpoint " + points);
  killer.join();
  EXPECT_EQ(done.code, 3);
  EXPECT_THAT(done.error, HasSubstr("last checkpoint " + points + "/step-"));
  EXPECT_EQ(
      run("--tp 2 --steps 200000 --resume --quiet --checkpoint " + points, {.interrupt_after_ms = 800}).code,
      130);
}

TEST_F(Run, AStoppedProcessIsAHang) {
  std::thread stopper([&] { signal_later(record(), SIGSTOP); });
  const Finished done = run("--dp 2 --steps 100000 --quiet --hang-timeout 1");
  stopper.join();
  EXPECT_EQ(done.code, 3);
  EXPECT_THAT(done.error, HasSubstr("hangs"));
}

TEST_F(Run, StartsAgainFromItsLastCheckpoint) {
  std::thread killer([&] { signal_later(record(), SIGKILL); });
  const Finished done = run("--dp 2 --steps 800 --quiet --restarts 1 --checkpoint-every 50 --checkpoint " +
                            folder_.file("points"));
  killer.join();
  EXPECT_EQ(done.code, 0) << done.error;
  EXPECT_THAT(done.error, HasSubstr("starting again, 1 of 1"));
  EXPECT_TRUE(fs::exists(folder_.file("run.failed-1.tandem")));
  EXPECT_EQ(read_record(record()).header.state, RunState::Finished);
}

class MpiRun : public Run {
 protected:
  void SetUp() override {
    Run::SetUp();
    if (IsSkipped()) return;
    if (run("--mpi --dp 2 --steps 1 --quiet").error.find("apt-get install") != std::string::npos)
      GTEST_SKIP() << "no MPI here";
    fs::remove(record());  // the tests wait for one of their own
  }
};

TEST_F(MpiRun, ProcessesLearnAsThreadsDo) {
  const Finished done = run("--mpi --dp 2 --steps 3 --quiet");
  ASSERT_EQ(done.code, 0) << done.error;
  const std::vector<double> processes = losses(read_record(record()));
  ASSERT_EQ(run("--dp 2 --steps 3 --quiet").code, 0);
  EXPECT_EQ(processes, losses(read_record(record())));
}

TEST_F(MpiRun, AKilledRankIsNamed) {
  std::thread killer([&] { signal_later(record(), SIGKILL); });
  const Finished done = run("--mpi --dp 2 --steps 100000 --quiet");
  killer.join();
  EXPECT_EQ(done.code, 3);
  EXPECT_THAT(done.error, HasSubstr("rank "));
  EXPECT_THAT(done.error, HasSubstr("signal 9"));
  EXPECT_EQ(read_record(record()).header.state, RunState::Failed);
}

}  // namespace
}  // namespace tandem
