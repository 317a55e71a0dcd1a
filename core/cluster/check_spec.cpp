// Objections to a cluster spec: missing references, and numbers that are absent, negative, not finite or
// absurd.
#include <fmt/format.h>

#include <cmath>
#include <set>

#include "core/cluster/layout.h"

namespace tandem {
namespace {

// Far above any machine, far below what overflows: 1 EB, 1 EB/s, 1 ZFLOP/s, 1 GW, 1000 s.
constexpr double least = 1e-3;  // base units, factors
constexpr double most_bytes = 1e18, most_rate = 1e18, most_flops = 1e21, most_watts = 1e9, most_seconds = 1e3;

struct SpecChecker {
  const ClusterSpec& spec;
  Problems& problems;

  void complain(std::string what, std::string hint = {}) {
    problems.add(Where{}, std::move(what), std::move(hint));
  }

  void positive(double value, double most, const std::string& owner, std::string_view key,
                std::string_view hint) {
    if (value == 0) return complain(fmt::format("{} has no {}", owner, key), std::string(hint));
    if (!(value >= least && value <= most))
      complain(fmt::format("{}: {} = {} is not a sensible value", owner, key, value));
  }
  void not_negative(double value, double most, const std::string& owner, std::string_view key) {
    if (!(value >= 0 && value <= most))
      complain(fmt::format("{}: {} = {} is not a sensible value", owner, key, value));
  }

  const LinkTechnology* technology(const std::string& id) const {
    for (const LinkTechnology& technology : spec.technologies) {
      if (technology.id == id) return &technology;
    }
    return nullptr;
  }
  void reference(const std::string& id, const std::string& owner, std::string_view key) {
    if (id.empty() || technology(id) != nullptr) return;
    std::vector<std::string> known;
    for (const LinkTechnology& technology : spec.technologies) known.push_back(technology.id);
    const std::string nearest = nearest_name(id, known);
    complain(fmt::format("{}: {} = \"{}\" is not a known link", owner, key, id),
             nearest.empty() ? "" : fmt::format("did you mean \"{}\"?", nearest));
  }

  void check_device(const DeviceKind& device) {
    const std::string owner = fmt::format("device \"{}\"", device.id);
    constexpr std::string_view hint = "measure it or look it up, and give it in the scenario's device table";
    if (device.peak.empty()) complain(owner + " has no peak rate", std::string(hint));
    for (const auto& [dtype, rate] : device.peak) {
      positive(rate.value, most_flops, owner, fmt::format("peak.{}", tandem::name(dtype)), hint);
    }
    if (device.tf32_peak) positive(device.tf32_peak->value, most_flops, owner, "peak.tf32", hint);
    if (device.achievable_bf16)
      positive(device.achievable_bf16->value, most_flops, owner, "achievable_bf16", hint);
    positive(device.memory.value, most_bytes, owner, "memory", hint);
    positive(device.memory_bandwidth.value, most_rate, owner, "memory_bandwidth", hint);
    not_negative(device.power.value, most_watts, owner, "power");
    not_negative(device.l2.value, most_bytes, owner, "l2");
    if (device.compute_units < 0)
      complain(fmt::format("{}: compute_units = {} is negative", owner, device.compute_units));
    if (!device.price) return;
    const Price& price = *device.price;
    not_negative(price.usd_per_device_hour_low, 1e6, owner, "price, low end");
    not_negative(price.usd_per_device_hour_high, 1e6, owner, "price, high end");
    if (price.usd_per_device_hour_low > price.usd_per_device_hour_high) {
      complain(owner + ": the price's low end is above its high end");
    }
    if (price.date.empty()) complain(owner + ": the price has no date", "add date = \"2026-08\"");
  }

  void check_technology(const LinkTechnology& link) {
    const std::string owner = fmt::format("link \"{}\"", link.id);
    positive(link.bandwidth.value, most_rate, owner, "bandwidth", "give its rate of one direction");
    not_negative(link.peer_bandwidth.value, most_rate, owner, "peer_bandwidth");
    not_negative(link.latency.value, most_seconds, owner, "latency");
    not_negative(link.switch_latency.value, most_seconds, owner, "switch_latency");
    if (!(link.efficiency >= least && link.efficiency <= 1)) {
      complain(fmt::format("{}: efficiency = {} is not within 0 … 1", owner, link.efficiency));
    }
  }

