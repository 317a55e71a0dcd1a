// Routes of every fabric, by hand on small machines.
#include <gmock/gmock.h>

#include <algorithm>

#include "tests/core/cluster/machines.h"

namespace tandem {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

FabricSpec rails(int nodes_per_leaf, double oversubscription) {
  FabricSpec fabric = fabric_of(FabricKind::RailOptimised);
  fabric.nodes_per_leaf = nodes_per_leaf;
  fabric.oversubscription = oversubscription;
  return fabric;
}

FabricSpec leaves(int nodes_per_leaf, double oversubscription) {
  FabricSpec fabric = rails(nodes_per_leaf, oversubscription);
  fabric.kind = FabricKind::FatTree;
  return fabric;
}

FabricSpec dragonfly(int groups, int routers) {
  FabricSpec fabric = fabric_of(FabricKind::Dragonfly);
  fabric.dragonfly_groups = groups;
  fabric.dragonfly_routers = routers;
  return fabric;
}

FabricSpec torus(std::vector<int> sizes) {
  FabricSpec fabric = fabric_of(FabricKind::Torus);
  fabric.torus = std::move(sizes);
  return fabric;
}

TEST(Routes, ADeviceReachesItselfOverNothing) { EXPECT_EQ(route(cluster_of("dgx-h100"), 3, 3), ""); }

TEST(Routes, DevicesBehindASwitchUseTheirUpAndDownWires) {
  EXPECT_EQ(route(cluster_of("dgx-h100"), 1, 6), "node0.device1.nvlink4.up node0.device6.nvlink4.down");
}

TEST(Routes, DevicesOfAMeshUseOneWire) {
  EXPECT_EQ(route(cluster_of("mi300x"), 1, 6), "node0.device1.xgmi-mi300x.to-device6");
}

TEST(Routes, PcieCardsMeetOverTheHostsBus) {
  EXPECT_EQ(route(cluster_of("l40s"), 0, 7), "node0.device0.pcie4-x16.up node0.device7.pcie4-x16.down");
}

TEST(Routes, ATorusNodeWalksOneDimensionAfterTheOther) {
  // Device 1 is (1, 0) and device 6 (2, 1) of 4 x 4.
  EXPECT_EQ(route(cluster_of("trn2"), 1, 6),
            "node0.device1.neuronlink3.dimension0+ node0.device2.neuronlink3.dimension1+");
}

TEST(Routes, OneSwitchAddsNothingToThePorts) {
  const Cluster cluster = build_cluster(spec_of("dgx-h100:4", fabric_of(FabricKind::SingleSwitch)));
  EXPECT_EQ(route(cluster, device(0, 3), device(2, 5)), "node0.port3.up node2.port5.down");
}

TEST(Routes, ARailInsideAUnitCrossesTwoPortsOnly) {
  const Cluster cluster = build_cluster(spec_of("dgx-h100:16", rails(8, 4)));
  EXPECT_EQ(route(cluster, device(0, 3), device(5, 3)), "node0.port3.up node5.port3.down");
}

TEST(Routes, RailsInsideAUnitMeetAtTheSpine) {
  const Cluster cluster = build_cluster(spec_of("dgx-h100:16", rails(8, 4)));
  EXPECT_EQ(route(cluster, device(0, 3), device(5, 4)),
            "node0.port3.up unit0.rail3.up unit0.rail4.down node5.port4.down");
}

TEST(Routes, UnitsMeetAtTheSpine) {
  const Cluster cluster = build_cluster(spec_of("dgx-h100:16", rails(8, 4)));
  EXPECT_EQ(route(cluster, device(0, 3), device(9, 3)),
            "node0.port3.up unit0.rail3.up unit1.rail3.down node9.port3.down");
}

TEST(Routes, WiresThatCannotBindAreLeftOut) {
  const Cluster cluster = build_cluster(spec_of("dgx-h100:16", rails(8, 1)));
  EXPECT_EQ(route(cluster, device(0, 3), device(9, 4)), "node0.port3.up node9.port4.down");
}

TEST(Routes, AFatTreeClimbsOnlyBetweenLeaves) {
  const Cluster cluster = build_cluster(spec_of("dgx-h100:16", leaves(4, 2)));
  EXPECT_EQ(route(cluster, device(0, 0), device(3, 7)), "node0.port0.up node3.port7.down");
  EXPECT_EQ(route(cluster, device(0, 0), device(4, 7)), "node0.port0.up leaf0.up leaf1.down node4.port7.down");
}

TEST(Routes, ThreeLevelsClimbToTheCoreBetweenPods) {
  FabricSpec fabric = leaves(2, 2);
  fabric.levels = 3;
  fabric.leaves_per_pod = 2;
  fabric.pod_oversubscription = 2;
  const Cluster cluster = build_cluster(spec_of("dgx-h100:16", fabric));
  EXPECT_EQ(route(cluster, device(0, 0), device(3, 0)), "node0.port0.up leaf0.up leaf1.down node3.port0.down");
  EXPECT_EQ(route(cluster, device(0, 0), device(15, 0)),
            "node0.port0.up leaf0.up pod0.up pod3.down leaf7.down node15.port0.down");
}

TEST(Routes, DevicesShareAPortWhereThereAreFewer) {
  const Cluster cluster = cluster_of("p4d:2");
  EXPECT_EQ(route(cluster, device(0, 5), device(1, 1)), "node0.port2.up node1.port0.down");
}

TEST(Routes, ADragonflyGoesLocalGlobalLocal) {
  // 3 groups of 4 routers, 1 node a router; two cables between any two groups. Router 0 of a group holds cable
  // 0 to the next group, router 1 cable 0 to the one after, routers 2 and 3 the second cables.
  const Cluster cluster = build_cluster(spec_of("dgx-h100:12", dragonfly(3, 4)));
  EXPECT_EQ(route(cluster, device(0, 0), device(2, 0)),
            "node0.port0.up group0.router0.to-router2 node2.port0.down");
  EXPECT_EQ(route(cluster, device(0, 0), device(5, 0)),
            "node0.port0.up group0.to-group1.cable0 node5.port0.down");
  EXPECT_EQ(route(cluster, device(1, 0), device(4, 0)),
            "node1.port0.up group0.router1.to-router0 group0.to-group1.cable0 group1.router1.to-router0 "
            "node4.port0.down");
}

TEST(Routes, ATorusPodIsWalkedTheShorterWayRound) {
  const Cluster cluster = build_cluster(spec_of("tpu-v4:16", torus({4, 4, 4})));
  EXPECT_EQ(route(cluster, 0, 3), "device0.dimension0-");
  EXPECT_EQ(route(cluster, 0, 4), "device0.dimension1+");
  EXPECT_EQ(route(cluster, 0, 21), "device0.dimension0+ device1.dimension1+ device5.dimension2+");
}

TEST(Routes, HalfwayRoundATorusEvenPlacesGoForwardsOddOnesBackwards) {
  const Cluster cluster = build_cluster(spec_of("tpu-v4:16", torus({4, 4, 4})));
  EXPECT_EQ(route(cluster, 0, 2), "device0.dimension0+ device1.dimension0+");
  EXPECT_EQ(route(cluster, 1, 3), "device1.dimension0- device0.dimension0-");
}

TEST(Routes, AListOfLinksIsCrossedByTheFewestWiresTheSameBothWays) {
  FabricSpec fabric = fabric_of(FabricKind::LinkList);
  const auto wire = [](std::string from, std::string to) {
    return FabricSpec::WireSpec{std::move(from), std::move(to), gigabytes_per_second(10), microseconds(1)};
  };
  fabric.links = {wire("node0", "west"), wire("node1", "west"), wire("node2", "east"),
                  wire("west", "east"),  wire("west", "north"), wire("north", "east")};
  const Cluster cluster = build_cluster(spec_of("dgx-h100:3", fabric));
  EXPECT_EQ(route(cluster, device(0, 1), device(2, 1)),
            "node0.port1.up node0.to-west west.to-east east.to-node2 node2.port1.down");
  EXPECT_EQ(route(cluster, device(2, 1), device(0, 1)),
            "node2.port1.up node2.to-east east.to-west west.to-node0 node0.port1.down");
  // 3 wires of 1 us and the two switches between them.
  EXPECT_DOUBLE_EQ(cluster.latency(DeviceId(device(0, 1)), DeviceId(device(2, 1))).value, 3e-6 + 2 * 200e-9);
}

TEST(Routes, NodesWithoutPortsSendStraightIntoTheirWires) {
  FabricSpec fabric = fabric_of(FabricKind::LinkList);
  fabric.links = {{"node0", "node1", gigabytes_per_second(10), {}},
                  {"node1", "node2", gigabytes_per_second(10), {}}};
  ClusterSpec spec = spec_of("dgx-h100:3", fabric);
  spec.groups[0].type.ports = 0;
  EXPECT_EQ(route(build_cluster(spec), device(0, 0), device(2, 0)), "node0.to-node1 node1.to-node2");
}

TEST(Latency, CountsTheSwitchesOnTheWay) {
  const Cluster cluster = build_cluster(spec_of("dgx-h100:16", rails(8, 1)));
  EXPECT_DOUBLE_EQ(cluster.latency(DeviceId(0), DeviceId(1)).value, 0.94e-6);
  EXPECT_DOUBLE_EQ(cluster.latency(DeviceId(0), DeviceId(8)).value, 1.5e-6 + 200e-9);
  EXPECT_DOUBLE_EQ(cluster.latency(DeviceId(0), DeviceId(9)).value, 1.5e-6 + 3 * 200e-9);
}

TEST(Latency, OfATorusIsOneAWire) {
  const Cluster cluster = build_cluster(spec_of("tpu-v4:16", torus({4, 4, 4})));
  EXPECT_DOUBLE_EQ(cluster.latency(DeviceId(0), DeviceId(42)).value, 6e-6);
}

// One small machine of every fabric and every way that devices of a node meet.
std::vector<std::pair<std::string, FabricSpec>> small_machines() {
  FabricSpec three = rails(2, 2);
  three.levels = 3;
  three.leaves_per_pod = 2;
  three.pod_oversubscription = 3;
  FabricSpec list = fabric_of(FabricKind::LinkList);
  for (int n = 0; n < 4; ++n) {
    list.links.push_back(
        {"node" + std::to_string(n), "node" + std::to_string((n + 1) % 4), gigabytes_per_second(20), {}});
  }
  return {{"dgx-h100:5", fabric_of(FabricKind::SingleSwitch)},
          {"mi300x:5", leaves(2, 3)},
          {"p4d:5", leaves(2, 0.5)},
          {"dgx-h100:5", rails(2, 2)},
          {"dgx-h100:9", three},
          {"p4d:2+dgx-h100:3", rails(2, 2)},
          {"dgx-1v:7", dragonfly(3, 4)},
          {"dgx-h100:6", dragonfly(6, 2)},
          {"dgx-h100:5", dragonfly(1, 3)},
          {"tpu-v4:6", torus({2, 3, 4})},
          {"tpu-v5e:5", torus({5, 4})},
          {"dgx-h100:3", torus({6, 4})},
          {"l40s:3", torus({3, 8})},
          {"trn2:4", list},
          {"l40s:4", list}};
}

TEST(EveryFabric, KeepsTheInvariantsOfAClusterOnAllPairs) {
  for (const auto& [text, fabric] : small_machines()) {
    SCOPED_TRACE(text + " " + std::string(name(fabric.kind)));
    const Cluster cluster = build_cluster(spec_of(text, fabric));
    check_cluster(cluster);
    for (std::size_t a = 0; a < cluster.device_count(); ++a) {
      for (std::size_t b = 0; b < cluster.device_count(); ++b) {
        ASSERT_EQ(route(cluster, a, b).empty(), a == b) << a << " to " << b;
      }
    }
  }
}

TEST(EveryFabric, NamesEachLinkDifferently) {
  for (const auto& [text, fabric] : small_machines()) {
    const Cluster cluster = build_cluster(spec_of(text, fabric));
    std::vector<std::string> names;
    for (std::size_t i = 0; i < cluster.link_count(); ++i) names.push_back(cluster.link_name(LinkId(i)));
    std::sort(names.begin(), names.end());
    EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end()) << text << " " << name(fabric.kind);
  }
}

