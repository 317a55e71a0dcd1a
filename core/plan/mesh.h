// The named grid of ranks: every parallel axis, its groups, and rank <-> coordinates one to one.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "core/units/id.h"

namespace tandem {

using RankId = Id<struct RankTag>;

// Axes along which ranks form groups. Dense layers use tp, cp, dp, pp; expert layers etp, ep, edp, pp on the same ranks
// (Megatron-Core's two rank generators share pp).
enum class Axis : std::uint8_t {
  Tensor, Context, Data, Pipeline, ExpertTensor, Expert, ExpertData,
  DataContext,        // dp x cp: dense gradients are reduced over it
  Shard,              // the part of dp x cp that shares one copy of a ZeRO shard set (all of it unless hybrid)
  Replica,            // equal shards of different shard groups (hybrid sharding)
  ExpertShard, ExpertReplica,   // the same for expert parameters, inside edp
  Embedding,          // first and last pipeline stage, for tied embeddings
  Mirror,             // DualPipe: the two stages that hold copies of the same chunks
  World,
  Count
};
std::string_view name(Axis);   // "tp", "cp", …

struct MeshShape {
  std::int64_t tp = 1, cp = 1, dp = 1, pp = 1, ep = 1, etp = 1, edp = 1;
  std::int64_t shard = 1, expert_shard = 1;   // ranks of a shard group inside dp x cp, inside edp
  std::string order = "tp-cp-ep-dp-pp";
};

struct GroupPlace {
  std::uint32_t group = 0;   // which group of the axis, dense from 0
  std::uint32_t place = 0;   // this rank's place in it
};

// Invariants: tp*cp*dp*pp == etp*ep*edp*pp == ranks; every axis partitions the ranks.
class Mesh {
 public:
  explicit Mesh(MeshShape shape);          // throws std::logic_error when the invariant does not hold

  const MeshShape& shape() const { return shape_; }
  std::size_t ranks() const { return ranks_; }
  std::size_t size(Axis) const;            // ranks a group
  std::size_t group_count(Axis) const;
  GroupPlace place(RankId, Axis) const;    // O(1)
  RankId member(Axis, std::uint32_t group, std::uint32_t place) const;   // O(1)
  std::vector<RankId> members(Axis, std::uint32_t group) const;
  std::uint32_t stage(RankId rank) const { return place(rank, Axis::Pipeline).place; }
  std::string text() const;                // "tp 8 x dp 16 x pp 16 = 2048 ranks, order tp-cp-ep-dp-pp"

 private:
  MeshShape shape_;
  std::size_t ranks_ = 0;
  struct AxisTable { std::size_t size = 1; std::vector<GroupPlace> place; std::vector<RankId> member; };
  std::vector<AxisTable> tables_;          // by Axis; flat: member[group * size + place]
};

}  // namespace tandem