  void check_node(const NodeType& type) {
    const std::string owner = fmt::format("node type \"{}\"", type.id);
    if (type.devices < 1) complain(fmt::format("{}: devices = {}, at least 1 is needed", owner, type.devices));
    if (type.ports < 0) complain(fmt::format("{}: ports = {} is negative", owner, type.ports));
    if (type.ports > 1 << 20)
      complain(fmt::format("{}: ports = {} is not a sensible value", owner, type.ports));
    if (type.ports > 0 && type.network.empty())
      complain(owner + " has ports but no network", "give its network, or ports = 0");
    reference(type.intra_link, owner, "intra_link");
    reference(type.network, owner, "network");
    reference(type.host_link, owner, "host_link");
    if (type.wiring != NodeType::Wiring::Torus && !type.torus.empty()) {
      complain(owner + ": torus is given but wiring is not \"torus\"");
    }
    if (type.wiring != NodeType::Wiring::Switched && type.intra_link.empty() && type.devices > 1) {
      complain(owner + ": direct wiring needs an intra_link");
    }
  }

  // Devices inside a torus-wired node have wires of their own unless a torus fabric carries them.
  void check_node_torus(const NodeType& type) {
    if (type.wiring != NodeType::Wiring::Torus || spec.fabric.kind == FabricKind::Torus || type.devices <= 1)
      return;
    double product = type.torus.empty() ? 0 : 1;
    for (int size : type.torus) product *= size >= 1 ? size : 0;
    if (product != type.devices) {
      complain(fmt::format("node type \"{}\": its torus holds {} devices, the node {}", type.id, product,
                           type.devices),
               "or join the nodes by a torus fabric");
    }
  }

  void check_counts() {
    std::int64_t devices = 0;
    std::int64_t nodes = 0;
    for (const NodeGroupSpec& group : spec.groups) {
      if (group.count < 1) {
        complain(fmt::format("{} nodes of \"{}\": at least 1 is needed", group.count, group.type.id));
        continue;
      }
      nodes += group.count;
      devices += static_cast<std::int64_t>(group.count) * std::max(group.type.devices, 1);
      if (devices > most_devices) {
        return complain(fmt::format("the cluster has more than {} devices", most_devices),
                        "ask for fewer nodes");
      }
    }
    const bool needs_ports = spec.fabric.kind != FabricKind::Torus && spec.fabric.kind != FabricKind::LinkList;
    for (const NodeGroupSpec& group : spec.groups) {
      if (nodes > 1 && needs_ports && group.type.ports == 0) {
        complain(fmt::format("node type \"{}\" has no ports, so {} nodes cannot meet through a {} fabric",
                             group.type.id, nodes, tandem::name(spec.fabric.kind)),
                 "give the node ports and a network, or use a torus fabric");
      }
    }
    std::set<std::uint32_t> slow;
    for (const ClusterSpec::Slowdown& slowdown : spec.slow_devices) {
      if (slowdown.device >= devices) {
        complain(fmt::format("slow device {} does not exist: there are {} devices", slowdown.device, devices));
      }
      if (!(slowdown.factor >= least && slowdown.factor <= 1e6)) {
        complain(fmt::format("slow device {}: factor = {} is not a sensible value", slowdown.device,
                             slowdown.factor));
      }
      if (!slow.insert(slowdown.device).second) {
        complain(fmt::format("device {} is named twice among the slow devices", slowdown.device));
      }
    }
  }

  void check_fabric() {
    const FabricSpec& fabric = spec.fabric;
    const auto ratio = [&](double value, std::string_view key) {
      if (!(value >= least && value <= 1e6))
        complain(fmt::format("fabric: {} = {} is not a sensible value", key, value));
    };
    ratio(fabric.oversubscription, "oversubscription");
    ratio(fabric.pod_oversubscription, "pod_oversubscription");
    const bool tree = fabric.kind == FabricKind::FatTree || fabric.kind == FabricKind::RailOptimised;
    if (tree && fabric.levels != 2 && fabric.levels != 3) {
      complain(fmt::format("fabric: levels = {}, a tree has 2 or 3", fabric.levels));
    }
    if (tree && fabric.nodes_per_leaf < 1) {
      complain(fmt::format("fabric: nodes_per_leaf = {}, at least 1 is needed", fabric.nodes_per_leaf));
    }
    if (tree && fabric.levels == 3 && fabric.leaves_per_pod < 1) {
      complain(fmt::format("fabric: leaves_per_pod = {}, at least 1 is needed", fabric.leaves_per_pod));
    }
  }
};

}  // namespace

void check_spec(const ClusterSpec& spec, Problems& problems) {
  SpecChecker checker{spec, problems};
  if (spec.groups.empty()) checker.complain("the cluster has no nodes");
  for (std::size_t i = 0; i < spec.groups.size(); ++i) {
    const NodeGroupSpec& group = spec.groups[i];
    bool seen = false;  // a group that repeats another is objected to once
    for (std::size_t j = 0; j < i && !seen; ++j) {
      seen = spec.groups[j].device == group.device && spec.groups[j].type == group.type;
    }
    if (seen) continue;
    checker.check_device(group.device);
    checker.check_node(group.type);
    checker.check_node_torus(group.type);
  }
  for (const LinkTechnology& technology : spec.technologies) checker.check_technology(technology);
  checker.check_counts();
  checker.check_fabric();
}

}  // namespace tandem
