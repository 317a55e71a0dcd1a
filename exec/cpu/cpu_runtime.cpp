// Lanes as queues, each with a thread of its own.
#include "exec/cpu/cpu_runtime.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <condition_variable>
#include <cstring>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

#include "core/problem/problem.h"
#include "exec/cpu/cores.h"
#include "exec/cpu/kernels/threads.h"
#include "exec/cpu/operators/actions.h"

namespace tandem {
namespace {

// Pages of an arena, given back with it.
class Pages {
 public:
  explicit Pages(std::size_t bytes) : bytes_(std::max<std::size_t>(bytes, 1)) {
    memory_ = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory_ == MAP_FAILED)
      throw BackendError(fmt::format("mmap of {} bytes for the arena: {}", bytes_, std::strerror(errno)));
    madvise(memory_, bytes_, MADV_HUGEPAGE);
    std::memset(memory_, 0, bytes_);
  }
  ~Pages() { munmap(memory_, bytes_); }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  std::byte* data() const { return static_cast<std::byte*>(memory_); }

 private:
  std::size_t bytes_;
  void* memory_ = nullptr;
};

class LaneThread {
 public:
  LaneThread(CpuOptions options, const std::vector<Action>& actions)
      : options_(options), actions_(actions), thread_([this] { run(); }) {}
  ~LaneThread() {
    stop();
    thread_.join();
  }

  void push(EnqueuedCompute task) {
    {
      const std::lock_guard lock(mutex_);
      queue_.push_back(std::move(task));
    }
    changed_.notify_all();
  }
  void drain() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return queue_.empty() && !busy_; });
    if (failure_) std::rethrow_exception(failure_);
  }
  void stop() noexcept {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    changed_.notify_all();
  }

 private:
  void run() {
    if (options_.core >= 0) bind_thread(options_.core, options_.threads);
    cpu::set_team_threads(options_.threads);
    cpu::flush_denormals();
    Announcement helps;  // for the next task
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [&] { return stop_ || !queue_.empty(); });
      if (queue_.empty()) return;
      const EnqueuedCompute task = std::move(queue_.front());
      queue_.pop_front();
      busy_ = true;
      const bool broken = failure_ || stop_;
      lock.unlock();
      const bool ran = !broken && carry_out(task, helps);
      lock.lock();
      // What this task lets start is begun by this thread then, not by one that would have to wake up for it.
      helps = ran && !queue_.empty() ? announce_help(queue_.front()) : nullptr;
      lock.unlock();
      if (task.done) ran ? task.done->set() : task.done->abandon();
      lock.lock();
      busy_ = false;
      if (queue_.empty()) changed_.notify_all();
    }
  }

  struct Dismiss {
    void operator()(Helped* helped) const { helped->dismiss(); }
  };
  using Announcement = std::unique_ptr<Helped, Dismiss>;
  // To who brings about what the task waits for; null where nobody does, or nothing is left to wait for.
  static Announcement announce_help(const EnqueuedCompute& task) {
    for (const Event* event : task.after) {
      if (!event->is_open() || !event->helped()) continue;
      event->helped()->announce();
      return Announcement(event->helped());
    }
    return nullptr;
  }

  bool carry_out(const EnqueuedCompute& task, Announcement& helps) {
    bool all_set = true;
    for (const Event* event : task.after) all_set = all_set && event->wait();
    helps.reset();
    if (!all_set) return fail(std::make_exception_ptr(BackendError("a task before this one failed")));
    try {
      const Nanoseconds start = now();
      actions_[task.call.value]();
      if (task.times) {
        note(task.times->start, start);
        note(task.times->end, now());
      }
      return true;
    } catch (...) {
      return fail(std::current_exception());
    }
  }
  bool fail(std::exception_ptr failure) {
    const std::lock_guard lock(mutex_);
    if (!failure_) failure_ = std::move(failure);
    return false;
  }

  const CpuOptions options_;
  const std::vector<Action>& actions_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<EnqueuedCompute> queue_;
  std::exception_ptr failure_;
  bool busy_ = false, stop_ = false;
  std::thread thread_;
};

class CpuRuntime : public DeviceRuntime {
 public:
  explicit CpuRuntime(CpuOptions options) : compute_(options, actions_), input_({}, actions_) {}

  std::byte* allocate(std::size_t bytes) override {
    pages_ = std::make_unique<Pages>(bytes);
    return pages_->data();
  }
  PreparedId prepare(const ComputeCall& call, RankState& state) override {
    actions_.push_back(make_action(call, state, scratch_));
    return PreparedId(actions_.size() - 1);
  }
  void enqueue(EnqueuedCompute task) override {
    (task.lane == Lane::Input ? input_ : compute_).push(std::move(task));
  }
  void drain() override {
    compute_.drain();
    input_.drain();
  }
  void stop() noexcept override {
    compute_.stop();
    input_.stop();
  }

 private:
  std::unique_ptr<Pages> pages_;
  cpu::Scratch scratch_;
  std::vector<Action> actions_;  // prepared before the first step, only read afterwards
  LaneThread compute_, input_;
};

}  // namespace

std::unique_ptr<DeviceRuntime> cpu_runtime(CpuOptions options) { return std::make_unique<CpuRuntime>(options); }

}  // namespace tandem
