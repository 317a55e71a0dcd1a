// The machine: nodes, devices, links and the route between any two devices. Nodes may differ.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/cluster/hardware.h"
#include "core/units/id.h"
#include "core/units/quantity.h"

namespace tandem {

using DeviceId = Id<struct DeviceTag>;
using NodeId = Id<struct NodeTag>;
using LinkId = Id<struct LinkTag>;
using DeviceKindId = Id<struct DeviceKindTag>;
using NodeTypeId = Id<struct NodeTypeTag>;

enum class FabricKind : std::uint8_t { SingleSwitch, FatTree, RailOptimised, Dragonfly, Torus, LinkList };

// How nodes are wired together. Unused fields are refused by the reader when set.
struct FabricSpec {
  FabricKind kind = FabricKind::SingleSwitch;
  int levels = 2;                   // FatTree, RailOptimised: switch levels, 2 or 3
  int nodes_per_leaf = 32;          // nodes (rail-optimised: nodes of a scalable unit) under one leaf switch
  int leaves_per_pod = 8;           // 3 levels: leaf groups under one pod
  double oversubscription = 1;      // leaf: down capacity / up capacity
  double pod_oversubscription = 1;  // 3 levels: the same one level up
  int dragonfly_groups = 0, dragonfly_routers = 0;  // routers a group; nodes spread evenly
  std::vector<int> torus;                           // devices along each dimension, product = devices
  struct WireSpec {
    std::string from, to;
    Bandwidth bandwidth;
    Seconds latency;
  };
  std::vector<WireSpec> links;  // LinkList: "node0", "node1", "switchA", …; duplex
};
std::string_view name(FabricKind);  // "rail-optimised"

struct NodeGroupSpec {
  NodeType type;  // resolved: presets with the scenario's overrides applied
  DeviceKind device;
  int count = 1;
};

struct ClusterSpec {
  std::string name;  // "dgx-h100:16"
  std::vector<NodeGroupSpec> groups;
  FabricSpec fabric;
  std::vector<LinkTechnology> technologies;  // all that groups name
  // Devices slower than their kind: seeded studies of stragglers. Factor 1.2 = 20 % slower compute.
  struct Slowdown {
    std::uint32_t device = 0;
    double factor = 1;
  };
  std::vector<Slowdown> slow_devices;
};

struct Device {
  DeviceKindId kind;
  NodeId node;
  int local = 0;
  double slowdown = 1;
};
struct Node {
  NodeTypeId type;
  DeviceId first;
  int devices = 0;
};

struct Link {
  Bandwidth capacity;  // line rate x efficiency, one direction
  enum class Scope : std::uint8_t { IntraNode, Port, Fabric } scope = Scope::IntraNode;
  // False when the wires that feed it cannot fill it together: such a link never slows anything and flows skip
  // it.
  bool can_bind = true;
};

struct LinkLoad {
  LinkId link;
  double share = 0;
};  // bytes on the link per byte of the collective's or message's size

// Routing of one fabric; one implementation a FabricKind, in core/cluster/fabrics/. Tree serves FatTree and
// RailOptimised.
class Fabric {
 public:
  virtual ~Fabric() = default;
  // Appends the fabric links from the port of `from` to the port of `to` (different nodes), in order; those
  // that can bind only.
  virtual void append_route(DeviceId from, DeviceId to, std::vector<LinkId>& links) const = 0;
  // Switches on that way, for latency (Torus: wires).
  virtual int hops(DeviceId from, DeviceId to) const = 0;
  // One way, ports included.
  virtual Seconds latency(DeviceId from, DeviceId to) const = 0;
  virtual std::string link_name(LinkId link) const = 0;
  // True when messages leave a node through its ports; false for device-level wires (Torus).
  virtual bool uses_ports() const { return true; }
  // Adds the loads of an all-to-all on this fabric's links; `members` ascend.
  virtual void append_all_to_all(std::span<const DeviceId> members, std::vector<LinkLoad>& loads) const = 0;
};

// Invariants: a route for every pair of devices, positive capacities, devices of a node contiguous in id.
class Cluster {
 public:
  const std::string& name() const;
  std::size_t device_count() const;
  std::size_t node_count() const;
  std::size_t link_count() const;
  const Device& operator[](DeviceId) const;
  const Node& operator[](NodeId) const;
  const Link& operator[](LinkId) const;
  std::string link_name(LinkId) const;  // "node3.device2.nvlink4.up", "leaf1.up": made on demand
  const DeviceKind& kind(DeviceId) const;
  const DeviceKind& operator[](DeviceKindId) const;
  const NodeType& type(NodeId) const;
  std::span<const DeviceKind> kinds() const;
  const LinkTechnology* intra_link(NodeId) const;  // null: none
  // Of the ports; where node groups differ, the slowest port's. Torus without ports: of its wires.
  const LinkTechnology& network() const;
  const LinkTechnology* host_link(NodeId) const;
  const ClusterSpec& spec() const;
  // Line rate of the node's ports, and of a device's share of them; 0 without ports (TPU pods).
  Bandwidth port_bandwidth_per_device(DeviceId) const;
  Bandwidth port_bandwidth_per_node(NodeId) const;

  // Links that a message from one device to another crosses, those that can bind only. Empty for from == to.
  void append_route(DeviceId from, DeviceId to, std::vector<LinkId>& links) const;
  // One-way latency of the wires and switches (not of the library).
  Seconds latency(DeviceId from, DeviceId to) const;
  // Bytes each link carries when every member sends 1/n of its size to every other member; linear in members
  // for switched and tree fabrics, quadratic for the others. Shares are per byte of one member's size.
  std::vector<LinkLoad> all_to_all_loads(std::span<const DeviceId> members) const;
  // Typical price, and power at full load, of the whole cluster; absent when any kind's is unknown.
  std::optional<double> usd_per_hour() const;
  std::optional<Power> power() const;
  const Fabric& fabric() const;

 private:
  friend Cluster build_cluster(const ClusterSpec&);
  struct State;
  std::shared_ptr<const State> state_;  // immutable and large: copies of a Cluster share it
};

// Builds nodes, links and routes. Throws InputError for a fabric that does not fit its nodes (torus product,
// ports, …), for rates that are missing or absurd, and for more than `most_devices` devices.
Cluster build_cluster(const ClusterSpec&);
inline constexpr std::int64_t most_devices = 1 << 20;

// The invariants of Cluster, on every device and on a spread of at most `pairs` pairs. Our own mistakes: throws
// like check.
void check_cluster(const Cluster&, std::size_t pairs = 4096);

}  // namespace tandem
