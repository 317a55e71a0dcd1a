// What a collective is turned into: no message may disturb another one of its round.
#include "exec/communicate/message_list.h"

#include "tests/exec/communicate/collective_case.h"

namespace tandem {
namespace {

bool overlap(const Transfer& a, const Transfer& b) {
  return a.first_piece < b.first_piece + b.pieces && b.first_piece < a.first_piece + a.pieces;
}

// In place, a rank must not receive into pieces that it sends, or receives from another rank, in the same
// round.
TEST(Rounds, NeverTouchReceivedPiecesTwiceInOneRound) {
  for (const CollectiveKind kind : all_kinds) {
    if (kind == CollectiveKind::AllToAll || kind == CollectiveKind::Shift) continue;
    for (const Algorithm algorithm : all_algorithms)
      for (std::size_t ranks = 2; ranks <= 17; ++ranks)
        for (const Round& round : rounds(kind, algorithm, ranks, node_size(ranks)))
          for (const Transfer& in : round)
            for (const Transfer& other : round) {
              if (&in == &other || (other.from != in.to && other.to != in.to)) continue;
              ASSERT_FALSE(overlap(in, other)) << name(kind) << " by " << name(algorithm) << ", " << ranks;
            }
  }
}

TEST(MessageList, SendsTheBytesThatTheAlgorithmSays) {
  std::byte buffer[80];
  for (std::uint32_t place = 0; place < 4; ++place) {
    const MessageList list = messages_of(
        CollectiveCall{.members = {.ranks = {0, 1, 2, 3}, .place = place}, .data = buffer, .elements = 20});
    std::size_t sent = 0;
    for (const Message& m : list.messages) sent += m.kind == Message::Kind::Send ? m.bytes : 0;
    EXPECT_EQ(sent, 2 * 3 * 20u);  // 2 (n - 1) / n of 80 bytes
  }
}

TEST(MessageList, LeavesOutPiecesWithoutElements) {
  std::byte buffer[4];
  const MessageList list = messages_of(
      CollectiveCall{.members = {.ranks = {0, 1, 2, 3}, .place = 0}, .data = buffer, .elements = 1});
  for (const Message& m : list.messages) EXPECT_EQ(m.bytes, 4u);
}

TEST(PieceRange, CoversTheBufferWithPiecesOfNearlyEqualSize) {
  std::size_t end = 0;
  for (std::size_t i = 0; i < 7; ++i) {
    const PieceRange range = piece_range(24, 7, i);
    EXPECT_EQ(range.begin, end);
    EXPECT_TRUE(range.end - range.begin == 3 || range.end - range.begin == 4);
    end = range.end;
  }
  EXPECT_EQ(end, 24u);
}

}  // namespace
}  // namespace tandem
