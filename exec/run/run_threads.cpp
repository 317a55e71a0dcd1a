// A thread a rank, two mailboxes each.
#include "exec/run/run_threads.h"

#include <exception>
#include <mutex>
#include <thread>

#include "exec/threads/thread_ranks.h"

namespace tandem {
namespace {

// The failure that the others followed from.
class FirstFailure {
 public:
  void note(std::exception_ptr failure) {
    const std::lock_guard lock(mutex_);
    if (!failure_) failure_ = std::move(failure);
  }
  void throw_if_any() const {
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  std::mutex mutex_;
  std::exception_ptr failure_;
};

}  // namespace

void run_threads(const RunSetup& setup, RunObserver& observer,
                 const std::function<RankOptions(RankId)>& options_of, std::optional<Pace> pace) {
  const auto ranks = static_cast<std::uint32_t>(setup.plan.mesh.ranks());
  ThreadRanks lanes(ranks), controls(ranks);
  FirstFailure failure;
  std::vector<std::thread> threads;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      const std::unique_ptr<Transport> control = controls.transport(rank);
      std::unique_ptr<Transport> lane = lanes.transport(rank);
      if (pace) lane = paced(std::move(lane), *pace);
      try {
        run_rank(setup, *lane, *control, rank == 0 ? &observer : nullptr, options_of(RankId(rank)));
      } catch (...) {
        failure.note(std::current_exception());
        control->give_up("another rank failed");
        lane->give_up("another rank failed");
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  failure.throw_if_any();
}

}  // namespace tandem
