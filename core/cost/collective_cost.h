// Time of a collective by NCCL's choice over algorithms and protocols.
#pragma once
#include <string_view>

#include "core/collective/collective.h"
#include "core/cost/group.h"

namespace tandem {

// One candidate: fixed time, and seconds a byte of the collective's size.
struct Candidate {
  Algorithm algorithm = Algorithm::Ring;
  std::string_view protocol;  // "LL", "LL128", "Simple", ""
  Seconds latency;
  double seconds_per_byte = 0;
  Seconds time(Bytes size) const { return latency + Seconds(seconds_per_byte * size.value); }
};

// The fastest candidate for this size. A requested algorithm that cannot carry the kind runs as carried_by()
// says; NVLS where the link has none, and a tree for other kinds than all-reduce, run as a ring.
//   ring   L = base + (steps - between) h + between (hn + ext), steps = 2 (n - 1) all-reduce, n - 1 otherwise,
//          between = 2 N all-reduce, N - 1 otherwise; B = min(ring share x link, efficiency x ports), bytes =
//          factor x size
//   tree   L = base + 2 ((g - 1) h + ceil(log2 N) (hn + ext)); algorithm bandwidth min(tree share x link,
//          efficiency x ports / (1 for two nodes, 2 beyond)): a double tree carries the size twice through a
//          node
//   NVLS   L = 60 us, between nodes 170 us + 2 ceil(log2 N) (14 us + ext); algorithm bandwidth as tree, with
//   NVLS's share halving-doubling   L = base + a hop a round; bytes inside a node at the pair's rate, then
//   those between nodes hierarchical       rings inside nodes, then rings of equal places between nodes, then
//   back pairwise           L = a step a peer; the slower of the bytes inside and between nodes
// base, h, hn: NCCL's src/graph/tuning.cc. Shares, ext: scenarios/calibrations.
Candidate cheapest(CollectiveKind, Algorithm requested, Bytes size, const Group&, double bus_factor);

// One message of a pair: inside a node 6 us and the pair's rate, between nodes 15.4 us + ext and the sender's
// share of the ports.
Candidate message_candidate(const Group& pair);

}  // namespace tandem
