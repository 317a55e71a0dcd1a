// Groups of every axis: Megatron's published groups, partition and inverse on random shapes, refusals.
#include "core/plan/mesh.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <stdexcept>

namespace tandem {
namespace {

std::vector<std::uint32_t> values(const std::vector<RankId>& ranks) {
  std::vector<std::uint32_t> out;
  for (RankId rank : ranks) out.push_back(rank.value);
  return out;
}

using Ranks = std::vector<std::uint32_t>;

// The example in the documentation of Megatron-Core's initialize_model_parallel: 16 ranks, tp 2, pp 4.
TEST(Mesh, ReproducesTheGroupsOfMegatronsExample) {
  const Mesh mesh({.tp = 2, .dp = 2, .pp = 4, .etp = 2, .edp = 2, .shard = 2, .expert_shard = 2});
  EXPECT_EQ(values(mesh.members(Axis::Tensor, 0)), (Ranks{0, 1}));
  EXPECT_EQ(values(mesh.members(Axis::Tensor, 7)), (Ranks{14, 15}));
  EXPECT_EQ(values(mesh.members(Axis::Data, 0)), (Ranks{0, 2}));
  EXPECT_EQ(values(mesh.members(Axis::Data, 1)), (Ranks{1, 3}));
  EXPECT_EQ(values(mesh.members(Axis::Pipeline, 0)), (Ranks{0, 4, 8, 12}));
  EXPECT_EQ(values(mesh.members(Axis::Pipeline, 3)), (Ranks{3, 7, 11, 15}));
}

TEST(Mesh, ExpertGroupsSpanContextAndData) {
  const Mesh mesh({.tp = 2, .cp = 2, .dp = 2, .pp = 1, .ep = 4, .etp = 1, .edp = 2});
  EXPECT_EQ(values(mesh.members(Axis::Expert, 0)), (Ranks{0, 1, 2, 3}));
  EXPECT_EQ(values(mesh.members(Axis::ExpertData, 0)), (Ranks{0, 4}));
  EXPECT_EQ(values(mesh.members(Axis::Context, 0)), (Ranks{0, 2}));
  EXPECT_EQ(values(mesh.members(Axis::DataContext, 1)), (Ranks{1, 3, 5, 7}));
}

TEST(Mesh, DataBeforePipelineIsTheLastWordOfTheOrder) {
  const Mesh mesh({.tp = 2, .dp = 2, .pp = 2, .etp = 2, .edp = 2, .order = "tp-cp-ep-pp-dp"});
  EXPECT_EQ(values(mesh.members(Axis::Pipeline, 0)), (Ranks{0, 2}));
  EXPECT_EQ(values(mesh.members(Axis::Data, 0)), (Ranks{0, 4}));
}

TEST(Mesh, ShardGroupsAreConsecutiveRanksOfDataAndContext) {
  const Mesh mesh({.dp = 8, .edp = 8, .shard = 4, .expert_shard = 4});
  EXPECT_EQ(values(mesh.members(Axis::Shard, 1)), (Ranks{4, 5, 6, 7}));
  EXPECT_EQ(values(mesh.members(Axis::Replica, 1)), (Ranks{1, 5}));
}

TEST(Mesh, EmbeddingGroupsJoinFirstAndLastStage) {
  const Mesh mesh({.tp = 2, .pp = 4, .etp = 2});
  EXPECT_EQ(values(mesh.members(Axis::Embedding, 0)), (Ranks{0, 6}));
  EXPECT_EQ(mesh.place(RankId(6), Axis::Embedding).place, 1u);
  EXPECT_EQ(mesh.place(RankId(4), Axis::Mirror), (GroupPlace{1, 1}));
}

TEST(Mesh, MiddleStageOfAnOddPipelineHasNoPartner) {
  const Mesh mesh({.pp = 3});
  EXPECT_EQ(values(mesh.members(Axis::Embedding, 0)), (Ranks{0, 2}));
  EXPECT_EQ(values(mesh.members(Axis::Embedding, 1)), (Ranks{1}));
}

TEST(Mesh, TextNamesDegreesRanksAndOrder) {
  const Mesh mesh({.tp = 8, .dp = 16, .pp = 16, .etp = 8, .edp = 16});
  EXPECT_EQ(mesh.text(), "tp 8 x dp 16 x pp 16 = 2048 ranks, order tp-cp-ep-dp-pp");
  EXPECT_EQ(Mesh(MeshShape{}).text(), "1 rank, order tp-cp-ep-dp-pp");
}

TEST(Mesh, RefusesWhatIsNoMesh) {
  EXPECT_THROW(Mesh({.tp = 2}), std::logic_error);
  EXPECT_THROW(Mesh({.dp = 4, .edp = 4, .shard = 3}), std::logic_error);
  EXPECT_THROW(Mesh({.tp = 0, .etp = 0}), std::logic_error);
  EXPECT_THROW(Mesh({.tp = 1'000'000'000, .cp = 1'000'000'000, .dp = 1'000'000'000}), std::logic_error);
  EXPECT_EQ(mesh_misfit({.order = "tp-cp-dp-pp"}),
            "order 'tp-cp-dp-pp' does not name each of tp, cp, ep, dp, pp once");
  EXPECT_NE(mesh_misfit({.order = ""}), "");
  EXPECT_NE(mesh_misfit({.order = "tp-tp-ep-dp-pp"}), "");
}

TEST(Mesh, RefusesDifferentPipelinesForDenseAndExpertLayers) {
  const MeshShape shape{.tp = 2, .dp = 4, .pp = 2, .ep = 4, .etp = 1, .edp = 2, .order = "tp-cp-ep-pp-dp"};
  EXPECT_EQ(
      mesh_misfit(shape),
      "order 'tp-cp-ep-pp-dp' gives dense and expert layers different pipelines (stages 2 and 4 ranks apart)");
}

MeshShape random_shape(std::mt19937& random) {
  const auto pick = [&](int most) {
    return std::int64_t{1 + static_cast<int>(random() % static_cast<unsigned>(most))};
  };
  std::vector<std::string> axes = {"tp", "cp", "ep", "dp", "pp"};
  std::shuffle(axes.begin(), axes.end(), random);
  MeshShape shape{.tp = pick(4), .cp = pick(3), .dp = pick(6), .pp = pick(5)};
  shape.order = axes[0] + "-" + axes[1] + "-" + axes[2] + "-" + axes[3] + "-" + axes[4];
  const auto divisor_of = [&](std::int64_t number) {
    std::int64_t divisor = pick(static_cast<int>(number));
    while (number % divisor != 0) divisor = pick(static_cast<int>(number));
    return divisor;
  };
  const std::int64_t plane = shape.tp * shape.cp * shape.dp;
  shape.etp = divisor_of(plane);
  shape.ep = divisor_of(plane / shape.etp);
  shape.edp = plane / shape.etp / shape.ep;
  shape.shard = divisor_of(shape.dp * shape.cp);
  shape.expert_shard = divisor_of(shape.edp);
  return shape;
}

TEST(Mesh, EveryAxisPartitionsTheRanksOfRandomShapes) {
  std::mt19937 random(1);
  int meshes = 0;
  for (int trial = 0; trial < 400; ++trial) {
    const MeshShape shape = random_shape(random);
    if (!mesh_misfit(shape).empty()) continue;
    ++meshes;
    const Mesh mesh(shape);
    for (std::size_t index = 0; index < static_cast<std::size_t>(Axis::Count); ++index) {
      const Axis axis = static_cast<Axis>(index);
      std::set<std::uint32_t> seen;
      for (std::uint32_t group = 0; group < mesh.group_count(axis); ++group) {
        for (RankId rank : mesh.members(axis, group)) {
          ASSERT_TRUE(seen.insert(rank.value).second) << name(axis) << " " << mesh.text();
          const GroupPlace at = mesh.place(rank, axis);
          ASSERT_EQ(at.group, group);
          ASSERT_LT(at.place, mesh.size(axis));
          ASSERT_EQ(mesh.member(axis, at.group, at.place), rank);
        }
      }
      ASSERT_EQ(seen.size(), mesh.ranks()) << name(axis) << " " << mesh.text();
    }
  }
  EXPECT_GT(meshes, 100);
}

TEST(Mesh, RanksOfAPipelineAgreeForDenseAndExpertLayers) {
  std::mt19937 random(2);
  for (int trial = 0; trial < 200; ++trial) {
    const MeshShape shape = random_shape(random);
    if (!mesh_misfit(shape).empty()) continue;
    const Mesh mesh(shape);
    for (std::size_t rank = 0; rank < mesh.ranks(); ++rank)
      for (Axis axis :
           {Axis::Tensor, Axis::Data, Axis::ExpertTensor, Axis::Expert, Axis::ExpertData, Axis::Shard})
        for (RankId peer : mesh.members(axis, mesh.place(RankId(rank), axis).group))
          ASSERT_EQ(mesh.stage(peer), mesh.stage(RankId(rank))) << name(axis) << " " << mesh.text();
  }
}

TEST(Mesh, HoldsSixteenThousandRanks) {
  const Mesh mesh({.tp = 8, .dp = 128, .pp = 16, .etp = 8, .edp = 128, .shard = 128, .expert_shard = 128});
  EXPECT_EQ(mesh.ranks(), 16384u);
  EXPECT_EQ(mesh.group_count(Axis::Data), 128u);
  EXPECT_EQ(mesh.stage(RankId(16383)), 15u);
}

}  // namespace
}  // namespace tandem
