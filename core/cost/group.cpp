// A communication group as collectives see it: members node by node, the wires inside and between nodes.
#include "core/cost/group.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>
#include <unordered_map>

#include "core/cluster/group_shape.h"

namespace tandem {
namespace {

// Shares of a link without a row: the catalog's efficiency for all, direct wires by how many of them a group
// uses.
LinkRow fallback_link(const LinkTechnology& technology, const NodeType& type) {
  LinkRow row;
  row.link = technology.id;
  const double all = type.devices;
  const bool mesh =
      type.wiring == NodeType::Wiring::Mesh && technology.scope != LinkTechnology::Scope::HostDevice;
  row.ring = mesh && type.devices > 2
                 ? SizeTable{{2, technology.efficiency / (all - 1)}, {all, technology.efficiency}}
                 : SizeTable{{2, technology.efficiency}};
  row.all_to_all = row.ring;
  row.tree = technology.efficiency / 2;  // up and down the same wires
  row.ll = 0.5;                          // half of each LL word is a flag (NCCL)
  row.ll128 = 0.9375;                    // 120 of 128 bytes are data (NCCL)
  row.all_to_all_step = microseconds(9.5);
  row.pci = technology.scope == LinkTechnology::Scope::HostDevice;
  row.from.source = "no measurement: efficiency of the catalog (" + technology.source + ")";
  return row;
}

NetworkRow fallback_network(const LinkTechnology& technology) {
  NetworkRow row;
  row.network = technology.id;
  row.efficiency = technology.efficiency;
  row.ll_step = technology.latency;  // beside NCCL's hop, whose 2.7 us hold an InfiniBand adapter
  row.simple_step = technology.latency;
  row.ll_cap = gigabytes_per_second(18);
  row.from.source = "no measurement: efficiency and latency of the catalog (" + technology.source + ")";
  return row;
}

void describe_link(const Cluster& cluster, const Calibration& calibration, NodeId node, Group& group) {
  const LinkTechnology* technology = cluster.intra_link(node);
  if (technology == nullptr) technology = cluster.host_link(node);
  if (technology == nullptr) return;
  const LinkRow* row = calibration.find_link(technology->id, cluster.type(node).devices);
  LinkRow made = row != nullptr ? *row : fallback_link(*technology, cluster.type(node));
  const double rate = technology->bandwidth.value;
  const double mine = rate * interpolate(made.ring, static_cast<double>(group.per_node_min));
  if (group.link_rate > 0 && group.ring_rate() <= mine) return;
  group.link = std::move(made);
  group.link_rate = rate;
  group.link_origin = (row != nullptr ? "" : "fallback: ") + technology->id + ": " + group.link.from.source;
}

void describe_network(const Cluster& cluster, const Calibration& calibration, Group& group) {
  const LinkTechnology& technology = cluster.network();
  const NetworkRow* row = calibration.find_network(technology.id);
  group.network = row != nullptr ? *row : fallback_network(technology);
  group.network_origin =
      (row != nullptr ? "" : "fallback: ") + technology.id + ": " + group.network.from.source;
}

void describe_torus(const Cluster& cluster, std::span<const DeviceId> members, Group& group) {
  const TorusView view = torus_view(cluster, members[0]);
  std::vector<std::set<int>> places(view.sizes.size());
  for (DeviceId member : members) {
    const std::vector<int> at = view.place(cluster, member);
    for (std::size_t d = 0; d < at.size(); ++d) places[d].insert(at[d]);
  }
  for (const auto& taken : places) group.torus_extent.push_back(static_cast<int>(taken.size()));
  const LinkTechnology* technology = cluster.intra_link(cluster[members[0]].node);
  if (technology == nullptr) technology = &cluster.network();
  group.wire_latency = technology->latency;
  group.link_origin = technology->id + ": the loads on the torus's wires";
}

}  // namespace

std::vector<std::vector<DeviceId>> by_node(const Cluster& cluster, std::span<const DeviceId> members) {
  std::vector<std::vector<DeviceId>> nodes;
  std::unordered_map<std::uint32_t, std::size_t> index;
  for (DeviceId member : members) {
    const auto [at, is_new] = index.try_emplace(cluster[member].node.value, nodes.size());
    if (is_new) nodes.emplace_back();
    nodes[at->second].push_back(member);
  }
  return nodes;
}

Inside inside(const Cluster& cluster, NodeId node) {
  if (cluster.intra_link(node) == nullptr) return Inside::Switch;
  switch (cluster.type(node).wiring) {
    case NodeType::Wiring::Mesh:
      return Inside::Mesh;
    case NodeType::Wiring::Torus:
      return Inside::Torus;
    case NodeType::Wiring::Switched:
      break;
  }
  return Inside::Switch;
}

TorusView torus_view(const Cluster& cluster, DeviceId any) {
  const NodeId node = cluster[any].node;
  TorusView view;
  if (cluster.spec().fabric.kind == FabricKind::Torus) {
    view.sizes = cluster.spec().fabric.torus;
    view.over_fabric = true;
  } else if (inside(cluster, node) == Inside::Torus) {
    view.sizes = cluster.type(node).torus;
  }
  return view;
}

std::vector<int> TorusView::place(const Cluster& cluster, DeviceId device) const {
  int rest = over_fabric ? static_cast<int>(device.value) : cluster[device].local;
  std::vector<int> at;
  for (int size : sizes) {
    at.push_back(rest % size);
    rest /= size;
  }
  return at;
}

Group group_of(const Cluster& cluster, const Calibration& calibration, std::span<const DeviceId> members) {
  Group group;
  group.members = members.size();
  if (members.size() < 2) return group;
  const GroupShape shape = shape_of(cluster, members);
  const bool torus_fabric = cluster.spec().fabric.kind == FabricKind::Torus;
  group.nodes = shape.one_domain ? 1 : static_cast<std::size_t>(shape.nodes);
  group.per_node_min = shape.one_domain ? members.size() : static_cast<std::size_t>(shape.per_node_min);
  group.per_node_max = shape.one_domain ? members.size() : static_cast<std::size_t>(shape.per_node_max);
  group.torus =
      torus_fabric || (shape.nodes == 1 && inside(cluster, cluster[members[0]].node) == Inside::Torus);
  if (group.torus) {
    describe_torus(cluster, members, group);
    return group;
  }
  group.node_rate = group.device_rate = std::numeric_limits<double>::infinity();
  std::set<NodeTypeId> seen;
  for (DeviceId member : members) {
    const NodeId node = cluster[member].node;
    if (!seen.insert(cluster[node].type).second) continue;
    if (shape.per_node_max > 1) describe_link(cluster, calibration, node, group);
    const double port = cluster.port_bandwidth_per_device(member).value;
    if (port > 0) group.device_rate = std::min(group.device_rate, port);
  }
  group.node_rate = group.device_rate * static_cast<double>(group.per_node_min);
  if (group.nodes > 1) describe_network(cluster, calibration, group);
  if (group.link_rate <= 0 && shape.per_node_max > 1) {
    // Devices of a node without wires of their own meet through its ports, as if each were a node.
    group.nodes = members.size();
    group.per_node_min = group.per_node_max = 1;
    group.node_rate = group.device_rate;
    describe_network(cluster, calibration, group);
  }
  return group;
}

}  // namespace tandem
