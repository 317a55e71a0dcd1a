// The machine of a row: the device's name, devices a node and the words about the network, against the catalog.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <regex>

#include "core/validate/run_case.h"

namespace tandem {
namespace {

struct Named {
  const char* part;    // of the lower-case printed name, the first that occurs decides
  const char* preset;  // of the catalog
  const char* device;  // "": the preset's own
};
constexpr Named machines[] = {
    {"gb300", "gb300-nvl72", ""},     {"gb200", "gb200-nvl72", ""},
    {"b300", "hgx-b300", ""},         {"b200", "dgx-b200", ""},
    {"h200", "dgx-h200", ""},         {"h100", "dgx-h100", ""},
    {"h800", "hgx-h800", ""},         {"h20", "hgx-h20", ""},
    {"a100-40", "dgx-a100-40gb", ""}, {"a100-pcie", "a100-pcie-80gb-server", ""},
    {"a100", "dgx-a100", ""},         {"a800", "dgx-a100", ""},
    {"v100", "dgx-1v", ""},           {"mi300x", "mi300x", ""},
    {"mi325x", "mi325x", ""},         {"mi355x", "mi355x", ""},
};

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

// "8x400Gb/s IB NDR per node", "1600Gb/s RoCE per node", "AWS EFAv2 3200Gb/s per node (p5)", "400Gb/s RDMA per
// GPU".
void read_network(const std::string& words, NodeType& node, const Catalog& catalog) {
  const auto use = [&](const std::string& network, int ports) {
    if (!catalog.links.contains(network) || ports <= 0) return;
    node.network = network;
    node.ports = ports;
  };
  const std::string text = lower(words);
  const auto has = [&](const char* part) { return text.find(part) != std::string::npos; };
  if (has("tcpxo")) return use("gcp-tcpxo", 8);
  if (has("tcpx")) return use("gcp-tcpx", 4);
  if (has("efav2")) return use("efa-v2", 32);
  if (has("efav3")) return use("efa-v3", 16);
  if (has("efa")) return use("efa-v1", 4);
  const bool ethernet = has("roce") || has("ethernet");
  std::smatch found;
  // What carries storage and management traffic stands beside, in the words of MLPerf submissions.
  std::string part = text;
  if (const auto compute = text.find("compute"); compute != std::string::npos) part = text.substr(compute);
  static const std::regex many(
      "(\\d+) ?x[^0-9]*(?:connectx-\\d+[^0-9]*)?(?:\\w*ndr|\\w*hdr|\\w*xdr|ib|[^0-9])*?(\\d+) ?gb/s");
  static const std::regex whole("(\\d+) ?gb(?:/s|ps)[^,;]*per node");
  int ports = 0, rate = 0;
  if (std::regex_search(part, found, many)) {
    ports = std::stoi(found[1]);
    rate = std::stoi(found[2]);
  } else if (std::regex_search(part, found, whole)) {
    const int total = std::stoi(found[1]);
    rate = total >= 8 * 400 ? 400 : total % 200 == 0 ? 200 : 100;
    ports = total / rate;
  }
  const std::string kind = ethernet ? "roce" : "ib";
  if (rate == 100) use(ethernet ? "roce-100" : "ib-edr", ports);
  if (rate == 200) use(ethernet ? "roce-200" : "ib-hdr", ports);
  if (rate == 400) use(ethernet ? "roce-400" : "ib-ndr", ports);
  if (rate == 800) use(ethernet ? "roce-800" : "ib-xdr", ports);
}

// Whether the all-reduce test that a job ran before training stayed below 400 GB/s: nccl-tests read more on an
// idle p5.
bool crowded(const RunRow& row) {
  static const std::regex test("network test AR/AG/RS GB/s ([0-9.]+)");
  std::smatch found;
  if (!std::regex_search(row.notes, found, test)) return false;
  return std::stod(found[1]) < 400;
}

}  // namespace

std::variant<ClusterSpec, Skip> row_cluster(const RunRow& row, const Catalog& catalog) {
  if (!row.num_gpus || *row.num_gpus == 0) return Skip{"number of devices is missing"};
  const std::string gpu = lower(row.gpu);
  const Named* named = std::find_if(std::begin(machines), std::end(machines),
                                    [&](const Named& m) { return gpu.find(m.part) != std::string::npos; });
  if (gpu.find("tpu") != std::string::npos) return Skip{"TPU: how the mesh lies on the torus is not stated"};
  if (named == std::end(machines) || !catalog.presets.contains(named->preset))
    return Skip{"device is not among the calibrated ones"};
  const ClusterPreset& preset = catalog.presets.at(named->preset);
  NodeType node = catalog.node_types.at(preset.node_type);
  DeviceKind device = catalog.devices.at(node.device);
  // torchtitan's H100 have 96 GB of HBM2e at 2.6 TB/s and 500 W, and reach four fifths of an SXM part's clock.
  if (gpu.find("500w") != std::string::npos) {
    device.memory = Bytes(96e9);
    device.memory_bandwidth = Bandwidth(2.6e12);
    for (auto& [dtype, rate] : device.peak) rate *= 0.8;
  }
  read_network(row.inter_node_net, node, catalog);
  if (crowded(row) && catalog.links.contains(node.network + "-shared")) node.network += "-shared";

  const std::int64_t devices = *row.num_gpus;
  std::int64_t per_node = node.devices;
  if (node.devices == 72)
    per_node = 64;  // a rack's NVLink domain; jobs take 64 of its 72 devices so that degrees divide
  else if (row.gpus_per_node && *row.gpus_per_node > 0)
    per_node = *row.gpus_per_node;
  const std::int64_t whole = node.devices;
  per_node = std::min(per_node, devices);
  if (devices % per_node != 0) return Skip{"devices do not fill their nodes"};
  if (per_node > 8 && node.devices == 8)
    node.wiring = NodeType::Wiring::Switched;  // DGX-2: 16 V100 behind switches
  // A part of a rack keeps its share of the ports; words about the network are of a tray.
  if (node.ports > 0 && whole == 72) {
    const bool told = node.ports < whole && row.gpus_per_node && *row.gpus_per_node > 0;
    const std::int64_t of = told ? *row.gpus_per_node : whole;
    node.ports = static_cast<int>(std::max<std::int64_t>(1, node.ports * per_node / of));
  }
  if (node.ports > 0 && per_node > node.ports && per_node % node.ports != 0) node.ports = 1;
  node.devices = static_cast<int>(per_node);

  ClusterSpec cluster;
  cluster.name = fmt::format("{}:{}", named->preset, devices / per_node);
  cluster.groups.push_back({.type = node, .device = device, .count = static_cast<int>(devices / per_node)});
  cluster.fabric = preset.fabric;
  for (const std::string& link : {node.intra_link, node.network, node.host_link})
    if (!link.empty() && catalog.links.contains(link)) cluster.technologies.push_back(catalog.links.at(link));
  return cluster;
}

}  // namespace tandem
