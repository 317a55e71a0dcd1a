// Accelerators, links and node types as data sheets and measurements describe them (scenarios/clusters/*.toml).
#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/units/dtype.h"
#include "core/units/quantity.h"

namespace tandem {

struct Price {
  double usd_per_device_hour_low = 0, usd_per_device_hour_high = 0;
  std::string date, source;  // a price without a date is refused
  double usd_per_device_hour() const { return (usd_per_device_hour_low + usd_per_device_hour_high) / 2; }
  bool operator==(const Price&) const = default;
};

// One kind of accelerator (or CPU). Rates are dense peaks; an unknown value is absent, never zero.
struct DeviceKind {
  std::string id, name, vendor;
  std::map<DType, ComputeRate> peak;  // dense; fp32 is the vector rate unless tf32 is given
  std::optional<ComputeRate> tf32_peak;
  std::optional<ComputeRate> achievable_bf16;  // best measured matrix product
  Bytes memory;                                // usable, bytes
  Bandwidth memory_bandwidth;
  int compute_units = 0;  // SMs, CUs, cores; 0: unknown
  Bytes l2;               // 0: unknown
  Power power;            // 0: unknown
  std::string link;       // intra-node LinkTechnology id, "" : none
  std::optional<Price> price;
  std::string confidence, source, notes;
  bool operator==(const DeviceKind&) const = default;
};

// A kind of wire: NVLink 4, InfiniBand NDR, PCIe 5 x16, TPU ICI, …
struct LinkTechnology {
  std::string id, name;
  enum class Scope : std::uint8_t { IntraNode, HostDevice, ScaleUp, InterNode } scope = Scope::IntraNode;
  Bandwidth bandwidth;     // one direction: of a device (intra-node) or of one port (inter-node)
  Seconds latency;         // one hop
  Seconds switch_latency;  // added by each switch
  double efficiency = 1;   // share of the line rate that a long transfer reaches
  std::string confidence, source, notes;
  // One direct wire to one neighbour (Mesh, Torus). 0: `bandwidth` spread evenly over a device's wires.
  Bandwidth peer_bandwidth;
  bool operator==(const LinkTechnology&) const = default;
};

// A server or a pod slice: devices of one kind, the wire between them and the ports to the outside.
struct NodeType {
  std::string id, name;
  std::string device;  // DeviceKind id
  int devices = 8;
  bool any_size = false;   // "DEVICE:N" is one node with N of them (cores of a server), not nodes that hold N
  std::string intra_link;  // LinkTechnology id, "" : devices meet only over PCIe or the network
  // How devices of one node meet: through a switch (any pair at full rate), by a direct wire for every pair
  // (one pair gets 1/(n-1), or the technology's peer_bandwidth), or by wires to the neighbours of a torus.
  enum class Wiring : std::uint8_t { Switched, Mesh, Torus } wiring = Wiring::Switched;
  std::string network;    // LinkTechnology id of its ports
  int ports = 8;          // ports a node, shared evenly by its devices; 0: none (TPU pods)
  std::string host_link;  // device <-> host memory, for offload
  std::string source, notes;
  std::vector<int> torus;  // Torus: devices of a node along each dimension, product = devices
  bool operator==(const NodeType&) const = default;
};

}  // namespace tandem
