// Machines and costs for the tests of core/cost: built here, so that no catalog is needed.
#pragma once
#include <numeric>
#include <string>
#include <vector>

#include "core/cost/calibration.h"
#include "core/cost/cost_model.h"

namespace tandem::machines {

inline std::string calibrations() { return TANDEM_SOURCE_DIR "/scenarios/calibrations"; }

// A computation of one kernel and one launch.
inline Compute work(decltype(Compute::kernel) kernel) {
  Compute compute;
  compute.kernel = kernel;
  return compute;
}

// The shipped calibration with lines laid over it ("" : none).
std::shared_ptr<const Calibration> calibration(const std::string& overlay = "");
// Constants of short benchmarks, and the start of a collective as a source measured it.
std::shared_ptr<const Calibration> benchmark(double collective_start_us = 5);

DeviceKind a100();
DeviceKind a100_40gb();
DeviceKind h100();
DeviceKind h800();
DeviceKind b200();
DeviceKind v100();
DeviceKind named(const std::string& id, double bf16_tflops, double memory_gbs, int units);

struct Wires {
  std::string intra = "nvlink4";
  double intra_gbs = 450;
  std::string network = "ib-ndr";
  double node_gbs = 400;  // of all ports, one direction
  int per_node = 8;
  NodeType::Wiring wiring = NodeType::Wiring::Switched;
  double efficiency = 1;   // of the wires: 1 lets the calibration alone decide
  bool host_only = false;  // no intra link: over PCIe
};
Cluster cluster(const DeviceKind&, const Wires&, int nodes);
Cluster cluster(const DeviceKind&, const Wires&, int nodes, const FabricSpec&);

std::vector<DeviceId> devices(std::size_t count, std::size_t first = 0, std::size_t stride = 1);

}  // namespace tandem::machines
