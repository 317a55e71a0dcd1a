// Specs that cannot be built are named problems, never crashes.
#include <gmock/gmock.h>

#include <limits>

#include "tests/core/cluster/machines.h"

namespace tandem {
namespace {

using ::testing::HasSubstr;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

ClusterSpec good() { return spec_of("dgx-h100:4", fabric_of(FabricKind::SingleSwitch)); }

// The problems after one change of a good spec.
template <class Change>
std::string after(Change change) {
  ClusterSpec spec = good();
  change(spec);
  return problems_of([&] { build_cluster(spec); });
}

TEST(BadSpecs, TheGoodOneIsGood) {
  EXPECT_EQ(after([](ClusterSpec&) {}), "");
}

TEST(BadSpecs, NoNodes) {
  EXPECT_THAT(after([](ClusterSpec& spec) { spec.groups.clear(); }), HasSubstr("no nodes"));
  EXPECT_THAT(after([](ClusterSpec& spec) { spec.groups[0].count = 0; }), HasSubstr("at least 1"));
  EXPECT_THAT(after([](ClusterSpec& spec) { spec.groups[0].count = -7; }), HasSubstr("at least 1"));
  EXPECT_THAT(after([](ClusterSpec& spec) { spec.groups[0].type.devices = 0; }), HasSubstr("at least 1"));
}

TEST(BadSpecs, ABillionDevices) {
  EXPECT_THAT(after([](ClusterSpec& spec) { spec.groups[0].count = 1'000'000'000; }),
              HasSubstr("more than 1048576"));
  EXPECT_THAT(after([](ClusterSpec& spec) { spec.groups[0].count = std::numeric_limits<int>::max(); }),
              HasSubstr("more than 1048576"));
  EXPECT_THAT(after([](ClusterSpec& spec) { spec.groups[0].type.devices = std::numeric_limits<int>::max(); }),
              HasSubstr("more than 1048576"));
}

TEST(BadSpecs, AMeshOfTooManyWires) {
  EXPECT_THAT(after([](ClusterSpec& spec) {
                spec.groups[0].type.devices = 200'000;
                spec.groups[0].type.wiring = NodeType::Wiring::Mesh;
              }),
              HasSubstr("links inside its nodes"));
}

TEST(BadSpecs, RatesThatAreNoRates) {
  for (double value : {0.0, -1.0, nan, infinity, 1e30}) {
    SCOPED_TRACE(value);
    EXPECT_NE(after([&](ClusterSpec& spec) { spec.groups[0].device.memory = Bytes(value); }), "");
    EXPECT_NE(after([&](ClusterSpec& spec) { spec.groups[0].device.memory_bandwidth = Bandwidth(value); }), "");
    EXPECT_NE(after([&](ClusterSpec& spec) { spec.groups[0].device.peak[DType::Bf16] = ComputeRate(value); }),
              "");
    EXPECT_NE(after([&](ClusterSpec& spec) { spec.technologies[0].bandwidth = Bandwidth(value); }), "");
    EXPECT_NE(after([&](ClusterSpec& spec) { spec.technologies[1].efficiency = value; }), "");
    EXPECT_NE(after([&](ClusterSpec& spec) { spec.fabric.oversubscription = value; }), "");
    EXPECT_NE(after([&](ClusterSpec& spec) { spec.slow_devices = {{.device = 0, .factor = value}}; }), "");
  }
  for (double value : {-1.0, nan, infinity, 1e30}) {
    EXPECT_NE(after([&](ClusterSpec& spec) { spec.technologies[1].latency = Seconds(value); }), "");
    EXPECT_NE(after([&](ClusterSpec& spec) { spec.groups[0].device.power = Power(value); }), "");
  }
}

TEST(BadSpecs, ReferencesToNothing) {
  EXPECT_THAT(after([](ClusterSpec& spec) { spec.groups[0].type.network = "ib-nrd"; }),
              HasSubstr("did you mean \"ib-ndr\"?"));
  EXPECT_THAT(after([](ClusterSpec& spec) { spec.slow_devices = {{.device = 32, .factor = 2}}; }),
              HasSubstr("slow device 32 does not exist"));
}

TEST(BadSpecs, NodesThatCannotMeet) {
  EXPECT_THAT(after([](ClusterSpec& spec) { spec.groups[0].type.ports = 0; }), HasSubstr("has no ports"));
  EXPECT_THAT(after([](ClusterSpec& spec) {
                spec.groups[0].count = 1;
                spec.groups[0].type.ports = 0;
                spec.groups[0].type.intra_link.clear();
                spec.groups[0].type.host_link.clear();
              }),
              HasSubstr("no way to meet"));
}

TEST(BadSpecs, ATorusThatHoldsOtherNumbersOfDevices) {
  for (std::vector<int> sizes : {std::vector<int>{}, {32, 0}, {-4, -8}, {4, 4}, {4, 4, 4}, {65536, 65536}}) {
    EXPECT_THAT(after([&](ClusterSpec& spec) {
                  spec.fabric = fabric_of(FabricKind::Torus);
                  spec.fabric.torus = sizes;
                }),
                HasSubstr("the cluster has 32"));
  }
}

TEST(BadSpecs, ATorusNodeThatHoldsOtherNumbersOfDevices) {
  EXPECT_THAT(after([](ClusterSpec& spec) {
                spec.groups[0].type.wiring = NodeType::Wiring::Torus;
                spec.groups[0].type.torus = {3, 3};
              }),
              HasSubstr("its torus holds 9 devices, the node 8"));
}

TEST(BadSpecs, TreesAndDragonfliesOfWrongSizes) {
  for (int size : {0, -1}) {
    for (FabricKind kind : {FabricKind::FatTree, FabricKind::RailOptimised}) {
      EXPECT_THAT(after([&](ClusterSpec& spec) {
                    spec.fabric = fabric_of(kind);
                    spec.fabric.nodes_per_leaf = size;
                  }),
                  HasSubstr("nodes_per_leaf"));
    }
    EXPECT_THAT(after([&](ClusterSpec& spec) {
                  spec.fabric = fabric_of(FabricKind::Dragonfly);
                  spec.fabric.dragonfly_groups = size;
                  spec.fabric.dragonfly_routers = 4;
                }),
                HasSubstr("cannot be built"));
  }
  EXPECT_THAT(after([](ClusterSpec& spec) {
                spec.fabric = fabric_of(FabricKind::Dragonfly);
                spec.fabric.dragonfly_groups = spec.fabric.dragonfly_routers = std::numeric_limits<int>::max();
              }),
              HasSubstr("cannot be built"));
  EXPECT_THAT(after([](ClusterSpec& spec) {
                spec.fabric = fabric_of(FabricKind::FatTree);
                spec.fabric.levels = 7;
              }),
              HasSubstr("levels = 7"));
}

std::string list_problems(std::vector<FabricSpec::WireSpec> wires) {
  return after([&](ClusterSpec& spec) {
    spec.groups[0].count = 2;
    spec.fabric = fabric_of(FabricKind::LinkList);
    spec.fabric.links = std::move(wires);
  });
}

TEST(BadSpecs, ListsOfLinksThatDoNotJoinTheNodes) {
  const Bandwidth rate = gigabytes_per_second(10);
  EXPECT_THAT(list_problems({}), HasSubstr("no way leads from node1 to node0"));
  EXPECT_THAT(list_problems({{"node0", "a", rate, {}}, {"node1", "b", rate, {}}}), HasSubstr("no way leads"));
  EXPECT_THAT(list_problems({{"node0", "node9", rate, {}}}), HasSubstr("\"node9\" does not exist"));
  EXPECT_THAT(list_problems({{"node0", "node0", rate, {}}}), HasSubstr("to itself"));
  EXPECT_THAT(list_problems({{"node0", "node1", rate, {}}, {"node1", "node0", rate, {}}}),
              HasSubstr("repeats link 1"));
  EXPECT_THAT(list_problems({{"node0", "node1", Bandwidth(nan), {}}}), HasSubstr("bandwidth"));
  EXPECT_THAT(list_problems({{"node0", "node1", rate, Seconds(-1)}}), HasSubstr("latency"));
  EXPECT_THAT(list_problems({{"", "node1", rate, {}}}), HasSubstr("does not exist"));
}

TEST(RandomSpecs, AreBuiltOrNamedProblems) {
  std::uint64_t state = 7;
  const auto draw = [&](std::size_t n) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<std::size_t>(state >> 33) % n;
  };
  constexpr int sizes[] = {
      1, 2, 3, 4, 7, 16, 48, 0, -1, std::numeric_limits<int>::max(), std::numeric_limits<int>::min()};
  constexpr double numbers[] = {1, 0.5, 2, 3, 1e9, 0, -1, nan, infinity, 1e-320};
  // Mostly sensible, so that some specs are built.
  const auto size = [&] { return sizes[draw(draw(4) == 0 ? 11 : 7)]; };
  const auto number = [&] { return numbers[draw(draw(8) == 0 ? 10 : 5)]; };
  int built = 0;
  for (int trial = 0; trial < 3000; ++trial) {
    ClusterSpec spec = good();
    spec.fabric.kind = static_cast<FabricKind>(draw(6));
    spec.fabric.levels = 2 + static_cast<int>(draw(2));
    spec.fabric.nodes_per_leaf = size();
    spec.fabric.leaves_per_pod = size();
    spec.fabric.oversubscription = number();
    spec.fabric.pod_oversubscription = number();
    spec.fabric.dragonfly_groups = size();
    spec.fabric.dragonfly_routers = size();
    NodeGroupSpec& group = spec.groups[0];
    group.count = size();
    group.type.devices = size();
    group.type.ports = size();
    group.type.wiring = static_cast<NodeType::Wiring>(draw(3));
    if (group.type.wiring == NodeType::Wiring::Torus) group.type.torus = {group.type.devices, 1};
    spec.fabric.torus = {size(), size()};
    if (draw(2) == 0) spec.fabric.torus = {group.count, group.type.devices};
    for (int wires = 0; wires < 6; ++wires) {
      const auto end = [&] { return draw(3) == 0 ? std::string("s") : "node" + std::to_string(draw(4)); };
      spec.fabric.links.push_back({end(), end(), Bandwidth(number() * 1e9), Seconds(0)});
    }
    const std::string said = problems_of([&] {
      check_cluster(build_cluster(spec), 50);
      ++built;
    });
    (void)said;  // what is said differs; that it is an InputError is the point
  }
  EXPECT_GT(built, 300);
}

}  // namespace
}  // namespace tandem