TEST(TreeFabrics, AreMirroredBothWays) {
  for (const auto& [text, fabric] : small_machines()) {
    if (fabric.kind != FabricKind::FatTree && fabric.kind != FabricKind::RailOptimised) continue;
    const Cluster cluster = build_cluster(spec_of(text, fabric));
    for (std::size_t a = 0; a < cluster.device_count(); a += 3) {
      for (std::size_t b = a + 1; b < cluster.device_count(); ++b) {
        std::vector<LinkId> there, back;
        cluster.append_route(DeviceId(a), DeviceId(b), there);
        cluster.append_route(DeviceId(b), DeviceId(a), back);
        EXPECT_EQ(there.size(), back.size());
        EXPECT_EQ(cluster.latency(DeviceId(a), DeviceId(b)), cluster.latency(DeviceId(b), DeviceId(a)));
      }
    }
  }
}

// A small generator so that the groups are the same everywhere.
struct Draw {
  std::uint64_t state = 20260901;
  std::size_t below(std::size_t n) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<std::size_t>(state >> 33) % n;
  }
};

std::vector<double> loads_by_pairs(const Cluster& cluster, const std::vector<DeviceId>& members) {
  std::vector<double> loads(cluster.link_count(), 0.0);
  std::vector<LinkId> links;
  for (DeviceId from : members) {
    for (DeviceId to : members) {
      links.clear();
      cluster.append_route(from, to, links);
      for (LinkId link : links) loads[link.value] += 1 / static_cast<double>(members.size());
    }
  }
  return loads;
}

TEST(AllToAllLoads, AreTheSumOverAllPairsOnRandomGroups) {
  Draw draw;
  for (const auto& [text, fabric] : small_machines()) {
    const Cluster cluster = build_cluster(spec_of(text, fabric));
    for (int trial = 0; trial < 12; ++trial) {
      std::vector<DeviceId> members;
      for (std::size_t d = 0; d < cluster.device_count(); ++d) members.emplace_back(d);
      const std::size_t size = 1 + draw.below(members.size());
      for (std::size_t i = 0; i < size; ++i) std::swap(members[i], members[i + draw.below(members.size() - i)]);
      members.resize(size);
      const std::vector<double> expected = loads_by_pairs(cluster, members);
      std::vector<double> found(cluster.link_count(), 0.0);
      for (const LinkLoad& load : cluster.all_to_all_loads(members)) {
        EXPECT_EQ(found[load.link.value], 0) << "a link is listed twice";
        found[load.link.value] = load.share;
      }
      for (std::size_t i = 0; i < expected.size(); ++i) {
        ASSERT_NEAR(found[i], expected[i], 1e-9)
            << text << " " << name(fabric.kind) << " " << cluster.link_name(LinkId(i));
      }
    }
  }
}

}  // namespace
}  // namespace tandem
