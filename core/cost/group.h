// A communication group as collectives see it: members node by node, the wires inside and between nodes.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "core/cluster/cluster.h"
#include "core/cost/calibration.h"

namespace tandem {

// Rates in bytes a second of one direction. Uneven groups: the slowest node and the fewest members a node bind.
struct Group {
  std::size_t members = 0;
  std::size_t nodes = 1;  // scale-up domains
  std::size_t per_node_min = 0, per_node_max = 0;
  bool torus = false;    // members meet over the wires of a torus: loads alone decide the rate
  LinkRow link;          // shares of `link_rate`
  double link_rate = 0;  // of one device inside its node; 0: one member a node
  NetworkRow network;
  double node_rate = 0;           // line rate of the ports of a node's members
  double device_rate = 0;         // of one member's share
  Seconds wire_latency;           // one hop on a torus
  std::vector<int> torus_extent;  // members along each dimension that they span
  std::string link_origin, network_origin;

  double ring_rate() const { return link_rate * interpolate(link.ring, static_cast<double>(per_node_min)); }
  double pair_rate() const { return link_rate * interpolate(link.ring, 2); }
  double network_rate() const { return node_rate * network.efficiency; }
};

Group group_of(const Cluster&, const Calibration&, std::span<const DeviceId> members);

// Places of members node by node, nodes in the order of their first member.
std::vector<std::vector<DeviceId>> by_node(const Cluster&, std::span<const DeviceId> members);

// How the devices of a node meet: through a switch (or the host), one wire a pair, or the wires of a torus.
enum class Inside : std::uint8_t { Switch, Mesh, Torus };
Inside inside(const Cluster&, NodeId);

// Torus dimensions over which these devices are spread, and where a device stands on them. Empty: not on a
// torus.
struct TorusView {
  std::vector<int> sizes;
  std::vector<int> place(const Cluster&, DeviceId) const;
  bool over_fabric = false;
};
TorusView torus_view(const Cluster&, DeviceId any);

}  // namespace tandem
