// Times of collectives against the vectors of the cost study (0.5 %), with the start of each source.
#include <gtest/gtest.h>

#include "tests/core/cost/machines.h"

namespace tandem {
namespace {

using machines::cluster;
using machines::devices;
using machines::Wires;

double us(const Cluster& machine, double start, CollectiveKind kind, double bytes, std::size_t ranks) {
  const CostModel costs(machines::benchmark(start), "megatron", machine);
  const CommunicationCost cost = costs.collective({.kind = kind, .size = Bytes(bytes)}, devices(ranks));
  return (cost.latency + cost.transfer).value * 1e6;
}
double message_us(const Cluster& machine, double start, double bytes, std::size_t to) {
  const CostModel costs(machines::benchmark(start), "megatron", machine);
  const CommunicationCost cost = costs.message(Bytes(bytes), DeviceId(0), DeviceId(to));
  return (cost.latency + cost.transfer).value * 1e6;
}
void expect_near(double time, double expected) { EXPECT_NEAR(time, expected, 0.005 * expected); }

constexpr double KiB = 1024, MiB = 1048576, GiB = 1073741824;
const Wires nvlink3{.intra = "nvlink3", .intra_gbs = 300};
const Wires nvlink4{};
const Wires nvlink5{.intra = "nvlink5", .intra_gbs = 900};

TEST(CollectiveTime, OfNvlink3MeetsTheVectors) {
  const Cluster node = cluster(machines::a100(), nvlink3, 1);
  expect_near(us(node, 24, CollectiveKind::AllReduce, 64 * MiB, 8), 581.9);
  expect_near(us(node, 24, CollectiveKind::AllReduce, KiB, 8), 39.2);
  expect_near(us(node, 24, CollectiveKind::AllToAll, 256 * MiB, 8), 1141.4);
  expect_near(us(node, 24, CollectiveKind::ReduceScatter, 256 * MiB, 8), 1083.8);
}
TEST(CollectiveTime, OfNvlink4MeetsTheVectors) {
  const Cluster node = cluster(machines::h100(), nvlink4, 1);
  expect_near(us(node, 12, CollectiveKind::AllReduce, GiB, 8), 4029.0);
  expect_near(us(node, 12, CollectiveKind::AllReduce, 8 * MiB, 8), 95.7);
  expect_near(us(node, 12, CollectiveKind::AllReduce, GiB, 4), 4459.5);
  expect_near(us(node, 12, CollectiveKind::AllGather, 256 * MiB, 8), 716.4);
}
TEST(CollectiveTime, OfNvlink5MeetsTheVector) {
  expect_near(us(cluster(machines::b200(), nvlink5, 1), 12, CollectiveKind::AllReduce, 8 * GiB, 8), 18251.8);
}
TEST(CollectiveTime, OfTwoNodesOverNdrMeetsTheVectors) {
  const Cluster h100 = cluster(machines::h100(), nvlink4, 2);
  expect_near(us(h100, 3, CollectiveKind::AllReduce, GiB, 16), 4455.9);
  expect_near(us(h100, 3, CollectiveKind::AllReduce, KiB, 16), 32.3);
  expect_near(us(cluster(machines::b200(), nvlink5, 2), 10, CollectiveKind::AllReduce, 2 * GiB, 16), 5980.8);
}
TEST(CollectiveTime, OfCloudNetworksMeetsTheVectors) {
  Wires efa = nvlink4;
  efa.network = "efa-v3";
  expect_near(us(cluster(machines::h100(), efa, 16), 12, CollectiveKind::AllReduce, 16 * GiB, 128), 93273.3);
  Wires gib = nvlink4;
  gib.network = "gcp-gib";
  expect_near(us(cluster(machines::h100(), gib, 2), 18, CollectiveKind::AllGather, 4 * GiB, 16), 12309.6);
}
TEST(CollectiveTime, OfTheHybridCubeOfV100MeetsTheVector) {
  const Cluster node = cluster(machines::v100(), {.intra = "nvlink2", .intra_gbs = 150}, 1);
  expect_near(us(node, 23, CollectiveKind::AllReduce, 256 * MiB, 4), 4761.2);
}
TEST(MessageTime, MeetsTheVectors) {
  expect_near(message_us(cluster(machines::h100(), nvlink4, 1), 5, 16 * MiB, 1), 57.6);
  const Cluster pairs =
      cluster(machines::h100(), {.network = "single-flow-400g", .node_gbs = 50, .per_node = 1}, 2);
  expect_near(message_us(pairs, 5, 64 * MiB, 1), 1859.0);
}

}  // namespace
}  // namespace tandem
