// The communication of a rank: takes what is enqueued, polls every lane in turn, sleeps when nothing moves. One
// thread at a time drives it: its own, or one that waits for it.
#include <algorithm>
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

class HostCommunicator final : public Communicator, private Helped {
 public:
  HostCommunicator(Transport& transport, std::uint32_t lanes, Nanoseconds look)
      : transport_(transport), look_(look), lanes_(lanes), thread_([this] { run(); }) {}
  ~HostCommunicator() override { stop(); }

  PreparedId prepare(CommunicationCall call) override {
    return operations_.push_back(make_operation(call, transport_));
  }

  void enqueue(Enqueued what) override {
    check(what.lane < lanes_.size(), "no such lane");
    if (what.done) what.done->brought_by(this);
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
    while (true) {
      const std::uint32_t seen = transport_.signal().value();
      Rest rest;
      {
        const std::lock_guard driver(drive_);
        if (ended_) return;
        const Pass pass = drive();
        if (pass.moved) continue;
        rest = rest_after(pass);
      }
      transport_.signal().rest(seen, rest);
    }
  }

  void help_until(const Event& event) override {
    announce();
    bool once_more = true;
    while (once_more) {
      const std::uint32_t seen = transport_.signal().value();
      Rest rest;
      {
        const std::lock_guard driver(drive_);
        once_more = event.is_open();
        if (ended_) break;
        const Pass pass = drive();
        if (pass.moved || !once_more) continue;
        rest = rest_after(pass);
      }
      if (!rest.yields) rest.look = std::max(rest.look, look_);
      transport_.signal().rest(seen, rest, Signal::Sleeper::Guest);
    }
    dismiss();
  }
  void announce() override { transport_.signal().enter(); }
  void dismiss() override { transport_.signal().leave(done_); }

  // One turn of all lanes.
  struct Pass {
    bool moved = false, open = false;
  };
  Pass drive() {
    const std::uint32_t seen = transport_.signal().value();
    Pass pass;
    try {
      if (stopping_) return end(nullptr, "it stopped before its communication was complete");
      pass.moved = take_arrivals();
      for (std::deque<Queued>& lane : lanes_) {
        while (!lane.empty() && advance(lane.front(), pass.moved)) lane.pop_front();
        pass.open |= !lane.empty() && lane.front().runs;
      }
    } catch (const std::exception& e) {
      return end(std::current_exception(), e.what());
    }
    done_ = pass.moved || pass.open ? seen - 1 : seen;
    return pass;
  }
  Rest rest_after(const Pass& pass) { return pass.open ? transport_.rest() : Rest{}; }

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
      if (head.what.times) note(head.what.times->start, now());
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
    if (what.times) note(what.times->end, now());
    if (what.done) what.done->set();
    const std::lock_guard lock(mutex_);
    if (--unfinished_ == 0) idle_.notify_all();
  }

  // Abandons what is unfinished; without a failure that is one, and nothing unfinished is an orderly end.
  Pass end(std::exception_ptr failure, const char* reason) noexcept {
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
    done_ = transport_.signal().value() - 1;  // a guest wakes the owner, who ends
    return {.moved = true};
  }

  Transport& transport_;
  const Nanoseconds look_;
  IndexedVector<PreparedId, std::unique_ptr<Operation>> operations_;  // of the enqueuing thread
  std::atomic<bool> stopping_{false};
  std::atomic<std::uint32_t> done_{0};  // the signal's value up to which nothing is left to do

  std::mutex drive_;  // of the transport, and of
  std::vector<std::deque<Queued>> lanes_;

  mutable std::mutex mutex_;  // of what follows
  std::condition_variable idle_;
  std::vector<Queued> arrivals_;
  std::size_t unfinished_ = 0;
  bool ended_ = false;
  std::exception_ptr failure_;

  std::thread thread_;  // last: it uses all of the above
};

}  // namespace

std::unique_ptr<Communicator> communicate_over(Transport& transport, std::uint32_t lanes, Nanoseconds look) {
  return std::make_unique<HostCommunicator>(transport, lanes, look);
}

}  // namespace tandem
