// Collective operations and the algorithms that carry them out, as rounds of transfers between places of a
// group.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/units/quantity.h"

namespace tandem {

// Sizes follow nccl-tests: all-reduce the buffer; all-gather the whole output; reduce-scatter the whole input;
// all-to-all what one rank sends in total; broadcast and reduce the buffer.
// shift: every member sends its whole buffer to the next one of the ring (context parallelism), the size is one
// buffer.
enum class CollectiveKind : std::uint8_t {
  AllReduce,
  AllGather,
  ReduceScatter,
  AllToAll,
  Broadcast,
  Reduce,
  Shift
};
std::string_view name(CollectiveKind);  // "all_reduce", …
std::optional<CollectiveKind> parse_collective_kind(std::string_view);

enum class Algorithm : std::uint8_t { Auto, Ring, Tree, HalvingDoubling, Hierarchical, Nvls, Pairwise };
std::string_view name(Algorithm);  // "ring", "tree", …
std::optional<Algorithm> parse_algorithm(std::string_view);

// busbw = algbw * factor: 2(n-1)/n all-reduce; (n-1)/n all-gather, reduce-scatter, all-to-all; 1 otherwise.
double bus_factor(CollectiveKind, std::size_t ranks);

// The algorithm whose rounds carry the collective out: Auto and Nvls stand for a ring (a switch's own reduction
// is no transfer between ranks), an all-to-all is always pairwise, a broadcast or reduction goes by chain
// (ring) or tree.
Algorithm carried_by(CollectiveKind, Algorithm);

// The size is cut in this many equal pieces, numbered from 0: the unit of the transfers below. All-to-all: one
// rank's sent data, piece i for rank i.
std::size_t pieces(CollectiveKind, Algorithm, std::size_t ranks);

// One message of one round: pieces first_piece … first_piece + pieces - 1 of the sender's buffer, added to the
// receiver's (reduce) or put in their place; `share` is its part of the collective's size. All-gather: rank i
// owns piece i at the start; reduce-scatter: at the end. The root of broadcast and reduce is rank 0.
struct Transfer {
  std::uint32_t from = 0, to = 0;
  double share = 0;
  std::uint32_t first_piece = 0, pieces = 0;
  bool reduce = false;
};
// All messages of a round may go at once; the next round starts after it. For executors, exact tests and small
// studies. Hierarchical needs ranks_per_node to divide ranks (std::logic_error otherwise); the others ignore
// it.
using Round = std::vector<Transfer>;
std::vector<Round> rounds(CollectiveKind, Algorithm, std::size_t ranks, std::size_t ranks_per_node);

// Time with one latency a round and one bandwidth everywhere: the textbook closed forms, equal to the sum over
// rounds of latency + the most that one rank sends * size / bandwidth. Hierarchical: ranks_per_node as above.
Seconds closed_form(CollectiveKind, Algorithm, std::size_t ranks, Bytes size, Seconds latency,
                    Bandwidth bandwidth, std::size_t ranks_per_node = 1);

}  // namespace tandem
