// The communication thread of a rank: takes what is enqueued, polls every lane in turn, sleeps when nothing
// moves.
#include <atomic>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>

#include "core/problem/problem.h"
#include "exec/communicate/communicator.h"
#include "exec/communicate/operation.h"
#include "exec/communicate/transport.h"

namespace tandem {
namespace {

struct Queued {
  Enqueued what;
  Operation* operation = nullptr;
  bool listens = false, runs = false;
};

void abandon(const Enqueued& what) {
  if (what.done) what.done->abandon();
}

class HostCommunicator final : public Communicator {
 public:
  HostCommunicator(Transport& transport, std::uint32_t lanes)
      : transport_(transport), lanes_(lanes), thread_([this] { run(); }) {}
  ~HostCommunicator() override { stop(); }

  PreparedId prepare(CommunicationCall call) override {
    return operations_.push_back(make_operation(call, transport_));
  }

  void enqueue(Enqueued what) override {
    check(what.lane < lanes_.size(), "no such lane");
    Queued queued{std::move(what), operations_[what.call].get()};
    {
      const std::lock_guard lock(mutex_);
      if (ended_) return abandon(queued.what);
      arrivals_.push_back(std::move(queued));
      ++unfinished_;
    }
    transport_.signal().notify();
  }

  void drain() override {
    std::unique_lock lock(mutex_);
    idle_.wait(lock, [&] { return unfinished_ == 0 || failure_; });
    if (failure_) std::rethrow_exception(failure_);
  }

  void throw_if_failed() const override {
    const std::lock_guard lock(mutex_);
    if (failure_) std::rethrow_exception(failure_);
  }

  void stop() noexcept override {
    if (!thread_.joinable()) return;
    stopping_ = true;
    transport_.signal().notify();
    thread_.join();
  }

 private:
  void run() {
    try {
      while (!stopping_) {
        const std::uint32_t seen = transport_.signal().value();
        bool moved = take_arrivals(), open = false;
        for (std::deque<Queued>& lane : lanes_) {
          while (!lane.empty() && advance(lane.front(), moved)) lane.pop_front();
          open |= !lane.empty() && lane.front().runs;
        }
        if (moved) continue;
        if (open)
          transport_.wait(seen);
        else
          transport_.signal().wait(seen);
      }
      end(nullptr, "it stopped before its communication was complete");
    } catch (const std::exception& e) {
      end(std::current_exception(), e.what());
    }
  }

  bool take_arrivals() {
    std::vector<Queued> arrivals;
    {
      const std::lock_guard lock(mutex_);
      arrivals.swap(arrivals_);
    }
    for (Queued& queued : arrivals) lanes_[queued.what.lane].push_back(std::move(queued));
    return !arrivals.empty();
  }

  // True: done.
  bool advance(Queued& head, bool& moved) {
    if (!head.runs) {
      if (!ready(head)) return false;
      moved = head.runs = true;
      if (head.what.times) head.what.times->start = now();
      if (head.what.before) head.what.before();
      head.operation->start();
    }
    const Advance reached = head.operation->advance();
    moved |= reached != Advance::Blocked;
    if (reached != Advance::Done) return false;
    finish(head.what);
    return true;
  }

  bool ready(Queued& head) {
    if (!head.listens)
      for (Event* event : head.what.after) event->tell(&transport_.signal());
    head.listens = true;
    bool all = true;
    for (const Event* event : head.what.after) {
      if (event->is_abandoned()) throw BackendError("a task that a communication waits for was abandoned");
      all &= event->is_set();
    }
    return all;
  }

  void finish(const Enqueued& what) {
    if (what.finish) what.finish();
    if (what.times) what.times->end = now();
    if (what.done) what.done->set();
    const std::lock_guard lock(mutex_);
    if (--unfinished_ == 0) idle_.notify_all();
  }

  // Abandons what is unfinished; without a failure that is one, and nothing unfinished is an orderly end.
  void end(std::exception_ptr failure, const char* reason) noexcept {
    std::vector<Queued> arrivals;
    {
      const std::lock_guard lock(mutex_);
      ended_ = true;
      arrivals.swap(arrivals_);
      if (!failure && unfinished_ > 0)
        failure = std::make_exception_ptr(BackendError("communication was stopped before it was complete"));
      failure_ = failure;
    }
    if (failure) transport_.give_up(reason);
    for (const Queued& queued : arrivals) abandon(queued.what);
    for (const std::deque<Queued>& lane : lanes_)
      for (const Queued& queued : lane) abandon(queued.what);
    idle_.notify_all();
  }

  Transport& transport_;
  IndexedVector<PreparedId, std::unique_ptr<Operation>> operations_;  // of the enqueuing thread
  std::vector<std::deque<Queued>> lanes_;                             // of the communication thread
  std::atomic<bool> stopping_{false};

  mutable std::mutex mutex_;  // of what follows
  std::condition_variable idle_;
  std::vector<Queued> arrivals_;
  std::size_t unfinished_ = 0;
  bool ended_ = false;
  std::exception_ptr failure_;

  std::thread thread_;  // last: it uses all of the above
};

}  // namespace

std::unique_ptr<Communicator> communicate_over(Transport& transport, std::uint32_t lanes) {
  return std::make_unique<HostCommunicator>(transport, lanes);
}

}  // namespace tandem
