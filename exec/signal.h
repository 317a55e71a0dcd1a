// A counter that threads bump when something may have changed, and on which the thread that looks after it
// sleeps.
#pragma once
#include <atomic>
#include <cstdint>

namespace tandem {

// Nanoseconds of CLOCK_MONOTONIC: one clock for all threads and processes of a machine.
using Nanoseconds = std::int64_t;
constexpr Nanoseconds never = INT64_MAX;
Nanoseconds now();

// How a thread that found nothing to do may wait for a notification.
struct Rest {
  Nanoseconds look = 0;       // look for it so long, before sleeping
  Nanoseconds until = never;  // … at most to this date
  bool yields = false;        // nobody will notify: give the core away once, instead of sleeping
};

// The sleeper reads value(), looks whether there is work, and rests on the value that it read: a notification
// between the two is not lost. One thread owns the work; guests may do it for a while, and are then notified in
// its place, so that it sleeps on.
class Signal {
 public:
  enum class Sleeper : std::uint32_t { Owner = 1, Guest = 2 };

  std::uint32_t value() const { return value_.load(std::memory_order_seq_cst); }
  void notify();
  // Returns once the value differs from `seen`, or at `until`; may return early.
  void wait(std::uint32_t seen, Nanoseconds until = never, Sleeper = Sleeper::Owner);
  void rest(std::uint32_t seen, Rest, Sleeper = Sleeper::Owner);

  void enter() { guests_.fetch_add(1, std::memory_order_seq_cst); }
  // `done`: the value up to which there is nothing left to do. The owner is woken if it has changed.
  void leave(std::uint32_t done);

 private:
  void wake(Sleeper);

  std::atomic<std::uint32_t> value_{0};
  std::atomic<std::uint32_t> guests_{0};
  std::atomic<std::uint32_t> sleepers_{0};  // spares the system call while nobody sleeps
};

}  // namespace tandem
