// Ranks as threads of one process.
#include "exec/execute.h"

#include <barrier>
#include <exception>
#include <mutex>
#include <thread>

#include "core/problem/problem.h"
#include "exec/cpu/cpu_runtime.h"
#include "exec/threads/thread_ranks.h"

namespace tandem {
namespace {

// What ranks tell one another between steps.
class StepMeeting {
 public:
  StepMeeting(std::size_t ranks, const ExecuteOptions& options)
      : options_(options), barrier_(static_cast<std::ptrdiff_t>(ranks)) {}

  void meet(RankState& state, const RankProgram& program) {
    {
      const std::lock_guard lock(mutex_);
      result_.step = state.step;
      result_.loss += state.loss;
      result_.gradient_norm = state.gradient_norm;
      if (options_.after_rank_step) options_.after_rank_step(state, program);
    }
    barrier_.arrive_and_wait();
    if (state.rank().value == 0) {
      if (options_.on_step) options_.on_step(result_);
      result_ = {};
    }
    barrier_.arrive_and_wait();
  }
  void fail(std::exception_ptr failure) {
    const std::lock_guard lock(mutex_);
    if (!failure_) failure_ = std::move(failure);
    barrier_.arrive_and_drop();
  }
  void throw_if_failed() const {
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  const ExecuteOptions& options_;
  std::mutex mutex_;
  std::barrier<> barrier_;
  StepResult result_;
  std::exception_ptr failure_;
};

void run_rank(const RunSetup& setup, const ExecuteOptions& options, RankId rank, Transport& transport,
              StepMeeting& meeting) {
  RankState state(setup, rank);
  const int core = options.bind_cores ? static_cast<int>(rank.value) * options.threads_per_rank : -1;
  const std::unique_ptr<DeviceRuntime> device = cpu_runtime({options.threads_per_rank, core});
  state.set_memory(device->allocate(state.arena_bytes()));
  state.initialize_parameters();
  const std::unique_ptr<Communicator> communicator = communicate_over(transport, lane_count);
  RankProgram program(state, *device, *communicator, options.exchanges);
  for (std::int64_t step = 0; step < options.steps; ++step) {
    program.run_step(step);
    meeting.meet(state, program);
  }
}

}  // namespace

void execute_threads(const RunSetup& setup, const ExecuteOptions& options) {
  const auto ranks = static_cast<std::uint32_t>(setup.plan.mesh.ranks());
  ThreadRanks shared(ranks);
  StepMeeting meeting(ranks, options);
  std::vector<std::thread> threads;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      const std::unique_ptr<Transport> transport = shared.transport(rank);
      try {
        run_rank(setup, options, RankId(rank), *transport, meeting);
      } catch (...) {
        transport->give_up("another rank failed");
        meeting.fail(std::current_exception());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  meeting.throw_if_failed();
}

}  // namespace tandem
