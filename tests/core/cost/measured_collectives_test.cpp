// Predicted against published collective times from 1 MiB: medians by link and network stay where the fits left
// them.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/core/cost/machines.h"
#include "tests/core/cost/measurements.h"

namespace tandem {
namespace {

using machines::Wires;
using measurements::Deviations;
using measurements::Row;

struct Case {
  std::string name;
  std::string collective;
  std::vector<std::string> gpus;  // any of these in the row's gpu
  std::vector<std::string> not_gpus;
  std::string net;  // in the row's net, or source for clouds
  int nodes;
  Wires wires;
  double median_limit;  // percent: the study's median with the start of the source's class, and a margin
};

const Wires nvlink2{.intra = "nvlink2", .intra_gbs = 150};
const Wires nvlink3{.intra = "nvlink3", .intra_gbs = 300};
const Wires nvlink4{};
const Wires nvlink5{.intra = "nvlink5", .intra_gbs = 900};
Wires over(Wires wires, const std::string& network, double node_gbs) {
  wires.network = network;
  wires.node_gbs = node_gbs;
  return wires;
}

std::vector<Case> cases() {
  const Wires mi355x{.intra = "xgmi-mi355x", .intra_gbs = 535.5, .wiring = NodeType::Wiring::Mesh};
  return {
      {"NVLink 2", "all_reduce", {"V100"}, {}, "NVLink", 1, nvlink2, 5},
      {"NVLink 3", "all_reduce", {"A100", "not stated"}, {"4-GPU"}, "", 1, nvlink3, 8.5},
      {"NVLink 4", "all_reduce", {"H100", "H200", "8-GPU NVSwitch"}, {"4-GPU", "A100"}, "", 1, nvlink4, 4.5},
      {"NVLink 4", "all_gather", {"H100"}, {"4-GPU", "A100"}, "NVLink4", 1, nvlink4, 3},
      {"NVLink 5", "all_reduce", {"B200"}, {"GB200"}, "", 1, nvlink5, 8},
      {"MI355X", "all_reduce", {"MI355X"}, {}, "", 1, mi355x, 4},
      {"NVLink 3 + RoCE", "all_reduce", {"A100-40GB"}, {}, "16x100", 2, over(nvlink3, "roce-100", 200), 6},
      {"NVLink 4 + NDR", "all_reduce", {"Nebius"}, {}, "NDR", 2, nvlink4, 7},
      {"NVLink 4 + EFA v2", "all_reduce", {"p5.48xlarge"}, {}, "EFAv2", 2, over(nvlink4, "efa-v2", 400), 8},
      {"NVLink 4 + A3 Ultra", "all_gather", {"A3 Ultra"}, {}, "", 2, over(nvlink4, "gcp-gib", 400), 4},
      {"NVLink 4 + TCPXO", "all_gather", {"A3 Mega"}, {}, "", 2, over(nvlink4, "gcp-tcpxo", 200), 4},
      {"NVLink 4 + TCPX", "all_gather", {"A3 High"}, {}, "", 2, over(nvlink4, "gcp-tcpx", 100), 7},
      {"NVLink 5 + NDR", "all_reduce", {"Lambda"}, {}, "", 2, nvlink5, 11},
      {"NVLink 5 + EFA v4", "all_reduce", {"p6-b200"}, {}, "", 4, over(nvlink5, "efa-v4-b200", 400), 8}};
}

// What each way of measuring adds to the wire, in microseconds.
double start_of(const Row& row) {
  if (row.contains("source", "Vidur")) return 5;  // kernels only
  for (const char* python : {"ml-eng", "Aceso", "vTrain", "Galva", "nnSc", "BigSc", "playbook"})
    if (row.contains("source", python)) return 25;
  return 12;  // nccl-tests
}

bool belongs(const Row& row, const Case& c) {
  const auto named = [&](const std::string& part) { return row.contains("gpu", part); };
  return row["collective"] == c.collective && row.number("nodes") == c.nodes &&
         row.number("bytes") >= 1048576 && std::any_of(c.gpus.begin(), c.gpus.end(), named) &&
         std::none_of(c.not_gpus.begin(), c.not_gpus.end(), named) && row.contains("net", c.net) &&
         row.number("gpus_per_node") <= 8 && !row.contains("source", "K8s") &&
         !row.contains("source", "BigScience") && !row.contains("source", "playbook");
}

TEST(MeasuredCollectives, ArePredictedAsWellAsTheFitSays) {
  const std::vector<Row> rows = measurements::read("collectives.csv");
  if (rows.empty())
    GTEST_SKIP() << "published measurements (../shared/data/measurements/collectives.csv) are absent";
  std::map<double, std::shared_ptr<const Calibration>> calibrations;
  for (double start : {5.0, 12.0, 25.0}) calibrations[start] = machines::benchmark(start);
  Deviations all;
  for (const Case& c : cases()) {
    const Cluster machine = machines::cluster(machines::h100(), c.wires, c.nodes);
    Deviations deviations;
    for (const Row& row : rows) {
      if (!belongs(row, c)) continue;
      const CostModel costs(calibrations.at(start_of(row)), "megatron", machine);
      const Collective work{
          .kind = *parse_collective_kind(c.collective),
          .size = Bytes(row.number("bytes")),
          .algorithm = row.contains("net", "NVLS disabled") ? Algorithm::Ring : Algorithm::Auto};
      std::vector<DeviceId> members;
      for (std::size_t node = 0; node < static_cast<std::size_t>(c.nodes); ++node)
        for (std::size_t local = 0; local < static_cast<std::size_t>(row.number("gpus_per_node")); ++local)
          members.emplace_back(8 * node + local);
      const CommunicationCost cost = costs.collective(work, members);
      deviations.add((cost.latency + cost.transfer).value * 1e6, row.number("time_us"));
      all.add((cost.latency + cost.transfer).value * 1e6, row.number("time_us"));
    }
    measurements::print(c.name + " " + c.collective, deviations);
    EXPECT_LE(deviations.median(), c.median_limit) << c.name;
  }
  measurements::print("all of these", all);
  EXPECT_LE(all.median(), 6);
}

}  // namespace
}  // namespace tandem
