// A paced transport: never quicker than told, and the same data.
#include "exec/communicate/paced_transport.h"

#include "tests/exec/communicate/collective_case.h"
#include "tests/exec/communicate/run_ranks.h"

namespace tandem {
namespace {

constexpr Pace slow{Bandwidth(1e8), Seconds(2e-3)};  // 100 kB a millisecond

void run_paced(std::uint32_t ranks, const std::function<void(Transport&)>& body) {
  ThreadRanks hub(ranks);
  std::vector<std::thread> threads;
  for (std::uint32_t rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      const auto transport = paced(hub.transport(rank), slow);
      body(*transport);
    });
  for (std::thread& thread : threads) thread.join();
}

TEST(PacedTransport, DelaysAMessageByItsSizeAndTheLatency) {
  run_paced(2, [](Transport& transport) {
    std::vector<char> data(300'000);
    const Nanoseconds start = now();
    if (transport.rank() == 0) {
      complete(transport, transport.send(1, 0, bytes_of(data)));
      EXPECT_GE(now() - start, 3'000'000);
      data.assign(1, 'x');
      complete(transport, transport.send(1, 0, bytes_of(data)));
    } else {
      complete(transport, transport.receive(0, 0, bytes_of(data)));
      data.resize(1);
      complete(transport, transport.receive(0, 0, bytes_of(data)));
      EXPECT_EQ(data[0], 'x');
    }
  });
}

TEST(PacedTransport, SendsMessagesToOneReceiverOneAfterTheOther) {
  ThreadRanks hub(2);
  const auto sender = paced(hub.transport(0), slow), receiver = paced(hub.transport(1), slow);
  std::vector<char> data(400'000), got(400'000);
  const Nanoseconds start = now();
  const Request sent[] = {sender->send(1, 0, std::span(bytes_of(data)).first(200'000)),
                          sender->send(1, 1, std::span(bytes_of(data)).last(200'000))};
  const Request received[] = {receiver->receive(0, 0, std::span(bytes_of(got)).first(200'000)),
                              receiver->receive(0, 1, std::span(bytes_of(got)).last(200'000))};
  complete(*receiver, received[1]);
  EXPECT_GE(now() - start, 6'000'000);  // 2 + 2 ms on the wire, 2 ms of latency
  complete(*receiver, received[0]);
  for (const Request request : sent) complete(*sender, request);
}

TEST(PacedTransport, CarriesCollectives) {
  run_paced(3, [](Transport& transport) {
    expect_collective(transport, {CollectiveKind::AllReduce, Algorithm::Ring, 100});
  });
}

TEST(PacedTransport, TakesNoLessThanTheClosedFormOfARing) {
  constexpr std::size_t elements = 75'000;
  const Nanoseconds start = now();  // before any rank sends
  run_paced(3, [&](Transport& transport) {
    expect_collective(transport, {CollectiveKind::AllReduce, Algorithm::Ring, elements});
    const Seconds least = closed_form(CollectiveKind::AllReduce, Algorithm::Ring, 3, Bytes(4.0 * elements),
                                      slow.latency, slow.bandwidth);
    EXPECT_GE(static_cast<double>(now() - start) * 1e-9, least.value);
  });
}

TEST(Pace, ReadsBandwidthAndLatency) {
  const auto pace = parse_pace("10GB/s,5us");
  ASSERT_TRUE(pace);
  EXPECT_DOUBLE_EQ(pace->bandwidth.value, 1e10);
  EXPECT_DOUBLE_EQ(pace->latency.value, 5e-6);
}

TEST(Pace, NeedsBothWithUnits) {
  for (const char* text : {"", "10GB/s", "10,5us", "10GB/s,5", "0GB/s,5us"})
    EXPECT_FALSE(parse_pace(text)) << text;
}

}  // namespace
}  // namespace tandem
