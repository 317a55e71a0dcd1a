// Deaths of runs at any moment of their lives: what is said, what is left, and that training goes on from
// there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <random>
#include <thread>

#include "core/record/run_record.h"
#include "tests/end_to_end/tiny_run.h"

namespace tandem {
namespace {

namespace fs = std::filesystem;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using Clock = std::chrono::steady_clock;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int moments = 3, mpi_moments = 3;
constexpr std::chrono::seconds end_after_kill{20};  // instrumented programs end slowly
#else
constexpr int moments = 10, mpi_moments = 6;
constexpr std::chrono::seconds end_after_kill{2};
#endif

struct Kill {
  bool hit = false;
  Clock::time_point when;
};
// Waits for ranks of the run that writes `record`, then for `delay`, and kills one of them.
Kill kill_after(const std::string& record, std::chrono::milliseconds delay, std::uint32_t which) {
  std::vector<pid_t> found;
  const auto end = Clock::now() + std::chrono::seconds(20);
  for (; found.empty() && Clock::now() < end; std::this_thread::sleep_for(std::chrono::milliseconds(1)))
    found = testing::processes(record, true);
  std::this_thread::sleep_for(delay);
  found = testing::processes(record, true);
  if (found.empty()) return {};
  const bool hit = ::kill(found[which % found.size()], SIGKILL) == 0;
  return {hit, Clock::now()};
}

class RunFaults : public testing::TinyRun {
 protected:
  testing::Finished run(const std::string& more) const {
    return call("run" + scenario() + "--dp 2 --quiet --steps " + std::to_string(steps) +
                " --checkpoint-every 3 --checkpoint " + points() + " -o " + record() + " " + more);
  }
  std::string points() const { return folder_.file("points"); }
  void forget() const {
    fs::remove_all(points());
    fs::remove(record());
  }
  // By step of the training: a record counts its own from 0.
  static std::map<std::int64_t, double> losses(const RunRecord& record) {
    std::map<std::int64_t, double> result;
    const std::int64_t first = steps - static_cast<std::int64_t>(record.losses.size());
    for (const auto& [step, loss] : record.losses) result[first + step] = loss;
    return result;
  }

  void series(const std::string& how, int moments) const;
  // False: the run was over by then.
  bool kill_once(const std::string& how, std::chrono::milliseconds delay, std::uint32_t which,
                 const std::map<std::int64_t, double>& whole) const;

  static constexpr std::int64_t steps = 40;
};

void RunFaults::series(const std::string& how, int moments) const {
  const auto start = Clock::now();
  const testing::Finished whole = run(how);
  if (whole.error.find("apt-get install") != std::string::npos) GTEST_SKIP() << "no MPI here";
  ASSERT_EQ(whole.code, 0) << whole.error;
  const auto life = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - start);
  const std::map<std::int64_t, double> expected = losses(read_record(record()));
  ASSERT_EQ(expected.size(), static_cast<std::size_t>(steps));
  std::mt19937 random(7);
  int killed = 0;
  for (int moment = 0; moment < moments; ++moment) {
    // One in each tenth of the run's life, so that start, steps and checkpoints all get their share.
    const double place = (moment + std::uniform_real_distribution<>(0, 1)(random)) / moments;
    const auto delay =
        std::chrono::milliseconds(static_cast<std::int64_t>(place * 0.9 * static_cast<double>(life.count())));
    SCOPED_TRACE("killed after " + std::to_string(delay.count()) + " ms of " + std::to_string(life.count()));
    forget();
    killed += kill_once(how, delay, static_cast<std::uint32_t>(random()), expected);
  }
  EXPECT_GE(killed, moments / 2) << "the others were over before";
}

bool RunFaults::kill_once(const std::string& how, std::chrono::milliseconds delay, std::uint32_t which,
                          const std::map<std::int64_t, double>& whole) const {
  Kill kill;
  std::thread killer([&] { kill = kill_after(record(), delay, which); });
  const testing::Finished done = run(how);
  const auto end = Clock::now();
  killer.join();
  if (done.code == 0) return false;  // it was over, or its last word was said, before the kill
  EXPECT_TRUE(kill.hit) << done.error;
  EXPECT_EQ(done.code, 3) << done.error;
  EXPECT_LE(end - kill.when, end_after_kill);
  EXPECT_THAT(done.error, HasSubstr("signal 9"));
  EXPECT_THAT(done.error, AnyOf(HasSubstr("rank"), HasSubstr("process")));
  char host[256] = {};
  ::gethostname(host, sizeof host - 1);
  EXPECT_THAT(done.error, HasSubstr(std::string(" on ") + host));
  EXPECT_THAT(testing::processes(record(), false), ::testing::IsEmpty());
  if (fs::exists(record())) {
    const RunRecord left = read_record(record());
    if (left.header.state == RunState::Finished) {  // killed before it could say so
      EXPECT_THAT(done.error, HasSubstr("is complete"));
      EXPECT_EQ(losses(left), whole);
      return true;
    }
    EXPECT_EQ(left.header.state, RunState::Failed);
    EXPECT_THAT(left.header.failure, HasSubstr("signal 9"));
  }
  const bool resumes = done.error.find("last checkpoint") != std::string::npos;
  const testing::Finished rest = run(how + (resumes ? " --resume" : ""));
  if (rest.error.find("has done 40 of 40 steps already") != std::string::npos) return true;
  EXPECT_EQ(rest.code, 0) << done.error << rest.error;
  const RunRecord record = read_record(this->record());
  EXPECT_EQ(record.header.state, RunState::Finished);
  const std::map<std::int64_t, double> own = losses(record);
  EXPECT_FALSE(own.empty());
  for (const auto& [step, loss] : own) EXPECT_EQ(loss, whole.at(step)) << "step " << step;
  if (!resumes) {
    EXPECT_EQ(own.size(), whole.size());
  }
  return true;
}

TEST_F(RunFaults, OfThreadRanksAtAnyMomentAreNamedAndGoneOnFrom) { series("", moments); }
TEST_F(RunFaults, OfMpiRanksAtAnyMomentAreNamedAndGoneOnFrom) { series("--mpi", mpi_moments); }

}  // namespace
}  // namespace tandem
