// The named grid of ranks: every parallel axis, its groups, and rank <-> coordinates one to one.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/units/id.h"

namespace tandem {

using RankId = Id<struct RankTag>;

// Axes along which ranks form groups. Dense layers use tp, cp, dp, pp; expert layers etp, ep, edp, pp on the
// same ranks (Megatron-Core's two rank generators share pp).
enum class Axis : std::uint8_t {
  Tensor,
  Context,
  Data,
  Pipeline,
  ExpertTensor,
  Expert,
  ExpertData,
  DataContext,  // dp x cp: dense gradients are reduced over it
  Shard,        // the part of dp x cp that shares one copy of a ZeRO shard set (all of it unless hybrid)
  Replica,      // equal shards of different shard groups (hybrid sharding)
  ExpertShard,  // the same for expert parameters, inside edp
  ExpertReplica,
  Embedding,  // first and last pipeline stage, for tied embeddings
  Mirror,     // DualPipe: the two stages that hold copies of the same chunks
  World,
  Count
};
std::string_view name(Axis);  // "tp", "cp", …

struct MeshShape {
  std::int64_t tp = 1, cp = 1, dp = 1, pp = 1, ep = 1, etp = 1, edp = 1;
  std::int64_t shard = 1, expert_shard = 1;  // ranks of a shard group inside dp x cp, inside edp
  std::string order = "tp-cp-ep-dp-pp";      // the first axis is the one along which neighbours differ
};

// Why no mesh has this shape, as a sentence; "" when one has. Sizes must be positive and their product at most
// 2^31.
std::string mesh_misfit(const MeshShape&);

struct GroupPlace {
  std::uint32_t group = 0;  // which group of the axis, dense from 0
  std::uint32_t place = 0;  // this rank's place in it
  bool operator==(const GroupPlace&) const = default;
};

// Invariants: tp*cp*dp*pp == etp*ep*edp*pp == ranks; every axis partitions the ranks.
//
// Embedding and Mirror join stage s (place 0) with stage pp-1-s (place 1). The middle stage of an odd pipeline
// has no partner: its ranks are groups of one, numbered after the pairs.
class Mesh {
 public:
  explicit Mesh(MeshShape shape);  // throws std::logic_error when the invariant does not hold

  const MeshShape& shape() const { return shape_; }
  std::size_t ranks() const { return ranks_; }
  std::size_t size(Axis axis) const { return table(axis).size; }  // ranks a group
  std::size_t group_count(Axis axis) const { return table(axis).member.size() / table(axis).size; }
  GroupPlace place(RankId rank, Axis axis) const { return table(axis).place[rank.value]; }  // O(1)
  RankId member(Axis axis, std::uint32_t group, std::uint32_t place) const {                // O(1)
    return table(axis).member[group * table(axis).size + place];
  }
  std::vector<RankId> members(Axis, std::uint32_t group) const;
  std::uint32_t stage(RankId rank) const { return place(rank, Axis::Pipeline).place; }
  std::string text() const;  // "tp 8 x dp 16 x pp 16 = 2048 ranks, order tp-cp-ep-dp-pp"

 private:
  // Flat: member[group * size + place]. A group of one on a pairing axis names its rank twice.
  struct AxisTable {
    std::size_t size = 1;
    std::vector<GroupPlace> place;
    std::vector<RankId> member;
  };
  const AxisTable& table(Axis axis) const { return tables_[static_cast<std::size_t>(axis)]; }
  AxisTable grid_axes(bool expert, const std::vector<std::string_view>& axes) const;
  AxisTable blocks_of(const AxisTable& whole, std::size_t size) const;
  AxisTable strides_of(const AxisTable& whole, std::size_t shard) const;
  AxisTable opposite_stages(const AxisTable& pipeline) const;
  AxisTable from_places(std::size_t size, std::vector<GroupPlace> place) const;

  MeshShape shape_;
  std::size_t ranks_ = 0;
  std::vector<AxisTable> tables_;  // by Axis
};

}  // namespace tandem
