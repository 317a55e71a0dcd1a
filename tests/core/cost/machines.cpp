// Machines and costs for the tests of core/cost.
#include "tests/core/cost/machines.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>

namespace tandem::machines {

std::shared_ptr<const Calibration> calibration(const std::string& overlay) {
  if (overlay.empty()) return read_calibration(calibrations());
  const std::string file = fmt::format("{}/tandem-overlay-{}.toml", ::testing::TempDir(), ::getpid());
  std::ofstream(file) << overlay;
  auto read = read_calibration(calibrations(), file);
  std::remove(file.c_str());
  return read;
}

std::shared_ptr<const Calibration> benchmark(double collective_start_us) {
  return calibration(
      fmt::format("[environment]\nclock = \"boost\"\ncollective_start = \"{} us\"\nsource = \"test\"\n",
                  collective_start_us));
}

DeviceKind named(const std::string& id, double bf16_tflops, double memory_gbs, int units) {
  DeviceKind kind;
  kind.id = kind.name = id;
  kind.vendor = "Test";
  kind.peak = {{DType::Bf16, teraflops(bf16_tflops)}, {DType::Fp16, teraflops(bf16_tflops)}};
  kind.memory = gigabytes(80);
  kind.memory_bandwidth = gigabytes_per_second(memory_gbs);
  kind.compute_units = units;
  return kind;
}
DeviceKind a100() { return named("a100-sxm4-80gb", 312, 2039, 108); }
DeviceKind a100_40gb() { return named("a100-sxm4-40gb", 312, 1555, 108); }
DeviceKind h100() {
  DeviceKind kind = named("h100-sxm5-80gb", 989, 3350, 132);
  kind.peak[DType::Fp8] = teraflops(1979);
  kind.peak[DType::Fp32] = teraflops(67);
  return kind;
}
DeviceKind h800() {
  DeviceKind kind = h100();
  kind.id = "h800-sxm5-80gb";
  return kind;
}
DeviceKind b200() { return named("b200-sxm-180gb", 2250, 8000, 148); }
DeviceKind v100() {
  DeviceKind kind = named("v100-sxm2-32gb", 125, 900, 80);
  kind.peak = {{DType::Fp16, teraflops(125)}, {DType::Fp32, teraflops(15.7)}};
  return kind;
}

Cluster cluster(const DeviceKind& kind, const Wires& wires, int nodes, const FabricSpec& fabric) {
  NodeType type;
  type.id = type.name = "node";
  type.device = kind.id;
  type.devices = wires.per_node;
  type.wiring = wires.wiring;
  type.intra_link = wires.host_only ? "" : wires.intra;
  type.host_link = "pcie5-x16";
  type.network = fabric.kind == FabricKind::Torus ? "" : wires.network;
  type.ports = fabric.kind == FabricKind::Torus ? 0 : wires.per_node;
  if (wires.wiring == NodeType::Wiring::Torus && fabric.kind != FabricKind::Torus)
    type.torus = {4, wires.per_node / 4};
  LinkTechnology intra;
  intra.id = intra.name = wires.intra;
  intra.bandwidth = gigabytes_per_second(wires.intra_gbs);
  intra.latency = microseconds(1);
  intra.efficiency = wires.efficiency;
  LinkTechnology network = intra;
  network.id = network.name = wires.network;
  network.scope = LinkTechnology::Scope::InterNode;
  network.bandwidth = gigabytes_per_second(wires.node_gbs / wires.per_node);
  LinkTechnology host = intra;
  host.id = host.name = "pcie5-x16";
  host.scope = LinkTechnology::Scope::HostDevice;
  host.bandwidth = gigabytes_per_second(63);
  ClusterSpec spec;
  spec.name = "test";
  spec.groups = {{.type = type, .device = kind, .count = nodes}};
  spec.fabric = fabric;
  spec.technologies = {intra, network, host};
  return build_cluster(spec);
}
Cluster cluster(const DeviceKind& kind, const Wires& wires, int nodes) {
  return cluster(kind, wires, nodes, {});
}

std::vector<DeviceId> devices(std::size_t count, std::size_t first, std::size_t stride) {
  std::vector<DeviceId> list;
  for (std::size_t i = 0; i < count; ++i) list.emplace_back(first + i * stride);
  return list;
}

}  // namespace tandem::machines
