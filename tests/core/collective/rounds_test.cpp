// Plays the rounds of every algorithm on data: sums, gathered pieces and exchanged pieces must arrive
// everywhere.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "core/collective/collective.h"

namespace tandem {
namespace {

using Buffers = std::vector<std::vector<double>>;  // [rank][piece]

constexpr Algorithm algorithms[] = {Algorithm::Ring, Algorithm::Tree, Algorithm::HalvingDoubling,
                                    Algorithm::Hierarchical, Algorithm::Pairwise};
constexpr std::size_t sizes[] = {2, 3, 4, 5, 6, 7, 8, 9, 12, 13, 16, 17, 24, 31, 32};

std::size_t node_size(std::size_t ranks) {
  for (std::size_t g : {8u, 4u, 3u, 2u})
    if (ranks % g == 0) return g;
  return 1;
}

// All messages of a round read what stood before the round.
void play(const std::vector<Round>& list, Buffers& data) {
  for (const Round& round : list) {
    const Buffers before = data;
    for (const Transfer& t : round)
      for (std::uint32_t p = t.first_piece; p < t.first_piece + t.pieces; ++p) {
        if (t.reduce)
          data[t.to][p] += before[t.from][p];
        else
          data[t.to][p] = before[t.from][p];
      }
  }
}

double initial(std::size_t rank, std::size_t piece) { return static_cast<double>((rank + 1) * 1000 + piece); }
double sum(std::size_t ranks, std::size_t piece) {
  double total = 0;
  for (std::size_t r = 0; r < ranks; ++r) total += initial(r, piece);
  return total;
}
Buffers filled(std::size_t ranks, std::size_t pieces) {
  Buffers data(ranks, std::vector<double>(pieces));
  for (std::size_t r = 0; r < ranks; ++r)
    for (std::size_t p = 0; p < pieces; ++p) data[r][p] = initial(r, p);
  return data;
}

class Rounds : public testing::TestWithParam<Algorithm> {};

TEST_P(Rounds, AllReduceLeavesTheSumOnEveryRank) {
  for (std::size_t n : sizes) {
    const std::size_t parts = pieces(CollectiveKind::AllReduce, GetParam(), n);
    Buffers data = filled(n, parts);
    play(rounds(CollectiveKind::AllReduce, GetParam(), n, node_size(n)), data);
    for (std::size_t r = 0; r < n; ++r)
      for (std::size_t p = 0; p < parts; ++p) ASSERT_EQ(data[r][p], sum(n, p)) << n << " ranks, rank " << r;
  }
}

TEST_P(Rounds, AllGatherLeavesEveryPieceOnEveryRank) {
  for (std::size_t n : sizes) {
    Buffers data(n, std::vector<double>(n, -1));
    for (std::size_t r = 0; r < n; ++r) data[r][r] = initial(r, r);
    play(rounds(CollectiveKind::AllGather, GetParam(), n, node_size(n)), data);
    for (std::size_t r = 0; r < n; ++r)
      for (std::size_t p = 0; p < n; ++p) ASSERT_EQ(data[r][p], initial(p, p)) << n << " ranks, rank " << r;
  }
}

TEST_P(Rounds, ReduceScatterLeavesEachRankItsOwnSum) {
  for (std::size_t n : sizes) {
    Buffers data = filled(n, n);
    play(rounds(CollectiveKind::ReduceScatter, GetParam(), n, node_size(n)), data);
    for (std::size_t r = 0; r < n; ++r) ASSERT_EQ(data[r][r], sum(n, r)) << n << " ranks, rank " << r;
  }
}

TEST_P(Rounds, BroadcastCopiesTheRootAndReduceSumsAtTheRoot) {
  for (std::size_t n : sizes) {
    const std::size_t parts = pieces(CollectiveKind::Broadcast, GetParam(), n);
    Buffers data = filled(n, parts);
    play(rounds(CollectiveKind::Broadcast, GetParam(), n, node_size(n)), data);
    for (std::size_t r = 0; r < n; ++r)
      for (std::size_t p = 0; p < parts; ++p) ASSERT_EQ(data[r][p], initial(0, p));
    data = filled(n, parts);
    play(rounds(CollectiveKind::Reduce, GetParam(), n, node_size(n)), data);
    for (std::size_t p = 0; p < parts; ++p) ASSERT_EQ(data[0][p], sum(n, p));
  }
}

// Piece j of rank i goes to rank j, and no other piece travels.
TEST_P(Rounds, AllToAllSendsEveryPieceOnceToItsRank) {
  for (std::size_t n : sizes) {
    std::map<std::pair<std::uint32_t, std::uint32_t>, int> sent;
    for (const Round& round : rounds(CollectiveKind::AllToAll, GetParam(), n, node_size(n)))
      for (const Transfer& t : round) {
        ASSERT_EQ(t.first_piece, t.to);
        ASSERT_EQ(t.pieces, 1u);
        ASSERT_FALSE(t.reduce);
        ++sent[{t.from, t.to}];
      }
    ASSERT_EQ(sent.size(), n * (n - 1));
    for (const auto& [pair, times] : sent) ASSERT_EQ(times, 1);
  }
}

double most_sent(const Round& round) {
  std::map<std::uint32_t, double> by_rank;
  for (const Transfer& t : round) by_rank[t.from] += t.share;
  double most = 0;
  for (const auto& [rank, share] : by_rank) most = std::max(most, share);
  return most;
}

TEST_P(Rounds, TakeTheClosedFormsTime) {
  const Seconds latency = microseconds(5);
  const Bandwidth bandwidth = gigabytes_per_second(50);
  const Bytes size(1e9);
  for (CollectiveKind kind :
       {CollectiveKind::AllReduce, CollectiveKind::AllGather, CollectiveKind::ReduceScatter,
        CollectiveKind::AllToAll, CollectiveKind::Broadcast, CollectiveKind::Reduce, CollectiveKind::Shift})
    for (std::size_t n : sizes) {
      Seconds played;
      for (const Round& round : rounds(kind, GetParam(), n, node_size(n)))
        played += latency + most_sent(round) * size / bandwidth;
      const Seconds formula = closed_form(kind, GetParam(), n, size, latency, bandwidth, node_size(n));
      ASSERT_NEAR(formula.value, played.value, 1e-12 * played.value) << name(kind) << " of " << n;
    }
}

TEST(RingRounds, SendToTheNextRankOnly) {
  for (const Round& round : rounds(CollectiveKind::AllReduce, Algorithm::Ring, 9, 1)) {
    ASSERT_EQ(round.size(), 9u);
    for (const Transfer& t : round) ASSERT_EQ(t.to, (t.from + 1) % 9);
  }
}

TEST(ShiftRounds, HandEveryBufferToTheNextRank) {
  Buffers data = filled(5, 1);
  play(rounds(CollectiveKind::Shift, Algorithm::Auto, 5, 1), data);
  for (std::size_t r = 0; r < 5; ++r) EXPECT_EQ(data[(r + 1) % 5][0], initial(r, 0));
}

INSTANTIATE_TEST_SUITE_P(All, Rounds, testing::ValuesIn(algorithms),
                         [](const testing::TestParamInfo<Algorithm>& info) {
                           return std::string(name(info.param));
                         });

TEST(ClosedForm, OfARingAllReduceIsTheTextbookOne) {
  // 2 (n - 1) (alpha + S / (n beta))
  const Seconds t = closed_form(CollectiveKind::AllReduce, Algorithm::Ring, 8, Bytes(1e9), microseconds(5),
                                gigabytes_per_second(50));
  EXPECT_NEAR(t.value, 14 * (5e-6 + 1e9 / 8 / 50e9), 1e-15);
}

TEST(ClosedForm, OfRecursiveHalvingAndDoublingMovesAsMuchAsARingInLogarithmicRounds) {
  // 2 log2(n) alpha + 2 (n - 1) / n S / beta
  const Seconds t = closed_form(CollectiveKind::AllReduce, Algorithm::HalvingDoubling, 1024, Bytes(1e9),
                                microseconds(5), gigabytes_per_second(50));
  EXPECT_NEAR(t.value, 20 * 5e-6 + 2 * 1023.0 / 1024 * 1e9 / 50e9, 1e-12);
}

TEST(ClosedForm, OfATreeAllReduceClimbsAndDescends) {
  const Seconds t = closed_form(CollectiveKind::AllReduce, Algorithm::Tree, 9, Bytes(1e9), microseconds(5),
                                gigabytes_per_second(50));
  EXPECT_NEAR(t.value, 8 * (5e-6 + 1e9 / 50e9), 1e-12);
}

TEST(ClosedForm, OfOneRankIsZero) {
  for (Algorithm algorithm : algorithms)
    EXPECT_EQ(closed_form(CollectiveKind::AllReduce, algorithm, 1, Bytes(1e9), microseconds(5),
                          gigabytes_per_second(50))
                  .value,
              0);
}

}  // namespace
}  // namespace tandem
