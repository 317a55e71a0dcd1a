// Keys of devices.toml, links.toml, nodes.toml and clusters.toml.
#include "core/cluster/catalog_tables.h"

#include <fmt/format.h>

namespace tandem {
namespace {

constexpr int most_count = 1 << 20;

// Absent stays absent; zero would be taken for a rate.
std::optional<ComputeRate> read_rate(TableReader& reader, std::string_view key) {
  ComputeRate rate(-1);
  reader.read(key, rate);
  if (rate.value == 0) reader.complain(key, fmt::format("{} is zero", key), "leave out what is unknown");
  return rate.value > 0 ? std::optional(rate) : std::nullopt;
}

void read_rates(const toml::table& table, const std::string& file, DeviceKind& into, Problems& problems) {
  TableReader reader(table, file, fmt::format("device \"{}\": peak", into.id), problems);
  for (DType dtype : {DType::Fp32, DType::Bf16, DType::Fp16, DType::Fp8}) {
    if (const auto rate = read_rate(reader, name(dtype))) into.peak[dtype] = *rate;
  }
  if (const auto rate = read_rate(reader, "tf32")) into.tf32_peak = rate;
  reader.refuse_others();
}

void read_price(const toml::table& table, const std::string& file, DeviceKind& into, Problems& problems) {
  TableReader reader(table, file, fmt::format("device \"{}\": price", into.id), problems);
  std::vector<double> range;
  Price price;
  reader.read("usd_per_device_hour", range, 0, 1e6, 2);
  reader.read("date", price.date);
  reader.read("source", price.source);
  reader.refuse_others();
  if (range.empty()) {
    if (!reader.has("usd_per_device_hour"))
      reader.complain("", "usd_per_device_hour is missing", "give [low, high]");
    return;
  }
  price.usd_per_device_hour_low = range.front();
  price.usd_per_device_hour_high = range.back();
  if (price.usd_per_device_hour_low > price.usd_per_device_hour_high) {
    reader.complain("usd_per_device_hour", "the low end is above the high end");
  }
  if (price.date.empty()) reader.complain("", "a price without a date is refused", "add date = \"2026-08\"");
  into.price = price;
}

FabricSpec::WireSpec read_wire(const toml::table& table, const std::string& file, Problems& problems) {
  TableReader reader(table, file, "fabric: link", problems);
  FabricSpec::WireSpec wire;
  reader.read("from", wire.from);
  reader.read("to", wire.to);
  reader.read("bandwidth", wire.bandwidth);
  reader.read("latency", wire.latency);
  for (std::string_view key : {"from", "to", "bandwidth"}) {
    if (!reader.has(key)) reader.complain("", fmt::format("{} is missing", key));
  }
  reader.refuse_others();
  return wire;
}

}  // namespace

void read_device(const toml::table& table, const std::string& file, DeviceKind& into, Problems& problems) {
  TableReader reader(table, file, fmt::format("device \"{}\"", into.id), problems);
  reader.read("name", into.name);
  reader.read("vendor", into.vendor);
  if (const toml::table* rates = reader.table("peak")) read_rates(*rates, file, into, problems);
  if (const auto rate = read_rate(reader, "achievable_bf16")) into.achievable_bf16 = rate;
  reader.read("memory", into.memory);
  reader.read("memory_bandwidth", into.memory_bandwidth);
  reader.read("compute_units", into.compute_units, 0, most_count);
  reader.read("l2", into.l2);
  reader.read("power", into.power);
  reader.read("link", into.link);
  if (const toml::table* price = reader.table("price")) read_price(*price, file, into, problems);
  reader.read("confidence", into.confidence);
  reader.read("source", into.source);
  reader.read("notes", into.notes);
  reader.refuse_others();
}

void read_link(const toml::table& table, const std::string& file, LinkTechnology& into, Problems& problems) {
  using Scope = LinkTechnology::Scope;
  TableReader reader(table, file, fmt::format("link \"{}\"", into.id), problems);
  reader.read("name", into.name);
  constexpr Scope scopes[] = {Scope::IntraNode, Scope::HostDevice, Scope::ScaleUp, Scope::InterNode};
  if (const auto scope = reader.choice("scope", {"intra-node", "host-device", "scale-up", "inter-node"})) {
    into.scope = scopes[*scope];
  }
  reader.read("bandwidth", into.bandwidth);
  reader.read("peer_bandwidth", into.peer_bandwidth);
  reader.read("latency", into.latency);
  reader.read("switch_latency", into.switch_latency);
  reader.read("efficiency", into.efficiency, 1e-6, 1);
  reader.read("confidence", into.confidence);
  reader.read("source", into.source);
  reader.read("notes", into.notes);
  reader.refuse_others();
}

void read_node_type(const toml::table& table, const std::string& file, NodeType& into, Problems& problems) {
  using Wiring = NodeType::Wiring;
  TableReader reader(table, file, fmt::format("node type \"{}\"", into.id), problems);
  reader.read("name", into.name);
  reader.read("device", into.device);
  reader.read("devices", into.devices, 1, most_count);
  if (const auto size = reader.choice("size", {"fixed", "any"})) into.any_size = *size == 1;
  reader.read("intra_link", into.intra_link);
  constexpr Wiring wirings[] = {Wiring::Switched, Wiring::Mesh, Wiring::Torus};
  if (const auto wiring = reader.choice("wiring", {"switched", "mesh", "torus"}))
    into.wiring = wirings[*wiring];
  reader.read("torus", into.torus, 1, most_count, 6);
  reader.read("network", into.network);
  reader.read("ports", into.ports, 0, most_count);
  reader.read("host_link", into.host_link);
  reader.read("source", into.source);
  reader.read("notes", into.notes);
  reader.refuse_others();
}

void read_fabric(const toml::table& table, const std::string& file, FabricSpec& into, Problems& problems) {
  TableReader reader(table, file, "fabric", problems);
  std::vector<std::string> words;
  for (int kind = 0; kind <= static_cast<int>(FabricKind::LinkList); ++kind) {
    words.emplace_back(name(static_cast<FabricKind>(kind)));
  }
  if (const auto word = reader.choice("kind", words)) {
    const auto kind = static_cast<FabricKind>(*word);
    if (kind != into.kind) into = FabricSpec{};
    into.kind = kind;
  }
  switch (into.kind) {
    case FabricKind::SingleSwitch:
      break;
    case FabricKind::FatTree:
    case FabricKind::RailOptimised:
      reader.read("levels", into.levels, 2, 3);
      reader.read("nodes_per_leaf", into.nodes_per_leaf, 1, most_count);
      reader.read("oversubscription", into.oversubscription, 1e-3, 1e6);
      if (into.levels != 3) break;
      reader.read("leaves_per_pod", into.leaves_per_pod, 1, most_count);
      reader.read("pod_oversubscription", into.pod_oversubscription, 1e-3, 1e6);
      break;
    case FabricKind::Dragonfly:
      reader.read("groups", into.dragonfly_groups, 1, most_count);
      reader.read("routers", into.dragonfly_routers, 1, most_count);
      reader.read("oversubscription", into.oversubscription, 1e-3, 1e6);
      break;
    case FabricKind::Torus:
      reader.read("dimensions", into.torus, 1, most_count, 6);
      break;
    case FabricKind::LinkList:
      if (const toml::array* wires = reader.tables("links")) {
        into.links.clear();
        for (const toml::node& wire : *wires) into.links.push_back(read_wire(*wire.as_table(), file, problems));
      }
      break;
  }
  reader.refuse_others();
}

void read_preset(const toml::table& table, const std::string& file, ClusterPreset& into, Problems& problems) {
  TableReader reader(table, file, fmt::format("cluster \"{}\"", into.id), problems);
  reader.read("name", into.name);
  reader.read("node_type", into.node_type);
  reader.read("default_nodes", into.default_nodes, 1, most_count);
  if (const toml::table* fabric = reader.table("fabric")) read_fabric(*fabric, file, into.fabric, problems);
  reader.read("source", into.source);
  reader.refuse_others();
}

}  // namespace tandem
