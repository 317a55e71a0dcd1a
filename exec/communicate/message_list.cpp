// From rounds of transfers of pieces to one rank's messages on its own buffers.
#include "exec/communicate/message_list.h"

#include "core/problem/problem.h"

namespace tandem {
namespace {

bool reduces(CollectiveKind kind) {
  return kind == CollectiveKind::AllReduce || kind == CollectiveKind::ReduceScatter ||
         kind == CollectiveKind::Reduce;
}
// Data and result lie apart.
bool copies(CollectiveKind kind) { return kind == CollectiveKind::AllToAll || kind == CollectiveKind::Shift; }

// Bytes of a collective's buffers by piece.
class Pieces {
 public:
  explicit Pieces(const CollectiveCall& call)
      : call_(call), count_(pieces(call.kind, call.algorithm, call.members.ranks.size())) {}

  std::size_t begin(std::size_t piece) const {
    return piece_range(call_.elements, count_, piece).begin * size_of(call_.type);
  }
  std::size_t end(std::size_t piece) const {
    return piece_range(call_.elements, count_, piece).end * size_of(call_.type);
  }
  Message message(const Transfer& t, bool sends) const {
    Message m;
    m.kind = sends ? Message::Kind::Send : t.reduce ? Message::Kind::Combine : Message::Kind::Receive;
    m.peer = call_.members.ranks[sends ? t.to : t.from];
    m.bytes = end(t.first_piece + t.pieces - 1) - begin(t.first_piece);
    if (sends || !copies(call_.kind))
      m.data = call_.data + begin(t.first_piece);
    else  // what comes from place i lies at place i of the result; a shift has one piece
      m.data = call_.result + (call_.kind == CollectiveKind::AllToAll ? begin(t.from) : 0);
    return m;
  }

 private:
  const CollectiveCall& call_;
  std::size_t count_;
};

void check_call(const CollectiveCall& call) {
  const std::size_t n = call.members.ranks.size();
  check(n > 0 && call.members.place < n, "a collective needs this rank among its members");
  check(call.data || call.elements == 0, "a collective needs a buffer");
  check(call.scale == 1 || reduces(call.kind), "only reductions are scaled");
  if (!copies(call.kind)) return;
  check(call.result || call.elements == 0, "all-to-all and shift need a result buffer");
  check(call.kind == CollectiveKind::Shift || call.elements % n == 0, "an all-to-all needs equal pieces");
}

// What is left to do without messages: the own piece into the result, and the scaling.
void add_ending(const CollectiveCall& call, MessageList& list) {
  const std::size_t n = call.members.ranks.size(), place = call.members.place, element = size_of(call.type);
  const PieceRange own = piece_range(call.elements, n, place);
  const std::size_t begin = own.begin * element, bytes = (own.end - own.begin) * element;
  const std::size_t all = call.elements * element;
  const bool scatters = call.kind == CollectiveKind::ReduceScatter;
  if (call.kind == CollectiveKind::AllToAll) list.copy = {call.data + begin, call.result + begin, bytes};
  if (call.kind == CollectiveKind::Shift && n == 1) list.copy = {call.data, call.result, all};
  if (scatters && call.result) list.copy = {call.data + begin, call.result, bytes};
  if (call.scale == 1 || (call.kind == CollectiveKind::Reduce && place > 0)) return;
  if (scatters)
    list.scaled = {call.result ? call.result : call.data + begin, bytes, call.scale};
  else
    list.scaled = {call.data, all, call.scale};
}

}  // namespace

PieceRange piece_range(std::size_t total, std::size_t pieces, std::size_t i) {
  return {total * i / pieces, total * (i + 1) / pieces};
}

MessageList messages_of(const CollectiveCall& call) {
  check_call(call);
  MessageList list;
  const Members& members = call.members;
  const Pieces pieces(call);
  for (const Round& round : rounds(call.kind, call.algorithm, members.ranks.size(), members.ranks_per_node))
    for (const Transfer& transfer : round) {
      if (transfer.from != members.place && transfer.to != members.place) continue;
      const Message message = pieces.message(transfer, transfer.from == members.place);
      if (message.bytes > 0) list.messages.push_back(message);
    }
  add_ending(call, list);
  return list;
}

MessageList messages_of(const AllToAllVCall& call) {
  const std::vector<std::uint32_t>& ranks = call.members.ranks;
  const std::size_t n = ranks.size(), place = call.members.place;
  check(call.send_bytes.size() == n && call.receive_bytes.size() == n, "one count for each member");
  check(place < n && call.send_bytes[place] == call.receive_bytes[place], "own counts agree");
  std::vector<std::size_t> send_at(n + 1, 0), receive_at(n + 1, 0);
  for (std::size_t i = 0; i < n; ++i) {
    send_at[i + 1] = send_at[i] + call.send_bytes[i];
    receive_at[i + 1] = receive_at[i] + call.receive_bytes[i];
  }
  std::byte* data = const_cast<std::byte*>(*call.data);  // sends do not write
  std::byte* result = *call.result;
  MessageList list;
  for (std::size_t r = 1; r < n; ++r) {  // pairwise, in the order of an all-to-all's rounds
    const std::size_t to = (place + r) % n, from = (place + n - r) % n;
    if (call.send_bytes[to] > 0)
      list.messages.push_back({Message::Kind::Send, ranks[to], data + send_at[to], call.send_bytes[to]});
    if (call.receive_bytes[from] > 0)
      list.messages.push_back(
          {Message::Kind::Receive, ranks[from], result + receive_at[from], call.receive_bytes[from]});
  }
  list.copy = {data + send_at[place], result + receive_at[place], call.send_bytes[place]};
  return list;
}

}  // namespace tandem
