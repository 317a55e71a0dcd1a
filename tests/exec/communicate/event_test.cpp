// Events between threads.
#include "exec/event.h"

#include <gtest/gtest.h>

#include <thread>

namespace tandem {
namespace {

TEST(Event, ReleasesWhoeverWaits) {
  Event event;
  int written = 0;
  std::thread setter([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));  // long enough that the waiter sleeps
    written = 7;
    event.set();
  });
  EXPECT_TRUE(event.wait());
  EXPECT_EQ(written, 7);
  setter.join();
}

TEST(Event, TellsThatItWasAbandoned) {
  Event event;
  std::thread other([&] { event.abandon(); });
  EXPECT_FALSE(event.wait());
  EXPECT_FALSE(event.is_set());
  other.join();
}

TEST(Event, IsUnsetAgainAfterAReset) {
  Event event;
  event.set();
  event.reset();
  EXPECT_FALSE(event.is_set());
}

TEST(Event, WakesItsListener) {
  Event event;
  Signal signal;
  event.tell(&signal);
  const std::uint32_t seen = signal.value();
  std::thread setter([&] { event.set(); });
  while (signal.value() == seen) signal.wait(seen);
  EXPECT_TRUE(event.is_set());
  setter.join();
}

TEST(Signal, EndsItsWaitAtTheLimit) {
  Signal signal;
  const Nanoseconds until = now() + 3'000'000;
  while (now() < until) signal.wait(signal.value(), until);
  EXPECT_EQ(signal.value(), 0u);
}

}  // namespace
}  // namespace tandem
