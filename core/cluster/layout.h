// The parts of a cluster that nodes, routes and names share: who sits where, and where a node's links begin.
#pragma once
#include <memory>

#include "core/cluster/cluster.h"
#include "core/problem/problem.h"

namespace tandem {

// How the devices of one node type meet, resolved. HostBus: through the host's PCIe; Ports: through the node's
// own ports; Fabric: over the wires of a torus fabric; Alone: a single device without a wire.
enum class Meeting : std::uint8_t { Switched, Mesh, Torus, HostBus, Ports, Fabric, Alone };

// One node type as numbers: which links a node of it owns, in this order: intra-node links, then port links.
struct NodeLayout {
  Meeting meeting = Meeting::Alone;
  int devices = 1;
  std::uint32_t intra_links = 0;
  int ports = 0;                          // port pairs of links: min(ports, devices)
  std::vector<int> torus;                 // Meeting::Torus, dimensions larger than 1
  const LinkTechnology* intra = nullptr;  // of the type's intra_link
  const LinkTechnology* meet = nullptr;   // that Switched, Mesh, Torus or HostBus uses
  const LinkTechnology* network = nullptr;
  const LinkTechnology* host = nullptr;
  Bandwidth port_capacity;  // of one of `ports`, one direction, line rate x efficiency
  Bandwidth node_capacity() const { return port_capacity * ports; }
  int port_of(int local) const { return static_cast<int>(static_cast<std::int64_t>(local) * ports / devices); }
};

struct Layout {
  ClusterSpec spec;
  std::vector<DeviceKind> kinds;
  std::vector<NodeType> types;
  std::vector<NodeLayout> node_layouts;  // parallel to types
  const LinkTechnology* network = nullptr;
  IndexedVector<DeviceId, Device> devices;
  IndexedVector<NodeId, Node> nodes;
  IndexedVector<NodeId, LinkId> first_link;  // of each node
  IndexedVector<LinkId, Link> links;
  LinkId first_fabric_link;

  const NodeLayout& of(NodeId node) const { return node_layouts[nodes[node].type.value]; }
  int port_of(DeviceId device) const { return of(devices[device].node).port_of(devices[device].local); }
  LinkId port_up(NodeId node, int port) const {
    return LinkId(first_link[node].value + of(node).intra_links + 2 * static_cast<std::uint32_t>(port));
  }
  LinkId port_down(NodeId node, int port) const { return LinkId(port_up(node, port).value + 1); }
  LinkId add_fabric_link(Bandwidth capacity, bool can_bind) {
    return links.push_back({.capacity = capacity, .scope = Link::Scope::Fabric, .can_bind = can_bind});
  }
};

// Links between the devices of one node (core/cluster/node_links.cpp).
void append_node_links(const NodeLayout& node, IndexedVector<LinkId, Link>& links);
void append_node_route(const Layout&, DeviceId from, DeviceId to, std::vector<LinkId>& links);
Seconds node_latency(const Layout&, DeviceId from, DeviceId to);
std::string node_link_name(const Layout&, NodeId node, LinkId link);
// Loads of an all-to-all among `members` of one node, `share` between any two.
void append_node_all_to_all(const Layout&, std::span<const DeviceId> members, double share,
                            std::vector<LinkLoad>&);

// A fabric that knows its layout; the default all-to-all visits every pair of places that have a member.
class LayoutFabric : public Fabric {
 public:
  explicit LayoutFabric(const Layout& layout) : layout_(layout) {}
  Seconds latency(DeviceId from, DeviceId to) const override;
  void append_all_to_all(std::span<const DeviceId> members, std::vector<LinkLoad>& loads) const override;

 protected:
  // Devices of one place have consecutive ids, equal routes to all others and none among themselves.
  virtual std::size_t place(DeviceId device) const { return device.value; }

  const Layout& layout_;
};

// One a FabricKind, in core/cluster/fabrics/. Each adds its links to the layout and its objections to the
// problems; null when there are any.
std::unique_ptr<Fabric> make_single_switch(Layout&, Problems&);
std::unique_ptr<Fabric> make_tree(Layout&, Problems&);
std::unique_ptr<Fabric> make_dragonfly(Layout&, Problems&);
std::unique_ptr<Fabric> make_torus(Layout&, Problems&);
std::unique_ptr<Fabric> make_link_list(Layout&, Problems&);

// Objections to a spec before anything is built from it; what survives has finite, positive, moderate numbers.
void check_spec(const ClusterSpec&, Problems&);
// Dimension-ordered steps on a torus: the sign and number of hops from a to b along a ring of `size`; the
// shorter way, halves by the parity of a.
int torus_steps(int from, int to, int size);

}  // namespace tandem
