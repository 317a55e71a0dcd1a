// Every collective by every algorithm over thread ranks, against its definition.
#include <cmath>
#include <cstring>

#include "tests/exec/communicate/collective_case.h"
#include "tests/exec/communicate/run_ranks.h"

namespace tandem {
namespace {

class Collectives : public testing::TestWithParam<CollectiveKind> {};

TEST_P(Collectives, GiveWhatTheirDefinitionSaysByEveryAlgorithmForOneToEightRanks) {
  for (std::uint32_t ranks = 1; ranks <= 8; ++ranks)
    run_ranks(ranks, [&](Transport& transport) {
      for (const Algorithm algorithm : all_algorithms)
        for (std::size_t elements : {0u, 1u, 5u, 1009u}) {
          if (GetParam() == CollectiveKind::AllToAll) elements *= ranks;  // equal pieces
          expect_collective(transport, {GetParam(), algorithm, elements});
        }
    });
}

TEST_P(Collectives, WorkOnMessagesOfSeveralBites) {
  run_ranks(2, [&](Transport& transport) {
    expect_collective(transport, {GetParam(), Algorithm::Auto, 700'002});
  });
}

INSTANTIATE_TEST_SUITE_P(Kinds, Collectives, testing::ValuesIn(all_kinds),
                         [](const auto& info) { return std::string(name(info.param)); });

// Sums that depend on their order: magnitudes far apart.
std::vector<float> uneven(std::uint32_t rank, std::size_t n) {
  std::vector<float> values(n);
  for (std::size_t i = 0; i < n; ++i)
    values[i] = std::ldexp(1.0f + static_cast<float>((rank * 7919 + i * 104729) % 1000) / 1000,
                           static_cast<int>((rank + i) % 20));
  return values;
}

CollectiveCall all_reduce(Transport& transport, Algorithm algorithm, std::vector<float>& data) {
  CollectiveCall call{.algorithm = algorithm, .members = everyone(transport)};
  call.data = bytes_of(data).data();
  call.elements = data.size();
  return call;
}

TEST(AllReduce, LeavesTheSameBitsOnAllMembersAndInEveryRun) {
  for (const Algorithm algorithm : all_algorithms) {
    std::vector<std::vector<float>> results(12);
    for (std::uint32_t run = 0; run < 2; ++run)
      run_ranks(6, [&](Transport& transport) {
        std::vector<float> data = uneven(transport.rank(), 1009);
        complete(transport, *make_operation(all_reduce(transport, algorithm, data), transport));
        results[run * 6 + transport.rank()] = data;
      });
    for (const std::vector<float>& result : results)
      EXPECT_EQ(std::memcmp(result.data(), results[0].data(), 1009 * sizeof(float)), 0) << name(algorithm);
  }
}

TEST(AllReduce, ByRingAddsEachPieceInTheOrderOfTheRing) {
  run_ranks(3, [](Transport& transport) {
    std::vector<float> data = uneven(transport.rank(), 300);
    complete(transport, *make_operation(all_reduce(transport, Algorithm::Ring, data), transport));
    for (std::uint32_t piece = 0; piece < 3; ++piece) {
      const std::size_t i = piece_range(300, 3, piece).begin;
      // Piece p starts at rank p + 1 and is complete at rank p.
      float sum = uneven((piece + 1) % 3, 300)[i];
      sum = uneven((piece + 2) % 3, 300)[i] + sum;
      sum = uneven(piece, 300)[i] + sum;
      EXPECT_EQ(data[i], sum);
    }
  });
}

TEST(AllReduce, ScalesTheSumIntoAMean) {
  run_ranks(4, [](Transport& transport) {
    std::vector<float> data(9, static_cast<float>(transport.rank()));
    CollectiveCall call = all_reduce(transport, Algorithm::Auto, data);
    call.scale = 0.25;
    complete(transport, *make_operation(call, transport));
    EXPECT_EQ(data, std::vector<float>(9, 1.5f));
  });
}

TEST(AllReduce, TakesTheLargestWhenAskedTo) {
  run_ranks(3, [](Transport& transport) {
    std::vector<double> data(5, transport.rank() == 1 ? 3.5 : -1.0);
    CollectiveCall call{
        .members = everyone(transport), .type = ElementType::Double, .reduction = Reduction::Max};
    call.data = bytes_of(data).data();
    call.elements = data.size();
    complete(transport, *make_operation(call, transport));
    EXPECT_EQ(data, std::vector<double>(5, 3.5));
  });
}

TEST(AllReduce, CanBeStartedAgain) {
  run_ranks(2, [](Transport& transport) {
    std::vector<float> data(7, 1);
    const auto operation = make_operation(all_reduce(transport, Algorithm::Auto, data), transport);
    for (int i = 0; i < 3; ++i) complete(transport, *operation);
    EXPECT_EQ(data, std::vector<float>(7, 8));
  });
}

TEST(AllReduce, OfAGroupLeavesOtherRanksAlone) {
  run_ranks(5, [](Transport& transport) {
    if (transport.rank() % 2 == 1) return;
    std::vector<float> data(3, 1);
    CollectiveCall call{.members = {.ranks = {4, 0, 2}, .place = (transport.rank() / 2 + 1) % 3, .tag = 9}};
    call.data = bytes_of(data).data();
    call.elements = data.size();
    complete(transport, *make_operation(call, transport));
    EXPECT_EQ(data, std::vector<float>(3, 3));
  });
}

TEST(ReduceScatter, PutsItsPieceIntoAResultOfItsOwn) {
  run_ranks(3, [](Transport& transport) {
    std::vector<float> data(10, 1), piece(4, -1);
    CollectiveCall call{.kind = CollectiveKind::ReduceScatter, .members = everyone(transport), .scale = 2};
    call.data = bytes_of(data).data();
    call.result = bytes_of(piece).data();
    call.elements = data.size();
    complete(transport, *make_operation(call, transport));
    const PieceRange own = piece_range(10, 3, transport.rank());
    for (std::size_t i = 0; i < own.end - own.begin; ++i) EXPECT_EQ(piece[i], 6);
  });
}

// Rank i sends i + j + 1 bytes to rank j, none to the rank after it.
std::size_t count(std::size_t from, std::size_t to, std::size_t ranks) {
  return to == (from + 1) % ranks && ranks > 1 ? 0 : from + to + 1;
}

TEST(AllToAllV, PacksWhatEachPeerSentInTheOrderOfPlaces) {
  for (std::uint32_t ranks = 1; ranks <= 5; ++ranks)
    run_ranks(ranks, [&](Transport& transport) {
      std::vector<std::size_t> send(ranks), receive(ranks);
      const std::byte* from = nullptr;
      std::byte* to = nullptr;
      const auto operation =
          make_operation(AllToAllVCall{everyone(transport), &from, &to, send, receive}, transport);
      // Counts and buffers are known only now.
      std::vector<std::byte> data, want;
      for (std::uint32_t peer = 0; peer < ranks; ++peer) {
        const std::uint32_t own = transport.rank();
        send[peer] = count(own, peer, ranks);
        receive[peer] = count(peer, own, ranks);
        data.insert(data.end(), send[peer], std::byte(own * 16 + peer));
        want.insert(want.end(), receive[peer], std::byte(peer * 16 + own));
      }
      std::vector<std::byte> result(want.size());
      from = data.data();
      to = result.data();
      complete(transport, *operation);
      EXPECT_EQ(result, want);
    });
}

}  // namespace
}  // namespace tandem
