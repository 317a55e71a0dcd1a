// Capacities: ports, meshes, oversubscription, and which links can bind.
#include <gtest/gtest.h>

#include <map>

#include "core/cluster/group_shape.h"
#include "tests/core/cluster/machines.h"

namespace tandem {
namespace {

std::map<std::string, Link> links_of(const Cluster& cluster) {
  std::map<std::string, Link> links;
  for (std::size_t i = 0; i < cluster.link_count(); ++i)
    links[cluster.link_name(LinkId(i))] = cluster[LinkId(i)];
  return links;
}

double rate(const Cluster& cluster, const std::string& link) {
  return links_of(cluster).at(link).capacity.value / 1e9;
}
bool binds(const Cluster& cluster, const std::string& link) { return links_of(cluster).at(link).can_bind; }

FabricSpec tree(FabricKind kind, int nodes_per_leaf, double oversubscription) {
  FabricSpec fabric = fabric_of(kind);
  fabric.nodes_per_leaf = nodes_per_leaf;
  fabric.oversubscription = oversubscription;
  return fabric;
}

TEST(Capacities, AreLineRateTimesEfficiency) {
  const Cluster cluster = cluster_of("dgx-h100:2");
  EXPECT_DOUBLE_EQ(rate(cluster, "node0.device3.nvlink4.up"), 450 * 0.82);
  EXPECT_DOUBLE_EQ(rate(cluster, "node1.port7.down"), 50 * 0.94);
}

TEST(Capacities, ManyPortsOfADeviceAreOneFatLink) {
  const Cluster cluster = cluster_of("p5:2");
  EXPECT_DOUBLE_EQ(rate(cluster, "node0.port3.up"), 4 * 12.5 * 0.93);
  EXPECT_DOUBLE_EQ(cluster.port_bandwidth_per_device(DeviceId(0)).value, 50e9);
  EXPECT_DOUBLE_EQ(cluster.port_bandwidth_per_node(NodeId(0)).value, 400e9);
}

TEST(Capacities, DevicesShareFewPorts) {
  const Cluster cluster = cluster_of("p4d:2");
  EXPECT_DOUBLE_EQ(rate(cluster, "node0.port3.up"), 12.5 * 0.85);
  EXPECT_DOUBLE_EQ(cluster.port_bandwidth_per_device(DeviceId(0)).value, 6.25e9);
}

TEST(Capacities, TheSharesOfPortsAreKnownOnEveryFabric) {
  FabricSpec torus = fabric_of(FabricKind::Torus);
  torus.torus = {4, 4};
  EXPECT_DOUBLE_EQ(build_cluster(spec_of("dgx-h100:2", torus)).port_bandwidth_per_device(DeviceId(0)).value,
                   50e9);
  EXPECT_DOUBLE_EQ(cluster_of("tpu-v4").port_bandwidth_per_device(DeviceId(0)).value, 0);
}

TEST(Capacities, AMeshDividesItsWires) {
  EXPECT_DOUBLE_EQ(rate(cluster_of("mi300x"), "node0.device0.xgmi-mi300x.to-device1"), 64 * 0.7);
  EXPECT_DOUBLE_EQ(rate(cluster_of("dgx-1v"), "node0.device0.nvlink2.to-device1"), 150.0 / 7 * 0.865);
}

TEST(Capacities, ATorusWireHasTheRateOfOneLink) {
  EXPECT_DOUBLE_EQ(rate(cluster_of("tpu-v5p"), "device5.dimension2-"), 100 * 0.85);
  EXPECT_DOUBLE_EQ(rate(cluster_of("trn2"), "node0.device5.neuronlink3.dimension1+"), 128 * 0.8);
}

TEST(Capacities, OversubscriptionDividesTheUpLinksOfALeaf) {
  const Cluster fat = build_cluster(spec_of("dgx-h100:8", tree(FabricKind::FatTree, 4, 2)));
  EXPECT_DOUBLE_EQ(rate(fat, "leaf1.up"), 4 * 8 * 50 * 0.94 / 2);
  EXPECT_DOUBLE_EQ(rate(fat, "leaf0.down"), 4 * 8 * 50 * 0.94 / 2);
  const Cluster rails = build_cluster(spec_of("dgx-h100:8", tree(FabricKind::RailOptimised, 4, 2)));
  EXPECT_DOUBLE_EQ(rate(rails, "unit1.rail7.up"), 4 * 50 * 0.94 / 2);
}

TEST(Capacities, OversubscriptionMultipliesOverTwoLevels) {
  FabricSpec fabric = tree(FabricKind::FatTree, 2, 2);
  fabric.levels = 3;
  fabric.leaves_per_pod = 2;
  fabric.pod_oversubscription = 3;
  const Cluster cluster = build_cluster(spec_of("dgx-h100:16", fabric));
  EXPECT_DOUBLE_EQ(rate(cluster, "pod2.up"), 4 * 8 * 50 * 0.94 / 6);
  EXPECT_TRUE(binds(cluster, "pod2.up"));
}

TEST(Binding, UpLinksWithoutOversubscriptionNeverBind) {
  EXPECT_FALSE(binds(build_cluster(spec_of("dgx-h100:8", tree(FabricKind::FatTree, 4, 1))), "leaf0.up"));
  EXPECT_FALSE(binds(build_cluster(spec_of("dgx-h100:8", tree(FabricKind::FatTree, 4, 0.5))), "leaf0.up"));
  EXPECT_TRUE(binds(build_cluster(spec_of("dgx-h100:8", tree(FabricKind::FatTree, 4, 1.01))), "leaf0.up"));
}

TEST(Binding, TheOnlyLeafNeverBinds) {
  EXPECT_FALSE(binds(build_cluster(spec_of("dgx-h100:4", tree(FabricKind::FatTree, 4, 8))), "leaf0.up"));
}

TEST(Binding, ALeafThatFewCanFillDoesNotBind) {
  // The up links of 8 nodes at 4:1 carry 2 nodes' worth, and the other leaf has only 2 nodes.
  const Cluster cluster = build_cluster(spec_of("dgx-h100:10", tree(FabricKind::FatTree, 8, 4)));
  EXPECT_FALSE(binds(cluster, "leaf0.up"));
  EXPECT_TRUE(binds(cluster, "leaf1.up"));
}

TEST(Binding, APodThatItsLeavesCannotFillDoesNotBind) {
  FabricSpec fabric = tree(FabricKind::FatTree, 2, 2);
  fabric.levels = 3;
  fabric.leaves_per_pod = 2;
  const Cluster cluster = build_cluster(spec_of("dgx-h100:16", fabric));
  EXPECT_TRUE(binds(cluster, "leaf0.up"));
  EXPECT_FALSE(binds(cluster, "pod0.up"));
}

TEST(Dragonfly, GivesTheWiresBetweenGroupsTheRateOfTheGroupsPorts) {
  FabricSpec fabric = fabric_of(FabricKind::Dragonfly);
  fabric.dragonfly_groups = 3;
  fabric.dragonfly_routers = 4;
  const Cluster cluster = build_cluster(spec_of("dgx-h100:12", fabric));
  // 4 nodes a group, 2 other groups, 2 cables to each.
  EXPECT_DOUBLE_EQ(rate(cluster, "group0.to-group2.cable1"), 4 * 8 * 50 * 0.94 / 2 / 2);
  EXPECT_DOUBLE_EQ(rate(cluster, "group1.router0.to-router3"), 2.0 * 8 * 50 * 0.94 / 4);
}

TEST(MixedClusters, KeepEachNodesOwnRates) {
  const Cluster cluster = cluster_of("dgx-a100:2+dgx-h100:2");
  EXPECT_EQ(cluster.kinds().size(), 2u);
  EXPECT_EQ(cluster.kind(DeviceId(15)).id, "a100-sxm4-80gb");
  EXPECT_EQ(cluster.kind(DeviceId(16)).id, "h100-sxm5-80gb");
  EXPECT_DOUBLE_EQ(rate(cluster, "node1.port0.up"), 25 * 0.92);
  EXPECT_DOUBLE_EQ(rate(cluster, "node2.port0.up"), 50 * 0.94);
  EXPECT_EQ(cluster.network().id, "ib-hdr");
}

TEST(SlowDevices, AreSlowAlone) {
  ClusterSpec spec = spec_of("dgx-h100:2", fabric_of(FabricKind::SingleSwitch));
  spec.slow_devices = {{.device = 9, .factor = 1.2}};
  const Cluster cluster = build_cluster(spec);
  EXPECT_DOUBLE_EQ(cluster[DeviceId(9)].slowdown, 1.2);
  EXPECT_DOUBLE_EQ(cluster[DeviceId(8)].slowdown, 1);
}

TEST(Sums, PriceIsThatOfAllDevices) {
  // 16 H100 between 1.99 and 5.00 USD an hour.
  EXPECT_DOUBLE_EQ(cluster_of("dgx-h100:2").usd_per_hour().value(), 16 * (1.99 + 5.0) / 2);
}

TEST(Sums, APriceThatIsNotKnownIsAbsent) {
  EXPECT_FALSE(cluster_of("gb200-nvl72").usd_per_hour().has_value());
  EXPECT_FALSE(cluster_of("dgx-h100:1+gb200-nvl72").usd_per_hour().has_value());
}

TEST(Sums, PowerIsThatOfAllDevicesOrAbsent) {
  EXPECT_DOUBLE_EQ(cluster_of("dgx-h100:2+dgx-a100:1").power().value().value, 16 * 700 + 8 * 400);
  EXPECT_FALSE(cluster_of("tpu-v5p").power().has_value());
}

GroupShape shape(const Cluster& cluster, std::initializer_list<std::size_t> members) {
  std::vector<DeviceId> ids;
  for (std::size_t member : members) ids.emplace_back(member);
  return shape_of(cluster, ids);
}

TEST(GroupShape, CountsNodesAndMembersANode) {
  const Cluster cluster = cluster_of("dgx-h100:4");
  EXPECT_EQ(shape(cluster, {0, 1, 2, 3}), (GroupShape{1, 4, 4, true}));
  EXPECT_EQ(shape(cluster, {0, 8, 16, 24}), (GroupShape{4, 1, 1, false}));
  EXPECT_EQ(shape(cluster, {9, 0, 1, 8, 2}), (GroupShape{2, 2, 3, false}));
  EXPECT_EQ(shape(cluster, {}), (GroupShape{0, 0, 0, true}));
}

TEST(GroupShape, ARackAndATorusPodAreOneDomain) {
  EXPECT_TRUE(shape(cluster_of("gb200-nvl72"), {0, 40, 71}).one_domain);
  EXPECT_TRUE(shape(cluster_of("tpu-v4"), {0, 40, 63}).one_domain);
}

TEST(LargeClusters, SixteenThousandDevicesBuildWithFewLinks) {
  const Cluster cluster = cluster_of("dgx-h100:2048");
  EXPECT_EQ(cluster.device_count(), 16384u);
  // Up and down, NVLink and port, for each device, and for each of 64 units x 8 rails.
  EXPECT_EQ(cluster.link_count(), 4u * 16384 + 2u * 64 * 8);
  check_cluster(cluster);
}

}  // namespace
}  // namespace tandem
