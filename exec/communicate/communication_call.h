// What can be asked of a communicator: one rank's part of a collective, or a message.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <variant>
#include <vector>

#include "core/collective/collective.h"
#include "exec/communicate/element_type.h"

namespace tandem {

// Piece i of `total` elements cut in `pieces`: sizes differ by one element at most. Where the rank at place i
// finds its part of an all-gather's or reduce-scatter's buffer.
struct PieceRange {
  std::size_t begin = 0, end = 0;
};
PieceRange piece_range(std::size_t total, std::size_t pieces, std::size_t i);

// The ranks that meet, by place, and this rank's place among them. Ranks that share two groups need a tag for
// each; all members use the same one.
struct Members {
  std::vector<std::uint32_t> ranks = {};
  std::uint32_t place = 0;
  std::size_t ranks_per_node = 1;  // Algorithm::Hierarchical
  std::uint32_t tag = 0;
};

// `elements` follows core/collective: all_reduce, broadcast, reduce, shift the buffer; all_gather the whole
// output; reduce_scatter the whole input; all_to_all what one rank sends in total (divisible by the members).
//   all_reduce, broadcast, reduce   in place in `data`; the root is place 0, other reducers' data is scratch
//   all_gather                      in place: the own piece already lies in `data`
//   reduce_scatter                  `data` is scratch afterwards, its own piece the result, or `result` if
//   given all_to_all, shift               from `data` to `result`, which do not overlap
struct CollectiveCall {
  CollectiveKind kind = CollectiveKind::AllReduce;
  Algorithm algorithm = Algorithm::Auto;
  Members members = {};
  ElementType type = ElementType::Float;
  Reduction reduction = Reduction::Sum;
  double scale = 1;  // the result of a reduction is multiplied by it: 1 / members gives the mean
  std::byte* data = nullptr;
  std::byte* result = nullptr;
  std::size_t elements = 0;
};

// All-to-all with its own number of bytes for each peer, by place, packed in this order in `data` and `result`.
// The counts are read when the call starts, and so are the places of the buffers: how much comes is known late.
// Counts of sender and receiver must agree.
struct AllToAllVCall {
  Members members = {};
  const std::byte* const* data = nullptr;
  std::byte* const* result = nullptr;
  std::span<const std::size_t> send_bytes = {}, receive_bytes = {};
};

struct SendCall {
  std::uint32_t to = 0, tag = 0;
  std::span<const std::byte> data = {};
};
struct ReceiveCall {
  std::uint32_t from = 0, tag = 0;
  std::span<std::byte> data = {};
};

using CommunicationCall = std::variant<CollectiveCall, AllToAllVCall, SendCall, ReceiveCall>;

}  // namespace tandem
