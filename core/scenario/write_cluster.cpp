// Writes the machine as canonical TOML: groups, then all that is known of nodes, devices, links and fabric.
#include <fmt/format.h>

#include <set>

#include "core/scenario/sections.h"

namespace tandem {
namespace {

std::string with_unit(double value, std::string_view unit) {
  return quoted(fmt::format("{} {}", exact(value), unit));
}

void line(std::string& out, std::string_view key, const std::string& literal) {
  out += fmt::format("{} = {}\n", key, literal);
}
void text_line(std::string& out, std::string_view key, const std::string& value) {
  if (!value.empty()) line(out, key, quoted(value));
}

std::string list(const std::vector<int>& numbers) {
  std::string all;
  for (const int number : numbers) all += fmt::format("{}{}", all.empty() ? "" : ", ", number);
  return "[" + all + "]";
}

void write_node(std::string& out, const NodeType& type) {
  static constexpr std::string_view wirings[] = {"switched", "mesh", "torus"};
  out += fmt::format("\n[cluster.node.{}]\n", quoted(type.id));
  text_line(out, "name", type.name);
  line(out, "device", quoted(type.device));
  line(out, "devices", fmt::format("{}", type.devices));
  line(out, "intra_link", quoted(type.intra_link));
  line(out, "wiring", quoted(std::string(wirings[static_cast<std::size_t>(type.wiring)])));
  line(out, "network", quoted(type.network));
  line(out, "ports", fmt::format("{}", type.ports));
  line(out, "host_link", quoted(type.host_link));
  if (!type.torus.empty()) line(out, "torus", list(type.torus));
}

void write_device(std::string& out, const DeviceKind& device) {
  out += fmt::format("\n[cluster.device.{}]\n", quoted(device.id));
  text_line(out, "name", device.name);
  std::string peaks;
  for (const auto& [dtype, rate] : device.peak)
    peaks += fmt::format("{}{} = {}", peaks.empty() ? "" : ", ", name(dtype), with_unit(rate.value, "FLOP/s"));
  if (device.tf32_peak)
    peaks +=
        fmt::format("{}tf32 = {}", peaks.empty() ? "" : ", ", with_unit(device.tf32_peak->value, "FLOP/s"));
  line(out, "peak", "{ " + peaks + " }");
  if (device.achievable_bf16) line(out, "achievable_bf16", with_unit(device.achievable_bf16->value, "FLOP/s"));
  line(out, "memory", with_unit(device.memory.value, "B"));
  line(out, "memory_bandwidth", with_unit(device.memory_bandwidth.value, "B/s"));
  line(out, "compute_units", fmt::format("{}", device.compute_units));
  line(out, "l2", with_unit(device.l2.value, "B"));
  line(out, "power", with_unit(device.power.value, "W"));
  if (device.price)
    line(
        out, "price",
        fmt::format("{{ usd_per_device_hour = [{}, {}], date = {}, source = {} }}",
                    exact(device.price->usd_per_device_hour_low), exact(device.price->usd_per_device_hour_high),
                    quoted(device.price->date), quoted(device.price->source)));
}

void write_link(std::string& out, const LinkTechnology& link) {
  static constexpr std::string_view scopes[] = {"intra-node", "host-device", "scale-up", "inter-node"};
  out += fmt::format("\n[cluster.link.{}]\n", quoted(link.id));
  text_line(out, "name", link.name);
  line(out, "scope", quoted(std::string(scopes[static_cast<std::size_t>(link.scope)])));
  line(out, "bandwidth", with_unit(link.bandwidth.value, "B/s"));
  line(out, "peer_bandwidth", with_unit(link.peer_bandwidth.value, "B/s"));
  line(out, "latency", with_unit(link.latency.value, "s"));
  line(out, "switch_latency", with_unit(link.switch_latency.value, "s"));
  line(out, "efficiency", exact(link.efficiency));
}

void write_fabric(std::string& out, const FabricSpec& fabric) {
  out += "\n[cluster.fabric]\n";
  line(out, "kind", quoted(std::string(name(fabric.kind))));
  const bool tree = fabric.kind == FabricKind::FatTree || fabric.kind == FabricKind::RailOptimised;
  if (tree) {
    line(out, "levels", fmt::format("{}", fabric.levels));
    line(out, "nodes_per_leaf", fmt::format("{}", fabric.nodes_per_leaf));
    line(out, "oversubscription", exact(fabric.oversubscription));
  }
  if (tree && fabric.levels == 3) {
    line(out, "leaves_per_pod", fmt::format("{}", fabric.leaves_per_pod));
    line(out, "pod_oversubscription", exact(fabric.pod_oversubscription));
  }
  if (fabric.kind == FabricKind::Dragonfly) {
    line(out, "groups", fmt::format("{}", fabric.dragonfly_groups));
    line(out, "routers", fmt::format("{}", fabric.dragonfly_routers));
    line(out, "oversubscription", exact(fabric.oversubscription));
  }
  if (fabric.kind == FabricKind::Torus && !fabric.torus.empty()) line(out, "dimensions", list(fabric.torus));
  for (const FabricSpec::WireSpec& wire : fabric.links)
    out += fmt::format("[[cluster.fabric.links]]\nfrom = {}\nto = {}\nbandwidth = {}\nlatency = {}\n",
                       quoted(wire.from), quoted(wire.to), with_unit(wire.bandwidth.value, "B/s"),
                       with_unit(wire.latency.value, "s"));
}

}  // namespace

std::string cluster_to_toml(const ClusterSpec& spec) {
  std::string out = "[cluster]\n";
  text_line(out, "name", spec.name);
  std::string slow;
  for (const ClusterSpec::Slowdown& device : spec.slow_devices)
    slow += fmt::format("{}{{ device = {}, factor = {} }}", slow.empty() ? "" : ", ", device.device,
                        exact(device.factor));
  if (!slow.empty()) line(out, "slow_devices", "[" + slow + "]");
  for (const NodeGroupSpec& group : spec.groups)
    out +=
        fmt::format("\n[[cluster.groups]]\nnode_type = {}\nnodes = {}\n", quoted(group.type.id), group.count);
  std::set<std::string> written;
  for (const NodeGroupSpec& group : spec.groups)
    if (written.insert("node " + group.type.id).second) write_node(out, group.type);
  for (const NodeGroupSpec& group : spec.groups)
    if (written.insert("device " + group.device.id).second) write_device(out, group.device);
  for (const LinkTechnology& link : spec.technologies) write_link(out, link);
  write_fabric(out, spec.fabric);
  return out;
}

}  // namespace tandem
