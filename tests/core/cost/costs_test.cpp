// Properties of all costs: positive, finite, monotone, explained; mixed and odd machines; loads against times.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "core/cost/loads.h"
#include "tests/core/cost/machines.h"

namespace tandem {
namespace {

using machines::cluster;
using machines::devices;
using machines::Wires;
using testing::HasSubstr;

constexpr CollectiveKind kinds[] = {CollectiveKind::AllReduce,     CollectiveKind::AllGather,
                                    CollectiveKind::ReduceScatter, CollectiveKind::AllToAll,
                                    CollectiveKind::Broadcast,     CollectiveKind::Reduce,
                                    CollectiveKind::Shift};
constexpr Algorithm algorithms[] = {
    Algorithm::Auto,         Algorithm::Ring, Algorithm::Tree,    Algorithm::HalvingDoubling,
    Algorithm::Hierarchical, Algorithm::Nvls, Algorithm::Pairwise};

Seconds total(const CommunicationCost& cost) { return cost.latency + cost.transfer; }
bool sound(Seconds s) { return std::isfinite(s.value) && s.value > 0; }

FabricSpec torus(std::vector<int> sizes) {
  FabricSpec fabric;
  fabric.kind = FabricKind::Torus;
  fabric.torus = std::move(sizes);
  return fabric;
}
FabricSpec fat_tree(double oversubscription) {
  FabricSpec fabric;
  fabric.kind = FabricKind::FatTree;
  fabric.nodes_per_leaf = 2;
  fabric.oversubscription = oversubscription;
  return fabric;
}

// Machines of all shapes, 16 to 64 devices each.
std::vector<Cluster> machines_of_all_shapes() {
  const DeviceKind h100 = machines::h100(), other = machines::named("my-chip", 300, 1000, 0);
  return {
      cluster(h100, {}, 4),
      cluster(h100, {}, 8, fat_tree(4)),
      cluster(h100, {.network = "some-network", .efficiency = 0.8}, 2),
      cluster(
          other,
          {.intra = "xgmi-mi300x", .intra_gbs = 448, .network = "roce-400", .wiring = NodeType::Wiring::Mesh},
          2),
      cluster(other,
              {.intra = "unknown-mesh", .intra_gbs = 300, .wiring = NodeType::Wiring::Mesh, .efficiency = 0.7},
              2),
      cluster(other, {.host_only = true}, 2),
      cluster(other,
              {.intra = "neuronlink3", .intra_gbs = 640, .per_node = 16, .wiring = NodeType::Wiring::Torus}, 2),
      cluster(other, {.intra = "ici-v5p", .intra_gbs = 600, .per_node = 4, .wiring = NodeType::Wiring::Torus},
              16, torus({4, 4, 4})),
      cluster(other, {.per_node = 1}, 16)};
}

TEST(CollectiveCost, IsFinitePositiveAndNeverBelowItsBusiestLinkOnAnyMachine) {
  const auto calibration = machines::calibration();
  for (const Cluster& machine : machines_of_all_shapes()) {
    const CostModel costs(calibration, "megatron", machine);
    for (CollectiveKind kind : kinds)
      for (Algorithm algorithm : algorithms)
        for (std::size_t ranks : {2u, 3u, 4u, 7u, 8u, 12u, 16u})
          for (double size : {8.0, 1e6, 1e9}) {
            const Collective work{.kind = kind, .size = Bytes(size), .algorithm = algorithm};
            const std::vector<DeviceId> members = devices(ranks);
            const CommunicationCost cost = costs.collective(work, members);
            ASSERT_TRUE(sound(cost.latency) && sound(cost.transfer))
                << machine.network().id << " " << name(kind) << " " << name(algorithm) << " of " << ranks;
            const std::vector<LinkLoad> loads = costs.loads(work, cost.algorithm, members);
            ASSERT_GE(cost.transfer.value * (1 + 1e-12), busiest_link(machine, loads) * size);
          }
  }
}

TEST(CollectiveCost, NeverFallsWhenTheSizeGrows) {
  const auto calibration = machines::calibration();
  for (const Cluster& machine : machines_of_all_shapes()) {
    const CostModel costs(calibration, "megatron", machine);
    for (CollectiveKind kind : kinds)
      for (std::size_t ranks : {2u, 8u, 16u}) {
        Seconds before;
        for (double size = 8; size < 1e11; size *= 3) {
          const Seconds now = total(costs.collective({.kind = kind, .size = Bytes(size)}, devices(ranks)));
          ASSERT_GE(now.value, before.value * (1 - 1e-9))
              << machine.network().id << " " << name(kind) << " " << size;
          before = now;
        }
      }
  }
}

TEST(CollectiveCost, OfOneMemberIsZero) {
  const CostModel costs(machines::calibration(), "megatron", cluster(machines::h100(), {}, 1));
  const Collective work{.kind = CollectiveKind::AllReduce, .size = Bytes(1e9)};
  const CommunicationCost cost = costs.collective(work, devices(1));
  EXPECT_EQ(cost.latency.value + cost.transfer.value, 0);
  EXPECT_TRUE(costs.loads(work, Algorithm::Ring, devices(1)).empty());
  EXPECT_EQ(total(costs.message(Bytes(1e9), DeviceId(0), DeviceId(0))).value, 0);
}

TEST(CollectiveCost, PicksNvlsForLargeAllReducesAndLlForSmallOnes) {
  const CostModel costs(machines::calibration(), "megatron", cluster(machines::h100(), {}, 2));
  const auto choice = [&](CollectiveKind kind, double size, std::size_t ranks) {
    return costs.collective({.kind = kind, .size = Bytes(size)}, devices(ranks));
  };
  EXPECT_EQ(choice(CollectiveKind::AllReduce, 1e9, 8).algorithm, Algorithm::Nvls);
  EXPECT_EQ(choice(CollectiveKind::AllReduce, 1e9, 4).algorithm, Algorithm::Ring);
  EXPECT_EQ(choice(CollectiveKind::AllReduce, 1024, 8).protocol, "LL");
  EXPECT_EQ(choice(CollectiveKind::AllGather, 1e9, 8).algorithm, Algorithm::Ring);
  EXPECT_EQ(choice(CollectiveKind::AllGather, 1e9, 8).protocol, "Simple");
}

TEST(CollectiveCost, OfOneDeviceANodeUsesOnlyItsShareOfThePorts) {
  const CostModel costs(machines::calibration(), "megatron", cluster(machines::h100(), {}, 8));
  const Collective work{.kind = CollectiveKind::AllGather, .size = Bytes(8e9)};
  // 7/8 of 8 GB through one of eight ports of 50 GB/s at 0.93.
  EXPECT_NEAR(costs.collective(work, devices(8, 0, 8)).transfer.value, 7e9 / (0.93 * 50e9), 1e-9);
  // All devices of a node: eight ports.
  EXPECT_NEAR(costs.collective(work, devices(64)).transfer.value, 63.0 / 64 * 8e9 / (0.805 * 450e9), 1e-2);
}

TEST(CollectiveCost, OfAMeshUsesTheWiresAmongTheMembersOnly) {
  const Cluster node = cluster(machines::named("mi300x-192gb", 1307, 5300, 304),
                               {.intra = "xgmi-mi300x", .intra_gbs = 448, .wiring = NodeType::Wiring::Mesh}, 1);
  const CostModel costs(machines::calibration(), "megatron", node);
  const Collective work{.kind = CollectiveKind::AllReduce, .size = Bytes(4e9)};
  const auto busbw = [&](std::size_t n) {
    return bus_factor(work.kind, n) * 4 / costs.collective(work, devices(n)).transfer.value;
  };
  EXPECT_NEAR(busbw(8), 312.9, 0.01 * 312.9);  // measured (ml-engineering)
  EXPECT_NEAR(busbw(2), 47.7, 0.01 * 47.7);
}

TEST(CollectiveCost, OfATorusUsesAllWiresOfTheDimensionsThatAGroupSpans) {
  const Cluster pod = cluster(machines::named("tpu-v5p", 459, 2765, 2),
                              {.intra = "ici-v5p",
                               .intra_gbs = 600,
                               .per_node = 4,
                               .wiring = NodeType::Wiring::Torus,
                               .efficiency = 0.85},
                              16, torus({4, 4, 4}));
  const CostModel costs(machines::calibration(), "megatron", pod);
  const Collective work{.kind = CollectiveKind::AllGather, .size = Bytes(1e9)};
  EXPECT_NEAR(costs.collective(work, devices(64)).transfer.value, 63.0 / 64 * 1e9 / (0.85 * 600e9), 1e-6);
  EXPECT_NEAR(costs.collective(work, devices(4)).transfer.value, 3.0 / 4 * 1e9 / (0.85 * 200e9), 1e-6);
}

TEST(CollectiveCost, FollowsTheOversubscribedFabric) {
  const Collective work{.kind = CollectiveKind::AllGather, .size = Bytes(8e9)};
  const CostModel full(machines::calibration(), "megatron", cluster(machines::h100(), {}, 8, fat_tree(1)));
  const CostModel thin(machines::calibration(), "megatron", cluster(machines::h100(), {}, 8, fat_tree(8)));
  EXPECT_GT(thin.collective(work, devices(64)).transfer.value,
            2 * full.collective(work, devices(64)).transfer.value);
}

TEST(CollectiveCost, OfMixedNodesIsThatOfTheSlower) {
  const Cluster fast = cluster(machines::h100(), {}, 2), slow = cluster(machines::h100(), {.node_gbs = 100}, 2);
  ClusterSpec spec = fast.spec();
  spec.groups[0].count = 1;
  spec.groups.push_back(spec.groups[0]);
  spec.groups[1].type.id = "slow";
  spec.groups[1].type.ports = 2;
  const CostModel mixed(machines::calibration(), "megatron", build_cluster(spec));
  const CostModel slower(machines::calibration(), "megatron", slow);
  const Collective work{.kind = CollectiveKind::AllGather, .size = Bytes(8e9)};
  EXPECT_NEAR(mixed.collective(work, devices(16)).transfer.value,
              slower.collective(work, devices(16)).transfer.value, 1e-6);
}

TEST(Loads, OfAMultiRailRingSpreadOverThePortsOfANode) {
  const Cluster machine = cluster(machines::h100(), {}, 4);
  const std::vector<LinkLoad> loads =
      collective_loads(machine, CollectiveKind::AllReduce, Algorithm::Ring, devices(32));
  const double f = bus_factor(CollectiveKind::AllReduce, 32);
  std::size_t ports = 0, wires = 0;
  for (const LinkLoad& load : loads) {
    if (machine[load.link].scope == Link::Scope::Port) {
      EXPECT_NEAR(load.share, f / 8, 1e-12);
      ++ports;
    } else if (machine[load.link].scope == Link::Scope::IntraNode) {
      EXPECT_NEAR(load.share, f * 7 / 8, 1e-12);
      ++wires;
    }
  }
  EXPECT_EQ(ports, 2u * 32);
  EXPECT_EQ(wires, 2u * 32);
}

TEST(Loads, OfADoubleTreeAreTwiceTheSizeThroughANodeAtMost) {
  for (int nodes : {2, 3, 4, 5, 8, 13, 16}) {
    const Cluster machine = cluster(machines::h100(), {}, nodes);
    const auto members = devices(8 * static_cast<std::size_t>(nodes));
    double most = 0, sum = 0;
    for (const LinkLoad& load : collective_loads(machine, CollectiveKind::AllReduce, Algorithm::Tree, members))
      if (machine[load.link].scope == Link::Scope::Port) {
        most = std::max(most, load.share * 8);
        sum += load.share;
      }
    EXPECT_NEAR(most, nodes == 2 ? 1 : 2, nodes == 2 ? 1e-12 : 0.5) << nodes;
    EXPECT_LE(most, 2 + 1e-12) << nodes;
    EXPECT_NEAR(sum, 2 * 2 * (nodes - 1), 1e-9)
        << nodes;  // two trees, half each, up and down, sent and received
  }
}

TEST(Loads, OfNvlsAreTheSizeOnceEachWay) {
  const Cluster machine = cluster(machines::h100(), {}, 1);
  const auto loads = collective_loads(machine, CollectiveKind::AllReduce, Algorithm::Nvls, devices(8));
  EXPECT_EQ(loads.size(), 16u);
  for (const LinkLoad& load : loads) EXPECT_DOUBLE_EQ(load.share, 1);
}

TEST(Loads, OfSixteenThousandMembersNameEachLinkOnce) {
  const Cluster machine = cluster(machines::h100(), {}, 2048);
  for (Algorithm algorithm :
       {Algorithm::Ring, Algorithm::Tree, Algorithm::Nvls, Algorithm::Hierarchical, Algorithm::Pairwise}) {
    const auto loads = collective_loads(machine, CollectiveKind::AllReduce, algorithm, devices(16384));
    ASSERT_FALSE(loads.empty());
    ASSERT_LE(loads.size(), machine.link_count());
    for (std::size_t i = 1; i < loads.size(); ++i) ASSERT_LT(loads[i - 1].link, loads[i].link);
  }
}

MatrixProduct random_product(std::mt19937& random) {
  std::uniform_real_distribution<double> exponent(0, 16);
  const auto size = [&] { return static_cast<std::int64_t>(std::exp2(exponent(random))); };
  const DType types[] = {DType::Bf16, DType::Fp16, DType::Fp8, DType::Fp32};
  MatrixProduct product{.m = size(), .n = size(), .k = size(), .batch = 1 + size() / 4096};
  product.input = types[random() % 4];
  product.output_bytes = random() % 2 == 0 ? 2 : 8;
  product.grouped = random() % 2 == 0;
  return product;
}

TEST(ComputeCost, OfRandomProductsIsSoundAndNeverBelowTheRoofline) {
  std::mt19937 random(7);
  for (const DeviceKind& kind : {machines::a100(), machines::h100(), machines::b200(), machines::v100(),
                                 machines::named("my-chip", 300, 1000, 0)}) {
    const CostModel costs(machines::calibration(), "megatron", cluster(kind, {}, 1));
    for (int i = 0; i < 300; ++i) {
      const MatrixProduct p = random_product(random);
      const Seconds time = costs.compute(machines::work(p), DeviceKindId(0)).device;
      ASSERT_TRUE(sound(time));
      const double m = static_cast<double>(p.m), n = static_cast<double>(p.n), k = static_cast<double>(p.k),
                   b = static_cast<double>(p.batch);
      ASSERT_GE(time.value, b * ((m * k + n * k) * bytes_per_element(p.input) + m * n * p.output_bytes) /
                                kind.memory_bandwidth.value);
      if (p.input != DType::Fp32 && p.input != DType::Fp8) {
        ASSERT_GE(time.value, 2 * m * n * k * b / kind.peak.at(DType::Fp16).value);
      }
    }
  }
}

TEST(ComputeCost, OfAProductNeverFallsWhenItGrows) {
  std::mt19937 random(11);
  const CostModel costs(machines::calibration(), "megatron", cluster(machines::h100(), {}, 1));
  for (int i = 0; i < 300; ++i) {
    MatrixProduct p = random_product(random);
    p.input = DType::Bf16;
    const double before = costs.compute(machines::work(p), DeviceKindId(0)).device.value;
    for (std::int64_t MatrixProduct::*side :
         {&MatrixProduct::m, &MatrixProduct::n, &MatrixProduct::k, &MatrixProduct::batch}) {
      MatrixProduct larger = p;
      larger.*side += 1 + larger.*side / 3;
      ASSERT_GE(costs.compute(machines::work(larger), DeviceKindId(0)).device.value, before * (1 - 1e-12));
    }
  }
}

TEST(ComputeCost, OfAttentionIsSoundForAllLengthsAndMasks) {
  const CostModel costs(machines::calibration(), "megatron",
                        cluster(machines::named("my-chip", 300, 1000, 0), {}, 1));
  for (std::int64_t q : {1, 100, 4096})
    for (std::int64_t kv : {1, 128, 4096, 131072})
      for (std::int64_t window : {0, 64, 4096})
        for (AttentionMask mask : {AttentionMask::Causal, AttentionMask::Full})
          for (bool backward : {false, true}) {
            const FusedAttention work{.batch = 1,
                                      .heads = 8,
                                      .kv_heads = 2,
                                      .q_length = q,
                                      .kv_length = kv,
                                      .qk_head_dim = 192,
                                      .v_head_dim = 128,
                                      .mask = mask,
                                      .window = window,
                                      .dtype = DType::Fp8,
                                      .backward = backward};
            ASSERT_TRUE(sound(costs.compute(machines::work(work), DeviceKindId(0)).device)) << q << " " << kv;
          }
}

TEST(ComputeCost, ChargesTheHostByLaunches) {
  const CostModel costs(machines::calibration(), "nanotron", cluster(machines::h100(), {}, 1));
  Compute work = machines::work(MemoryPass{.kind = PassKind::Norm, .elements = 1e6, .bytes = Bytes(4e6)});
  work.launches = 5;
  EXPECT_DOUBLE_EQ(costs.compute(work, DeviceKindId(0)).host.value, 5 * 77e-6);
}

TEST(ComputeCost, LosesAGapOnTheDeviceWithEachLaunch) {
  const CostModel costs(machines::calibration(), "nanotron", cluster(machines::h100(), {}, 1));
  Compute work = machines::work(MemoryPass{.kind = PassKind::Norm, .elements = 1e6, .bytes = Bytes(4e6)});
  const Seconds one = costs.compute(work, DeviceKindId(0)).device;
  work.launches = 5;
  EXPECT_NEAR((costs.compute(work, DeviceKindId(0)).device - one).value, 4 * 20e-6, 1e-12);
}

TEST(CollectiveCost, ChargesTheHostByMembersOfTensorParallelGroupsOnly) {
  const CostModel costs(machines::calibration(), "nanotron-crowded", cluster(machines::h100(), {}, 1));
  const std::vector<DeviceId> members = machines::devices(8);
  const Collective tensor{.axis = Axis::Tensor, .size = Bytes(1e6)},
      data{.axis = Axis::Data, .size = Bytes(1e6)};
  EXPECT_NEAR((costs.collective(tensor, members).host - costs.collective(data, members).host).value, 8 * 242e-6,
              1e-12);
}

TEST(ComputeCost, OfEagerFrameworksMovesMoreBytes) {
  const Cluster machine = cluster(machines::a100(), {}, 1);
  const Compute norm = machines::work(MemoryPass{.kind = PassKind::Norm, .elements = 1e8, .bytes = Bytes(4e8)});
  const auto time = [&](const char* framework) {
    return CostModel(machines::calibration(), framework, machine).compute(norm, DeviceKindId(0)).device.value;
  };
  EXPECT_GT(time("pytorch-eager"), 2 * time("kernels"));
}

TEST(HostCopies, CrossTheHostLink) {
  const CostModel costs(machines::calibration(), "megatron", cluster(machines::h100(), {.efficiency = 0.5}, 1));
  EXPECT_NEAR(costs.copy({.size = Bytes(63e9)}, DeviceId(0)).device.value, 2, 1e-5);
  EXPECT_NEAR(costs.input({.host = milliseconds(3), .size = Bytes(63e6)}).device.value, 2e-3, 1e-8);
  EXPECT_DOUBLE_EQ(costs.input({.host = milliseconds(3), .size = Bytes(63e6)}).host.value, 3e-3);
}

TEST(Surroundings, FollowTheFits) {
  const CostModel one(machines::calibration(), "megatron", cluster(machines::h100(), {}, 1));
  const CostModel many(machines::calibration(), "megatron", cluster(machines::h100(), {}, 64));
  EXPECT_DOUBLE_EQ(one.straggler_factor(), 1);
  EXPECT_NEAR(many.straggler_factor(), 1 + 0.007 * 6, 1e-12);
  // One second of hidden communication costs 0.29 s: computation advances 0.71 s meanwhile.
  EXPECT_NEAR(1 / one.overlap_slowdown(DeviceKindId(0)), 0.71, 1e-12);
  EXPECT_GT(one.reserved_memory(DeviceKindId(0), 4), one.reserved_memory(DeviceKindId(0), 0));
}

TEST(Explain, NamesFormulaConstantsAndSource) {
  const CostModel costs(machines::calibration(), "megatron", cluster(machines::h100(), {}, 2));
  const std::string product =
      costs.explain(machines::work(MatrixProduct{.m = 4096, .n = 4096, .k = 4096}), DeviceKindId(0));
  EXPECT_THAT(product, HasSubstr("eta 0.71 of 989 TFLOP/s"));
  EXPECT_THAT(product, HasSubstr("vidur"));
  EXPECT_THAT(product, testing::Not(HasSubstr("fallback")));
  const std::string reduce =
      costs.explain(Collective{.kind = CollectiveKind::AllReduce, .size = Bytes(1e9)}, devices(16));
  EXPECT_THAT(reduce, HasSubstr("by nvls Simple"));
  EXPECT_THAT(reduce, HasSubstr("ib-ndr: set on Nebius"));
  EXPECT_THAT(reduce, HasSubstr("tuning.cc"));
  EXPECT_EQ(reduce.find('\n'), std::string::npos);
}

TEST(Explain, NamesFallbacks) {
  const Cluster machine =
      cluster(machines::named("my-chip", 300, 1000, 0), {.intra = "my-wire", .network = "my-network"}, 2);
  const CostModel costs(machines::calibration(), "megatron", machine);
  EXPECT_THAT(costs.explain(machines::work(MatrixProduct{.m = 1, .n = 1, .k = 1}), DeviceKindId(0)),
              HasSubstr("fallback: device not measured"));
  EXPECT_THAT(costs.explain(machines::work(MemoryPass{}), DeviceKindId(0)), HasSubstr("fallback"));
  EXPECT_THAT(costs.explain(machines::work(FusedAttention{}), DeviceKindId(0)),
              HasSubstr("fallback: as a100-sxm4-80gb"));
  const std::string reduce =
      costs.explain(Collective{.kind = CollectiveKind::AllReduce, .size = Bytes(1e9)}, devices(16));
  EXPECT_THAT(reduce, HasSubstr("fallback: my-wire"));
  EXPECT_THAT(reduce, HasSubstr("fallback: my-network"));
  const CostModel hopper(machines::calibration(), "megatron",
                         cluster(machines::named("h200-sxm-141gb", 989, 4800, 132), {}, 1));
  EXPECT_THAT(hopper.explain(machines::work(MatrixProduct{.m = 1, .n = 1, .k = 1}), DeviceKindId(0)),
              HasSubstr("fallback: as H100"));
  EXPECT_THAT(hopper.explain(machines::work(FusedAttention{}), DeviceKindId(0)),
              HasSubstr("fallback: as h100-sxm5-80gb"));
}

TEST(Explain, SaysWhenAnAlgorithmCannotCarryACollective) {
  const CostModel costs(machines::calibration(), "megatron", cluster(machines::h100(), {}, 1));
  const Collective work{.kind = CollectiveKind::AllGather, .size = Bytes(1e9), .algorithm = Algorithm::Nvls};
  EXPECT_EQ(costs.collective(work, devices(8)).algorithm, Algorithm::Ring);
  EXPECT_THAT(costs.explain(work, devices(8)), HasSubstr("nvls cannot carry it here"));
}

TEST(CostModel, RefusesUnknownFrameworksAndDevicesWithoutRates) {
  const Cluster machine = cluster(machines::h100(), {}, 1);
  try {
    CostModel(machines::calibration(), "megatorn", machine);
    FAIL();
  } catch (const InputError& error) {
    EXPECT_THAT(error.problems()[0].hint, HasSubstr("megatron"));
  }
}

}  // namespace
}  // namespace tandem
