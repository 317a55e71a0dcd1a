// From a spec to nodes, devices and links; the fabric's own links and routes are added by its file in fabrics/.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "core/cluster/cluster_state.h"

namespace tandem {
namespace {

// Links of a cluster, at most: 128 MiB of them.
constexpr std::int64_t most_links = 1 << 23;

const LinkTechnology* find(const std::vector<LinkTechnology>& technologies, const std::string& id) {
  for (const LinkTechnology& technology : technologies) {
    if (technology.id == id) return &technology;
  }
  return nullptr;
}

Meeting meeting_of(const NodeType& type, const NodeLayout& node, FabricKind fabric) {
  if (fabric == FabricKind::Torus && (type.wiring == NodeType::Wiring::Torus || node.intra == nullptr)) {
    return Meeting::Fabric;
  }
  if (type.devices == 1) return Meeting::Alone;
  if (node.intra != nullptr) {
    switch (type.wiring) {
      case NodeType::Wiring::Switched:
        return Meeting::Switched;
      case NodeType::Wiring::Mesh:
        return Meeting::Mesh;
      case NodeType::Wiring::Torus:
        return Meeting::Torus;
    }
  }
  if (node.host != nullptr) return Meeting::HostBus;
  return node.ports > 0 ? Meeting::Ports : Meeting::Alone;
}

NodeLayout lay_out(const NodeType& type, const ClusterSpec& spec) {
  NodeLayout node;
  node.devices = type.devices;
  node.intra = find(spec.technologies, type.intra_link);
  node.network = find(spec.technologies, type.network);
  node.host = find(spec.technologies, type.host_link);
  // A torus fabric is wired device to device: the bandwidth of the ports goes into its wires.
  if (spec.fabric.kind != FabricKind::Torus && type.ports > 0) {
    node.ports = std::min(type.ports, type.devices);
    node.port_capacity =
        node.network->bandwidth * (static_cast<double>(type.ports) / node.ports) * node.network->efficiency;
  }
  node.meeting = meeting_of(type, node, spec.fabric.kind);
  switch (node.meeting) {
    case Meeting::Switched:
      node.meet = node.intra;
      break;
    case Meeting::HostBus:
      node.meet = node.host;
      break;
    case Meeting::Mesh:
      node.meet = node.intra;
      break;
    case Meeting::Torus:
      node.meet = node.intra;
      std::copy_if(type.torus.begin(), type.torus.end(), std::back_inserter(node.torus),
                   [](int n) { return n > 1; });
      break;
    default:
      break;
  }
  return node;
}

// Intra-node links of a node, before they are made: a mesh grows with the square of its devices.
std::int64_t intra_links(const NodeLayout& node) {
  const std::int64_t n = node.devices;
  switch (node.meeting) {
    case Meeting::Switched:
    case Meeting::HostBus:
      return 2 * n;
    case Meeting::Mesh:
      return n * (n - 1);
    case Meeting::Torus:
      return 2 * n * static_cast<std::int64_t>(node.torus.size());
    default:
      return 0;
  }
}

template <class T>
std::size_t index_of(std::vector<T>& known, const T& value) {
  const auto found = std::find(known.begin(), known.end(), value);
  if (found != known.end()) return static_cast<std::size_t>(found - known.begin());
  known.push_back(value);
  return known.size() - 1;
}

void append_nodes(Layout& layout, DeviceKindId kind, NodeTypeId type, int count) {
  const NodeLayout& node = layout.node_layouts[type.value];
  for (int n = 0; n < count; ++n) {
    const NodeId id = layout.nodes.push_back(
        {.type = type, .first = DeviceId(layout.devices.size()), .devices = node.devices});
    layout.first_link.push_back(LinkId(layout.links.size()));
    append_node_links(node, layout.links);
    for (int local = 0; local < node.devices; ++local) {
      layout.devices.push_back({.kind = kind, .node = id, .local = local, .slowdown = 1});
    }
  }
}

// The slowest of the groups' networks; without any, the first group's intra-node link.
const LinkTechnology* network_of(const Layout& layout) {
  static const LinkTechnology none = [] {
    LinkTechnology technology;
    technology.id = "none";
    technology.name = "no network";
    return technology;
  }();
  const LinkTechnology* slowest = nullptr;
  for (const NodeLayout& node : layout.node_layouts) {
    if (node.network != nullptr && (slowest == nullptr || node.network->bandwidth < slowest->bandwidth)) {
      slowest = node.network;
    }
  }
  if (slowest == nullptr) slowest = layout.node_layouts.front().intra;
  return slowest == nullptr ? &none : slowest;
}

std::unique_ptr<Fabric> make_fabric(Layout& layout, Problems& problems) {
  switch (layout.spec.fabric.kind) {
    case FabricKind::SingleSwitch:
      return make_single_switch(layout, problems);
    case FabricKind::FatTree:
    case FabricKind::RailOptimised:
      return make_tree(layout, problems);
    case FabricKind::Dragonfly:
      return make_dragonfly(layout, problems);
    case FabricKind::Torus:
      return make_torus(layout, problems);
    case FabricKind::LinkList:
      return make_link_list(layout, problems);
  }
  return nullptr;
}

}  // namespace

Cluster build_cluster(const ClusterSpec& spec) {
  Problems problems;
  check_spec(spec, problems);
  problems.throw_if_any();

  auto state = std::make_shared<Cluster::State>();
  Layout& layout = state->layout;
  layout.spec = spec;
  std::int64_t links = 0;
  std::int64_t devices = 0;
  std::vector<std::pair<DeviceKindId, NodeTypeId>> ids;
  for (const NodeGroupSpec& group : layout.spec.groups) {
    const DeviceKindId kind(index_of(layout.kinds, group.device));
    const NodeTypeId type(index_of(layout.types, group.type));
    if (type.value == layout.node_layouts.size()) {
      layout.node_layouts.push_back(lay_out(group.type, layout.spec));
      layout.node_layouts.back().intra_links =
          static_cast<std::uint32_t>(std::min(intra_links(layout.node_layouts.back()), most_links + 1));
    }
    const NodeLayout& node = layout.node_layouts[type.value];
    if (node.meeting == Meeting::Alone && node.devices > 1) {
      problems.add(
          Where{},
          fmt::format("node type \"{}\" gives its {} devices no way to meet", group.type.id, node.devices),
          "give it an intra_link, a host_link, or ports and a network");
      problems.throw_if_any();
    }
    ids.emplace_back(kind, type);
    links += group.count * (static_cast<std::int64_t>(node.intra_links) + 2 * node.ports);
    devices += static_cast<std::int64_t>(group.count) * node.devices;
    if (links > most_links) {
      problems.add(
          Where{}, fmt::format("the cluster has more than {} links inside its nodes", most_links),
          "a mesh has one for every pair of devices; use fewer devices a node or wiring = \"switched\"");
      problems.throw_if_any();
    }
  }
  layout.network = network_of(layout);
  layout.devices.reserve(static_cast<std::size_t>(devices));
  layout.links.reserve(static_cast<std::size_t>(links + links / 8));
  for (std::size_t i = 0; i < ids.size(); ++i)
    append_nodes(layout, ids[i].first, ids[i].second, layout.spec.groups[i].count);
  for (const ClusterSpec::Slowdown& slow : layout.spec.slow_devices) {
    layout.devices[DeviceId(slow.device)].slowdown = slow.factor;
  }
  layout.first_fabric_link = LinkId(layout.links.size());
  state->fabric = make_fabric(layout, problems);
  problems.throw_if_any();

  Cluster cluster;
  cluster.state_ = std::move(state);
  return cluster;
}

std::string_view name(FabricKind kind) {
  switch (kind) {
    case FabricKind::SingleSwitch:
      return "single-switch";
    case FabricKind::FatTree:
      return "fat-tree";
    case FabricKind::RailOptimised:
      return "rail-optimised";
    case FabricKind::Dragonfly:
      return "dragonfly";
    case FabricKind::Torus:
      return "torus";
    case FabricKind::LinkList:
      return "link-list";
  }
  return "?";
}

}  // namespace tandem
