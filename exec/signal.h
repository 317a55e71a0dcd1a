// A counter that threads bump when something may have changed, and on which one thread sleeps.
#pragma once
#include <atomic>
#include <cstdint>

namespace tandem {

// Nanoseconds of CLOCK_MONOTONIC: one clock for all threads and processes of a machine.
using Nanoseconds = std::int64_t;
constexpr Nanoseconds never = INT64_MAX;
Nanoseconds now();

// The sleeper reads value(), looks whether there is work, and waits on the value that it read: a notification
// between the two is not lost.
class Signal {
 public:
  std::uint32_t value() const { return value_.load(std::memory_order_seq_cst); }
  void notify();
  // Returns once the value differs from `seen`, or at `until`; may return early.
  void wait(std::uint32_t seen, Nanoseconds until = never);

 private:
  std::atomic<std::uint32_t> value_{0};
  std::atomic<std::uint32_t> sleepers_{0};  // spares the system call while nobody sleeps
};

}  // namespace tandem
