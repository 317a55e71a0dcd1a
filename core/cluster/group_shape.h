// How a communication group lies on the machine: nodes it spans and members a node.
#pragma once
#include <span>

#include "core/cluster/cluster.h"

namespace tandem {

struct GroupShape {
  int nodes = 0;
  int per_node_min = 0, per_node_max = 0;  // over the nodes that have a member
  // All members meet over scale-up wires: in one node (an NVL72 rack is one), or anywhere on a torus without
  // ports.
  bool one_domain = true;
  bool operator==(const GroupShape&) const = default;
};

// Members in any order, each once; an empty group has no nodes.
GroupShape shape_of(const Cluster&, std::span<const DeviceId> members);

}  // namespace tandem
