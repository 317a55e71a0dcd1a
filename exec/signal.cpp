// Sleeping on a counter: Linux's futex, with a time limit.
#include "exec/signal.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <ctime>
#include <thread>

namespace tandem {
namespace {

// A sleeper wakes up to 50 us late (the kernel's timer slack): the end of a timed wait is spent yielding.
constexpr Nanoseconds wake_up_delay = 80'000;

long futex(std::atomic<std::uint32_t>& word, int operation, std::uint32_t value, const timespec* limit) {
  static_assert(sizeof(word) == sizeof(std::uint32_t));
  return syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), operation, value, limit, nullptr, 0);
}

}  // namespace

Nanoseconds now() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<Nanoseconds>(t.tv_sec) * 1'000'000'000 + t.tv_nsec;
}

void Signal::notify() {
  value_.fetch_add(1, std::memory_order_seq_cst);
  if (sleepers_.load(std::memory_order_seq_cst) > 0) futex(value_, FUTEX_WAKE_PRIVATE, INT32_MAX, nullptr);
}

void Signal::wait(std::uint32_t seen, Nanoseconds until) {
  timespec limit{};
  if (until != never) {
    const Nanoseconds left = until - now() - wake_up_delay;
    if (left <= 0) {
      if (left > -wake_up_delay) std::this_thread::yield();
      return;
    }
    limit = {.tv_sec = left / 1'000'000'000, .tv_nsec = left % 1'000'000'000};
  }
  sleepers_.fetch_add(1, std::memory_order_seq_cst);
  if (value() == seen) futex(value_, FUTEX_WAIT_PRIVATE, seen, until == never ? nullptr : &limit);
  sleepers_.fetch_sub(1, std::memory_order_seq_cst);
}

}  // namespace tandem
