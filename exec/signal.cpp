// Sleeping on a counter: Linux's futex, with a time limit.
#include "exec/signal.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <thread>

namespace tandem {
namespace {

// A sleeper wakes up to 50 us late (the kernel's timer slack): the end of a timed wait is spent yielding.
constexpr Nanoseconds wake_up_delay = 80'000;

// `limit` is a date; `sleepers` says whom to wake, or as whom to sleep.
long futex(std::atomic<std::uint32_t>& word, int operation, std::uint32_t value, const timespec* limit,
           Signal::Sleeper sleepers) {
  static_assert(sizeof(word) == sizeof(std::uint32_t));
  return syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), operation, value, limit, nullptr,
                 sleepers);
}

}  // namespace

Nanoseconds now() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<Nanoseconds>(t.tv_sec) * 1'000'000'000 + t.tv_nsec;
}

void Signal::wake(Sleeper sleepers) { futex(value_, FUTEX_WAKE_BITSET_PRIVATE, INT32_MAX, nullptr, sleepers); }

void Signal::notify() {
  value_.fetch_add(1, std::memory_order_seq_cst);
  if (sleepers_.load(std::memory_order_seq_cst) == 0) return;
  wake(guests_.load(std::memory_order_seq_cst) > 0 ? Sleeper::Guest : Sleeper::Owner);
}

void Signal::leave(std::uint32_t done) {
  if (guests_.fetch_sub(1, std::memory_order_seq_cst) == 1 && value() != done) notify();
}

void Signal::wait(std::uint32_t seen, Nanoseconds until, Sleeper who) {
  timespec limit{};
  if (until != never) {
    const Nanoseconds wake_up = until - wake_up_delay, left = wake_up - now();
    if (left <= 0) {
      if (left > -wake_up_delay) std::this_thread::yield();
      return;
    }
    limit = {.tv_sec = wake_up / 1'000'000'000, .tv_nsec = wake_up % 1'000'000'000};
  }
  sleepers_.fetch_add(1, std::memory_order_seq_cst);
  if (value() == seen) futex(value_, FUTEX_WAIT_BITSET_PRIVATE, seen, until == never ? nullptr : &limit, who);
  sleepers_.fetch_sub(1, std::memory_order_seq_cst);
}

void Signal::rest(std::uint32_t seen, Rest rest, Sleeper who) {
  if (who == Sleeper::Owner && guests_.load(std::memory_order_seq_cst) > 0) return wait(seen);
  if (rest.look > 0) {
    for (const Nanoseconds end = std::min(rest.until, now() + rest.look); now() < end; __builtin_ia32_pause())
      if (value() != seen) return;
  }
  if (rest.yields)
    std::this_thread::yield();
  else
    wait(seen, rest.until, who);
}

}  // namespace tandem
