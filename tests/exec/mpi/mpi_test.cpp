// Ranks of MPI; started by mpirun, all ranks run all tests in the same order.
#include "exec/mpi/mpi_ranks.h"

#include <array>

#include "exec/communicate/clock_alignment.h"
#include "exec/communicate/communicator.h"
#include "exec/communicate/paced_transport.h"
#include "tests/exec/communicate/collective_case.h"

namespace tandem {
namespace {

MpiRanks* joined = nullptr;  // both made by main
Transport* world = nullptr;

TEST(MpiCollectives, GiveWhatTheirDefinitionSays) {
  for (const CollectiveKind kind : all_kinds)
    for (const Algorithm algorithm : all_algorithms)
      for (const std::size_t elements : {1u, 1009u})
        expect_collective(*world,
                          {kind, algorithm, kind == CollectiveKind::AllToAll ? 4 * elements : elements});
}

TEST(MpiCollectives, CutLargeMessagesInSegments) {
  for (const CollectiveKind kind : {CollectiveKind::AllReduce, CollectiveKind::Shift})
    expect_collective(*world, {kind, Algorithm::Tree, 1'300'003});
}

TEST(MpiTransport, KeepsTheOrderOfLargeMessagesOfOneTag) {
  constexpr std::size_t bytes = 5u << 20;  // more segments than are open at a time
  const std::uint32_t next = (world->rank() + 1) % world->ranks(),
                      previous = (world->rank() + world->ranks() - 1) % world->ranks();
  std::vector<std::byte> first(bytes, std::byte(1)), second(bytes, std::byte(2)), got_first(bytes),
      got_second(bytes);
  const Request requests[] = {world->receive(previous, 0, got_first), world->receive(previous, 0, got_second),
                              world->send(next, 0, first), world->send(next, 0, second)};
  std::vector<bool> done(4);
  for (std::size_t left = 4, i = 0; left > 0; i = (i + 1) % 4)
    if (!done[i] && world->test(requests[i]) == Advance::Done) done[i] = true, --left;
  EXPECT_EQ(got_first, first);
  EXPECT_EQ(got_second, second);
}

TEST(MpiTransport, SendsEmptyMessages) {
  const std::uint32_t other = world->rank() ^ 1;
  const Request received = world->receive(other, 4, {});
  complete(*world, world->send(other, 4, {}));
  complete(*world, received);
}

TEST(MpiTransport, CanBePaced) {
  const Nanoseconds start = now();  // the ranks meet in the next line, so that nobody sends before it
  const auto paced_world = paced(joined->transport(), {Bandwidth(1e9), Seconds(1e-3)});
  expect_collective(*paced_world, {CollectiveKind::AllReduce, Algorithm::Ring, 100});
  EXPECT_GE(now() - start, 6'000'000);  // six rounds
}

TEST(MpiCommunicator, CarriesTwoLanesAtOnce) {
  std::array<Event, 2> done;  // outlive the thread that sets them
  const auto communicator = communicate_over(*world, 2);
  std::array<std::vector<float>, 2> data;
  for (std::uint32_t lane : {0u, 1u}) {
    data[lane].assign(100'003, 1);
    CollectiveCall call{.members = everyone(*world, lane)};
    call.data = reinterpret_cast<std::byte*>(data[lane].data());
    call.elements = data[lane].size();
    communicator->enqueue({.call = communicator->prepare(call), .lane = lane, .done = &done[lane]});
  }
  for (std::uint32_t lane : {0u, 1u}) {
    EXPECT_TRUE(done[lane].wait());
    EXPECT_EQ(data[lane], std::vector<float>(100'003, 4));
  }
}

TEST(MpiClock, IsOneClockOnOneMachine) {
  const ClockSample sample = sample_clock(*world, 8, 50);
  EXPECT_LE(std::abs(sample.offset), sample.round_trip / 2 + 1);
}

}  // namespace

int run(int* argc, char** argv) {
  testing::InitGoogleTest(argc, argv);
  const auto ranks = join_mpi(argc, &argv);
  const auto transport = ranks->transport();
  joined = ranks.get();
  world = transport.get();
  const int result = RUN_ALL_TESTS();
  if (result != 0) ranks->abort(result);  // others may wait for this rank
  return result;
}

}  // namespace tandem

int main(int argc, char** argv) { return tandem::run(&argc, argv); }
