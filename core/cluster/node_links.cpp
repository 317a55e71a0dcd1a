// Links inside a node: through a switch, a wire for every pair, a small torus, or the host's PCIe.
#include <fmt/format.h>

#include <cstdlib>

#include "core/cluster/layout.h"

namespace tandem {
namespace {

// Links of Meeting::Torus: device, dimension, direction (+ then -).
std::uint32_t torus_link(const NodeLayout& node, int local, std::size_t dimension, bool forward) {
  return static_cast<std::uint32_t>((static_cast<std::size_t>(local) * node.torus.size() + dimension) * 2 +
                                    (forward ? 0 : 1));
}
// Links of Meeting::Mesh: one an ordered pair.
std::uint32_t mesh_link(const NodeLayout& node, int from, int to) {
  return static_cast<std::uint32_t>(from * (node.devices - 1) + (to > from ? to - 1 : to));
}

// Calls visit(local, dimension, forward) for each wire on the dimension-ordered way.
template <class Visit>
void walk_torus(const std::vector<int>& sizes, int from, int to, Visit visit) {
  int stride = 1;
  int local = from;
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    const int size = sizes[d];
    const int at = local / stride % size;
    const int steps = torus_steps(at, to / stride % size, size);
    for (int i = 0, c = at; i < std::abs(steps); ++i) {
      visit(local, d, steps > 0);
      const int next = (c + (steps > 0 ? 1 : size - 1)) % size;
      local += (next - c) * stride;
      c = next;
    }
    stride *= size;
  }
}

}  // namespace

int torus_steps(int from, int to, int size) {
  int steps = to - from;
  if (steps < 0) steps += size;
  if (2 * steps > size || (2 * steps == size && from % 2 == 1)) steps -= size;
  return steps;
}

void append_node_links(const NodeLayout& node, IndexedVector<LinkId, Link>& links) {
  Link link;
  if (node.meet != nullptr) {
    const LinkTechnology& technology = *node.meet;
    Bandwidth wire = technology.bandwidth;
    if (node.meeting == Meeting::Mesh || node.meeting == Meeting::Torus) {
      const auto wires =
          node.meeting == Meeting::Mesh ? static_cast<std::size_t>(node.devices - 1) : node.torus.size() * 2;
      wire = technology.peer_bandwidth.value > 0 ? technology.peer_bandwidth
                                                 : technology.bandwidth / static_cast<double>(wires);
    }
    link.capacity = wire * technology.efficiency;
  }
  for (std::uint32_t i = 0; i < node.intra_links; ++i) links.push_back(link);
  link = {.capacity = node.port_capacity, .scope = Link::Scope::Port};
  for (int i = 0; i < 2 * node.ports; ++i) links.push_back(link);
}

void append_node_route(const Layout& layout, DeviceId from, DeviceId to, std::vector<LinkId>& links) {
  const NodeId id = layout.devices[from].node;
  const NodeLayout& node = layout.of(id);
  const std::uint32_t first = layout.first_link[id].value;
  const int a = layout.devices[from].local;
  const int b = layout.devices[to].local;
  switch (node.meeting) {
    case Meeting::Switched:
    case Meeting::HostBus:
      links.push_back(LinkId(first + 2 * static_cast<std::uint32_t>(a)));
      links.push_back(LinkId(first + 2 * static_cast<std::uint32_t>(b) + 1));
      break;
    case Meeting::Mesh:
      links.push_back(LinkId(first + mesh_link(node, a, b)));
      break;
    case Meeting::Torus:
      walk_torus(node.torus, a, b, [&](int local, std::size_t dimension, bool forward) {
        links.push_back(LinkId(first + torus_link(node, local, dimension, forward)));
      });
      break;
    case Meeting::Ports:
      links.push_back(layout.port_up(id, node.port_of(a)));
      links.push_back(layout.port_down(id, node.port_of(b)));
      break;
    case Meeting::Fabric:
    case Meeting::Alone:
      break;
  }
}

Seconds node_latency(const Layout& layout, DeviceId from, DeviceId to) {
  const NodeId id = layout.devices[from].node;
  const NodeLayout& node = layout.of(id);
  switch (node.meeting) {
    case Meeting::Switched:
    case Meeting::HostBus:
      return node.meet->latency + node.meet->switch_latency;
    case Meeting::Mesh:
      return node.meet->latency;
    case Meeting::Torus: {
      int wires = 0;
      walk_torus(node.torus, layout.devices[from].local, layout.devices[to].local,
                 [&](int, std::size_t, bool) { ++wires; });
      return node.meet->latency * wires;
    }
    case Meeting::Ports:
      return node.network->latency + node.network->switch_latency;
    case Meeting::Fabric:
    case Meeting::Alone:
      break;
  }
  return Seconds(0);
}

std::string node_link_name(const Layout& layout, NodeId id, LinkId link) {
  const NodeLayout& node = layout.of(id);
  std::uint32_t offset = link.value - layout.first_link[id].value;
  if (offset >= node.intra_links) {
    offset -= node.intra_links;
    return fmt::format("node{}.port{}.{}", id.value, offset / 2, offset % 2 == 0 ? "up" : "down");
  }
  switch (node.meeting) {
    case Meeting::Mesh: {
      const auto peers = static_cast<std::uint32_t>(node.devices - 1);
      const std::uint32_t from = offset / peers;
      const std::uint32_t to = offset % peers;
      return fmt::format("node{}.device{}.{}.to-device{}", id.value, from, node.meet->id,
                         to >= from ? to + 1 : to);
    }
    case Meeting::Torus: {
      const auto wires = static_cast<std::uint32_t>(2 * node.torus.size());
      return fmt::format("node{}.device{}.{}.dimension{}{}", id.value, offset / wires, node.meet->id,
                         offset % wires / 2, offset % 2 == 0 ? '+' : '-');
    }
    default:
      return fmt::format("node{}.device{}.{}.{}", id.value, offset / 2, node.meet->id,
                         offset % 2 == 0 ? "up" : "down");
  }
}

void append_node_all_to_all(const Layout& layout, std::span<const DeviceId> members, double share,
                            std::vector<LinkLoad>& loads) {
  if (members.size() < 2) return;
  const NodeId id = layout.devices[members[0]].node;
  const NodeLayout& node = layout.of(id);
  if (node.meeting == Meeting::Switched || node.meeting == Meeting::HostBus) {
    const double peers = static_cast<double>(members.size() - 1);
    for (DeviceId member : members) {
      const std::uint32_t up =
          layout.first_link[id].value + 2 * static_cast<std::uint32_t>(layout.devices[member].local);
      loads.push_back({LinkId(up), peers * share});
      loads.push_back({LinkId(up + 1), peers * share});
    }
    return;
  }
  std::vector<LinkId> route;
  for (DeviceId from : members) {
    for (DeviceId to : members) {
      if (from != to) append_node_route(layout, from, to, route);
    }
  }
  for (LinkId link : route) loads.push_back({link, share});
}

}  // namespace tandem
