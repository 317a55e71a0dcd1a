// Counts a group's members node by node.
#include "core/cluster/group_shape.h"

#include <algorithm>

namespace tandem {

GroupShape shape_of(const Cluster& cluster, std::span<const DeviceId> members) {
  GroupShape shape;
  if (members.empty()) return shape;
  std::vector<NodeId> nodes;
  nodes.reserve(members.size());
  for (DeviceId member : members) nodes.push_back(cluster[member].node);
  if (!std::is_sorted(nodes.begin(), nodes.end())) std::sort(nodes.begin(), nodes.end());
  bool wired = cluster.spec().fabric.kind == FabricKind::Torus;
  for (auto begin = nodes.begin(); begin != nodes.end();) {
    const auto end = std::find_if(begin, nodes.end(), [&](NodeId node) { return node != *begin; });
    const int here = static_cast<int>(end - begin);
    shape.per_node_min = shape.nodes == 0 ? here : std::min(shape.per_node_min, here);
    shape.per_node_max = std::max(shape.per_node_max, here);
    wired = wired && cluster.type(*begin).ports == 0;
    ++shape.nodes;
    begin = end;
  }
  shape.one_domain = shape.nodes == 1 || wired;
  return shape;
}

}  // namespace tandem
