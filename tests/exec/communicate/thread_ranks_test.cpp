// Messages between thread ranks: matching, order, sizes, giving up.
#include "exec/threads/thread_ranks.h"

#include "core/problem/problem.h"
#include "tests/exec/communicate/run_ranks.h"

namespace tandem {
namespace {

TEST(ThreadRanks, MatchMessagesByTagAndInOrder) {
  run_ranks(2, [](Transport& transport) {
    std::vector<int> values = {1, 2, 3};
    const auto part = [&](std::size_t i) { return bytes_of(values).subspan(i * sizeof(int), sizeof(int)); };
    if (transport.rank() == 0) {
      const Request first = transport.send(1, 5, part(0)), other = transport.send(1, 6, part(1)),
                    second = transport.send(1, 5, part(2));
      for (const Request request : {first, other, second}) complete(transport, request);
      return;
    }
    std::vector<int> got(3);
    const auto into = [&](std::size_t i) { return bytes_of(got).subspan(i * sizeof(int), sizeof(int)); };
    complete(transport, transport.receive(0, 6, into(0)));
    complete(transport, transport.receive(0, 5, into(1)));
    complete(transport, transport.receive(0, 5, into(2)));
    EXPECT_EQ(got, (std::vector<int>{2, 1, 3}));
  });
}

TEST(ThreadRanks, CombineWithWhatTheReceiverHolds) {
  run_ranks(2, [](Transport& transport) {
    std::vector<float> values(300'000, static_cast<float>(transport.rank() + 1));
    if (transport.rank() == 0)
      complete(transport, transport.send(1, 0, bytes_of(values)));
    else {
      complete(transport,
               transport.receive_combine(0, 0, bytes_of(values), ElementType::Float, Reduction::Sum));
      EXPECT_EQ(values, std::vector<float>(300'000, 3));
    }
  });
}

TEST(ThreadRanks, RefuseMessagesOfDifferentSizes) {
  ThreadRanks hub(2);
  const auto sender = hub.transport(0), receiver = hub.transport(1);
  std::vector<int> values = {1, 2}, got(1);
  sender->send(1, 0, bytes_of(values));
  EXPECT_THROW(complete(*receiver, receiver->receive(0, 0, bytes_of(got))), std::logic_error);
}

TEST(ThreadRanks, LearnWhyAnotherRankGaveUp) {
  run_ranks(3, [](Transport& transport) {
    if (transport.rank() == 1) return transport.give_up("its disk is full");
    std::vector<int> got(1);
    try {
      complete(transport, transport.receive(1, 0, bytes_of(got)));
      ADD_FAILURE() << "nothing was sent";
    } catch (const BackendError& e) {
      EXPECT_STREQ(e.what(), "rank 1 gave up: its disk is full");
    }
  });
}

TEST(ThreadRanks, NobodyReadsABufferWhoseRankGaveUp) {
  ThreadRanks hub(2);
  const auto receiver = hub.transport(1);
  std::vector<int> got(1);
  const Request request = receiver->receive(0, 0, bytes_of(got));
  {
    const auto sender = hub.transport(0);
    std::vector<int> values = {1};
    sender->send(1, 0, bytes_of(values));
  }
  EXPECT_THROW(receiver->test(request), BackendError);
  EXPECT_EQ(got[0], 0);
}

}  // namespace
}  // namespace tandem
