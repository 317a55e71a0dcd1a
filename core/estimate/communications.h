// With whom the ranks of one program communicate: axes of its collectives, peers of its messages.
#pragma once
#include <cstdint>
#include <vector>

#include "core/task/task_graph.h"

namespace tandem {

struct AxisUse {
  Axis axis = Axis::Tensor;
  std::vector<WorkId> works;          // distinct, ascending: equal for all members of a group
  std::vector<std::uint32_t> counts;  // tasks of each work in the program
};

struct PeerUse {
  Axis axis = Axis::Pipeline;
  std::uint32_t peer = 0;    // place in the group
  std::vector<Bytes> sizes;  // distinct, ascending
  std::vector<std::uint32_t> counts;
  std::uint32_t lanes = 0;  // bit set of Lane
};

struct Communications {
  std::vector<AxisUse> axes;             // ascending by axis
  std::vector<PeerUse> sends, receives;  // ascending by axis and peer
};

Communications communications_of(const TaskGraph&, const Program&);

// Index of an axis, a peer, a work or a size in those lists; all exist.
std::uint32_t index_of(const Communications&, Axis);
std::uint32_t index_of(const std::vector<PeerUse>&, Axis, std::uint32_t peer);
std::uint32_t index_of(const AxisUse&, WorkId);
std::uint32_t index_of(const PeerUse&, Bytes);

}  // namespace tandem
