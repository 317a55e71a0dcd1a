// The communication thread: lanes, events, callbacks, failures, stopping.
#include "exec/communicate/communicator.h"

#include <array>
#include <deque>
#include <thread>

#include "core/problem/problem.h"
#include "exec/communicate/paced_transport.h"
#include "tests/exec/communicate/run_ranks.h"

namespace tandem {
namespace {

// Two ranks; the test speaks for rank 0 through `communicator` and for rank 1 by messages on `peer`.
class CommunicatorTest : public testing::Test {
 protected:
  std::deque<Event> events;  // outlive the threads that set them
  ThreadRanks hub{2};
  std::unique_ptr<Transport> own = hub.transport(0), peer = hub.transport(1);
  std::unique_ptr<Communicator> communicator = communicate_over(*own, 3);
  std::array<std::byte, 4> buffer{}, buffer_2{};

  Event& event() { return events.emplace_back(); }
  PreparedId receive(std::uint32_t tag, std::span<std::byte> data) {
    return communicator->prepare(ReceiveCall{1, tag, data});
  }
  void peer_sends(std::uint32_t tag) {
    const std::array<std::byte, 4> data{std::byte(tag)};
    complete(*peer, peer->send(0, tag, data));
  }
};

TEST_F(CommunicatorTest, SetsTheEventOnceTheMessageIsThere) {
  Event& done = event();
  communicator->enqueue({.call = receive(7, buffer), .done = &done});
  EXPECT_FALSE(done.is_set());
  peer_sends(7);
  EXPECT_TRUE(done.wait());
  EXPECT_EQ(buffer[0], std::byte(7));
}

TEST_F(CommunicatorTest, LetsALaneWaitWithoutBlockingAnother) {
  Event &waiting = event(), &done = event();
  communicator->enqueue({.call = receive(1, buffer), .lane = 0, .done = &waiting});
  communicator->enqueue({.call = receive(2, buffer_2), .lane = 1, .done = &done});
  peer_sends(2);
  EXPECT_TRUE(done.wait());
  EXPECT_FALSE(waiting.is_set());
  peer_sends(1);
  EXPECT_TRUE(waiting.wait());
}

TEST_F(CommunicatorTest, KeepsTheOrderOfALane) {
  std::vector<int> order;
  Event &ready = event(), &first = event(), &second = event();
  communicator->enqueue({.call = receive(1, buffer),
                         .after = {&ready},
                         .done = &first,
                         .before = [&] { order.push_back(1); },
                         .finish = [&] { order.push_back(2); }});
  communicator->enqueue({.call = receive(2, buffer_2), .done = &second, .before = [&] { order.push_back(3); }});
  std::thread other([&] {
    peer_sends(1);
    peer_sends(2);
  });
  ready.set();
  EXPECT_TRUE(second.wait());
  EXPECT_EQ(order, (std::vector<int>{1, 2, 3}));
  other.join();
}

TEST_F(CommunicatorTest, StartsNothingBeforeAllEventsAreSet) {
  Event &one = event(), &two = event(), &done = event();
  bool started = false;
  communicator->enqueue({.call = receive(1, buffer), .after = {&one, &two}, .done = &done, .before = [&] {
                           started = two.is_set();
                         }});
  one.set();
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
  two.set();
  peer_sends(1);
  EXPECT_TRUE(done.wait());
  EXPECT_TRUE(started);
}

TEST_F(CommunicatorTest, RecordsTheTimeFromReadyToComplete) {
  Event &ready = event(), &done = event();
  CommunicationTimes times;
  communicator->enqueue({.call = receive(1, buffer), .after = {&ready}, .done = &done, .times = &times});
  const Nanoseconds set = now();
  ready.set();
  peer_sends(1);
  done.wait();
  EXPECT_GE(times.start, set);
  EXPECT_GE(times.end, times.start);
  EXPECT_LE(times.end, now());
}

TEST_F(CommunicatorTest, AThreadThatWaitsDoesTheWork) {
  const PreparedId call = receive(1, buffer);
  std::thread::id worked;
  for (int i = 0; i < 1000 && worked != std::this_thread::get_id(); ++i) {
    Event &ready = event(), &done = event();
    communicator->enqueue({.call = call, .after = {&ready}, .done = &done, .before = [&] {
                             worked = std::this_thread::get_id();
                           }});
    std::thread other([&] { peer_sends(1); });
    done.helped()->announce();
    ready.set();
    EXPECT_TRUE(done.wait());
    done.helped()->dismiss();
    other.join();
  }
  EXPECT_EQ(worked, std::this_thread::get_id());
}

TEST_F(CommunicatorTest, GoesOnAfterAHelperHasLeft) {
  Event &mine = event(), &other = event(), &ready = event();
  communicator->enqueue({.call = receive(2, buffer_2), .lane = 1, .after = {&ready}, .done = &other});
  communicator->enqueue({.call = receive(1, buffer), .done = &mine});
  peer_sends(1);
  EXPECT_TRUE(mine.wait());
  ready.set();
  peer_sends(2);
  communicator->drain();  // without help
  EXPECT_TRUE(other.is_set());
}

TEST_F(CommunicatorTest, UsesAPreparedCallAgain) {
  const PreparedId call = receive(1, buffer);
  for (int i = 0; i < 3; ++i) {
    Event& done = event();
    communicator->enqueue({.call = call, .done = &done});
    peer_sends(1);
    EXPECT_TRUE(done.wait());
  }
}

TEST_F(CommunicatorTest, DrainsAllLanes) {
  Event& done = event();
  communicator->enqueue({.call = receive(1, buffer), .lane = 2, .done = &done});
  std::thread other([&] { peer_sends(1); });
  communicator->drain();
  EXPECT_TRUE(done.is_set());
  other.join();
}

TEST_F(CommunicatorTest, AbandonsWhatIsOpenOrQueuedWhenStopped) {
  Event &open = event(), &queued = event();
  communicator->enqueue({.call = receive(1, buffer), .done = &open});
  communicator->enqueue({.call = receive(2, buffer), .done = &queued});
  std::thread waiter([&] { EXPECT_FALSE(open.wait()); });
  communicator->stop();
  EXPECT_FALSE(queued.wait());
  waiter.join();
  EXPECT_THROW(peer_sends(1), BackendError);
  EXPECT_THROW(communicator->throw_if_failed(), BackendError);
}

TEST_F(CommunicatorTest, AbandonsWhatComesAfterTheEnd) {
  communicator->stop();
  Event& late = event();
  communicator->enqueue({.call = receive(1, buffer), .done = &late});
  EXPECT_FALSE(late.wait());
}

TEST_F(CommunicatorTest, StopsInPeaceOnceAllIsDone) {
  Event& done = event();
  communicator->enqueue({.call = receive(1, buffer), .done = &done});
  peer_sends(1);
  done.wait();
  communicator->drain();
  communicator->stop();
  const Request request = peer->receive(0, 5, buffer_2);
  EXPECT_EQ(peer->test(request), Advance::Blocked);  // and no BackendError
  EXPECT_NO_THROW(communicator->throw_if_failed());
}

TEST_F(CommunicatorTest, SurfacesTheFailureOfAnotherRank) {
  Event &done = event(), &later = event();
  communicator->enqueue({.call = receive(1, buffer), .done = &done});
  peer->give_up("no memory");
  EXPECT_FALSE(done.wait());
  EXPECT_THROW(communicator->throw_if_failed(), BackendError);
  EXPECT_THROW(communicator->drain(), BackendError);
  communicator->enqueue({.call = receive(2, buffer), .done = &later});
  EXPECT_FALSE(later.wait());
}

TEST_F(CommunicatorTest, FailsWhenACallbackThrows) {
  Event& done = event();
  communicator->enqueue(
      {.call = receive(1, buffer), .done = &done, .before = [] { throw BackendError("lost"); }});
  EXPECT_FALSE(done.wait());
  try {
    communicator->throw_if_failed();
    ADD_FAILURE() << "no failure";
  } catch (const BackendError& e) {
    EXPECT_STREQ(e.what(), "lost");
  }
}

TEST_F(CommunicatorTest, FailsWhenATaskThatItWaitsForIsAbandoned) {
  Event &task = event(), &done = event();
  communicator->enqueue({.call = receive(1, buffer), .after = {&task}, .done = &done});
  task.abandon();
  EXPECT_FALSE(done.wait());
  EXPECT_THROW(communicator->drain(), BackendError);
}

TEST(PacedCommunicator, LeavesTheRankFreeWhileMessagesTravel) {
  ThreadRanks hub(2);
  const Pace slow{Bandwidth(1e8), Seconds(5e-3)};
  Event sent, received;
  const auto own = paced(hub.transport(0), slow), peer = paced(hub.transport(1), slow);
  const auto sender = communicate_over(*peer, 1), receiver = communicate_over(*own, 1);
  std::array<std::byte, 100> data{}, got{};
  const Nanoseconds start = now();
  receiver->enqueue({.call = receiver->prepare(ReceiveCall{1, 0, got}), .done = &received});
  sender->enqueue({.call = sender->prepare(SendCall{0, 0, data}), .done = &sent});
  const Nanoseconds returned = now();
  EXPECT_TRUE(received.wait());
  EXPECT_GE(now() - start, 5'000'000);
  EXPECT_LT(returned, now());
  EXPECT_TRUE(sent.wait());
}

}  // namespace
}  // namespace tandem
