// Builds the groups of every axis from the rank order, as Megatron-Core's two rank generators do.
#include "core/plan/mesh.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "core/problem/problem.h"

namespace tandem {
namespace {

constexpr std::array<std::string_view, 5> kOrderAxes = {"tp", "cp", "ep", "dp", "pp"};
constexpr std::int64_t kMostRanks = std::int64_t{1} << 31;

std::vector<std::string_view> axes_of(std::string_view order) {
  std::vector<std::string_view> axes;
  for (std::size_t begin = 0;;) {
    const std::size_t end = std::min(order.find('-', begin), order.size());
    axes.push_back(order.substr(begin, end - begin));
    if (end == order.size()) return axes;
    begin = end + 1;
  }
}

bool permutes_the_axes(const std::vector<std::string_view>& axes) {
  return std::is_permutation(axes.begin(), axes.end(), kOrderAxes.begin(), kOrderAxes.end());
}

// Dense layers have no ep; expert layers have no cp, and etp and edp in the places of tp and dp.
std::int64_t axis_size(const MeshShape& shape, bool expert, std::string_view axis) {
  if (axis == "pp") return shape.pp;
  if (axis == "tp") return expert ? shape.etp : shape.tp;
  if (axis == "dp") return expert ? shape.edp : shape.dp;
  if (axis == "ep") return expert ? shape.ep : 1;
  return expert ? 1 : shape.cp;
}

std::int64_t pipeline_stride(const MeshShape& shape, bool expert) {
  std::int64_t stride = 1;
  for (std::string_view axis : axes_of(shape.order)) {
    if (axis == "pp") break;
    stride *= axis_size(shape, expert, axis);
  }
  return stride;
}

// The product of positive factors, or 0 when it is more than the ranks a mesh can have.
std::int64_t bounded_product(std::initializer_list<std::int64_t> factors) {
  std::int64_t product = 1;
  for (std::int64_t factor : factors) {
    if (factor > kMostRanks / product) return 0;
    product *= factor;
  }
  return product;
}

}  // namespace

std::string_view name(Axis axis) {
  switch (axis) {
    case Axis::Tensor:
      return "tp";
    case Axis::Context:
      return "cp";
    case Axis::Data:
      return "dp";
    case Axis::Pipeline:
      return "pp";
    case Axis::ExpertTensor:
      return "etp";
    case Axis::Expert:
      return "ep";
    case Axis::ExpertData:
      return "edp";
    case Axis::DataContext:
      return "dp-cp";
    case Axis::Shard:
      return "shard";
    case Axis::Replica:
      return "replica";
    case Axis::ExpertShard:
      return "expert-shard";
    case Axis::ExpertReplica:
      return "expert-replica";
    case Axis::Embedding:
      return "embedding";
    case Axis::Mirror:
      return "mirror";
    case Axis::World:
      return "world";
    case Axis::Count:
      break;
  }
  return "?";
}

std::string mesh_misfit(const MeshShape& s) {
  for (std::int64_t size : {s.tp, s.cp, s.dp, s.pp, s.ep, s.etp, s.edp, s.shard, s.expert_shard})
    if (size < 1) return fmt::format("an axis of {} ranks", size);
  const std::int64_t dense = bounded_product({s.tp, s.cp, s.dp, s.pp});
  const std::int64_t expert = bounded_product({s.etp, s.ep, s.edp, s.pp});
  if (dense == 0 || expert == 0) return fmt::format("more than {} ranks", kMostRanks);
  if (dense != expert)
    return fmt::format("tp x cp x dp x pp = {} ranks, but etp x ep x edp x pp = {}", dense, expert);
  if (s.dp * s.cp % s.shard != 0)
    return fmt::format("shard groups of {} do not divide dp x cp = {}", s.shard, s.dp * s.cp);
  if (s.edp % s.expert_shard != 0)
    return fmt::format("expert shard groups of {} do not divide edp = {}", s.expert_shard, s.edp);
  if (!permutes_the_axes(axes_of(s.order)))
    return fmt::format("order '{}' does not name each of tp, cp, ep, dp, pp once", s.order);
  // Both generators cut the ranks into pipelines; the stages agree when the ranks of a pipeline are equally far
  // apart.
  if (s.pp > 1 && pipeline_stride(s, false) != pipeline_stride(s, true))
    return fmt::format(
        "order '{}' gives dense and expert layers different pipelines (stages {} and {} ranks apart)", s.order,
        pipeline_stride(s, false), pipeline_stride(s, true));
  return {};
}

Mesh::Mesh(MeshShape shape) : shape_(std::move(shape)) {
  const std::string misfit = mesh_misfit(shape_);
  check(misfit.empty(), misfit);
  ranks_ = static_cast<std::size_t>(shape_.tp * shape_.cp * shape_.dp * shape_.pp);
  tables_.resize(static_cast<std::size_t>(Axis::Count));
  const auto at = [this](Axis axis) -> AxisTable& { return tables_[static_cast<std::size_t>(axis)]; };
  at(Axis::Tensor) = grid_axes(false, {"tp"});
  at(Axis::Context) = grid_axes(false, {"cp"});
  at(Axis::Data) = grid_axes(false, {"dp"});
  at(Axis::Pipeline) = grid_axes(false, {"pp"});
  at(Axis::DataContext) = grid_axes(false, {"dp", "cp"});
  at(Axis::ExpertTensor) = grid_axes(true, {"tp"});
  at(Axis::Expert) = grid_axes(true, {"ep"});
  at(Axis::ExpertData) = grid_axes(true, {"dp"});
  at(Axis::World) = grid_axes(false, {"tp", "cp", "ep", "dp", "pp"});
  at(Axis::Shard) = blocks_of(at(Axis::DataContext), static_cast<std::size_t>(shape_.shard));
  at(Axis::Replica) = strides_of(at(Axis::DataContext), static_cast<std::size_t>(shape_.shard));
  at(Axis::ExpertShard) = blocks_of(at(Axis::ExpertData), static_cast<std::size_t>(shape_.expert_shard));
  at(Axis::ExpertReplica) = strides_of(at(Axis::ExpertData), static_cast<std::size_t>(shape_.expert_shard));
  at(Axis::Embedding) = opposite_stages(at(Axis::Pipeline));
  at(Axis::Mirror) = at(Axis::Embedding);
}

// A rank is a number in mixed radix, one digit an axis of the order. The digits of the chosen axes are the
// place in the group, the other digits name the group.
Mesh::AxisTable Mesh::grid_axes(bool expert, const std::vector<std::string_view>& axes) const {
  std::vector<GroupPlace> place(ranks_);
  std::size_t size = 1, groups = 1, stride = 1;
  for (std::string_view axis : axes_of(shape_.order)) {
    const auto extent = static_cast<std::size_t>(axis_size(shape_, expert, axis));
    if (extent == 1) continue;
    const bool chosen = std::find(axes.begin(), axes.end(), axis) != axes.end();
    std::size_t& radix = chosen ? size : groups;
    for (std::size_t rank = 0; rank < ranks_; ++rank) {
      const auto digit = static_cast<std::uint32_t>(rank / stride % extent * radix);
      (chosen ? place[rank].place : place[rank].group) += digit;
    }
    radix *= extent;
    stride *= extent;
  }
  return from_places(size, std::move(place));
}

// Cuts each group into blocks of consecutive places.
Mesh::AxisTable Mesh::blocks_of(const AxisTable& whole, std::size_t size) const {
  const auto blocks = static_cast<std::uint32_t>(whole.size / size);
  std::vector<GroupPlace> place(ranks_);
  for (std::size_t rank = 0; rank < ranks_; ++rank) {
    const GroupPlace at = whole.place[rank];
    place[rank].group = at.group * blocks + at.place / static_cast<std::uint32_t>(size);
    place[rank].place = at.place % static_cast<std::uint32_t>(size);
  }
  return from_places(size, std::move(place));
}

// Joins equal places of those blocks.
Mesh::AxisTable Mesh::strides_of(const AxisTable& whole, std::size_t shard) const {
  const auto block = static_cast<std::uint32_t>(shard);
  std::vector<GroupPlace> place(ranks_);
  for (std::size_t rank = 0; rank < ranks_; ++rank) {
    const GroupPlace at = whole.place[rank];
    place[rank].group = at.group * block + at.place % block;
    place[rank].place = at.place / block;
  }
  return from_places(whole.size / shard, std::move(place));
}

Mesh::AxisTable Mesh::opposite_stages(const AxisTable& pipeline) const {
  const auto stages = static_cast<std::uint32_t>(pipeline.size);
  const auto pipelines = static_cast<std::uint32_t>(ranks_ / stages);
  if (stages == 1) return pipeline;
  const std::uint32_t pairs = stages / 2;
  std::vector<GroupPlace> place(ranks_);
  for (std::size_t rank = 0; rank < ranks_; ++rank) {
    const auto [line, stage] = pipeline.place[rank];
    const std::uint32_t near = std::min(stage, stages - 1 - stage);
    const bool alone = near == pairs;
    place[rank].group = alone ? pipelines * pairs + line : line * pairs + near;
    place[rank].place = !alone && stage != near ? 1 : 0;
  }
  return from_places(2, std::move(place));
}

Mesh::AxisTable Mesh::from_places(std::size_t size, std::vector<GroupPlace> place) const {
  AxisTable table{.size = size, .place = std::move(place), .member = {}};
  std::uint32_t groups = 0;
  for (const GroupPlace& at : table.place) groups = std::max(groups, at.group + 1);
  table.member.resize(groups * size);
  // Later places win, so a group of one on a pairing axis first takes both of its entries.
  if (groups * size != ranks_)
    for (std::size_t rank = 0; rank < ranks_; ++rank)
      std::fill_n(table.member.begin() + static_cast<std::ptrdiff_t>(table.place[rank].group * size), size,
                  RankId(rank));
  for (std::size_t rank = 0; rank < ranks_; ++rank)
    table.member[table.place[rank].group * size + table.place[rank].place] = RankId(rank);
  return table;
}

std::vector<RankId> Mesh::members(Axis axis, std::uint32_t group) const {
  const AxisTable& groups = table(axis);
  const auto first = groups.member.begin() + static_cast<std::ptrdiff_t>(group * groups.size);
  std::vector<RankId> members(first, first + static_cast<std::ptrdiff_t>(groups.size));
  members.erase(std::unique(members.begin(), members.end()), members.end());
  return members;
}

std::string Mesh::text() const {
  std::string degrees;
  const auto add = [&](std::string_view axis, std::int64_t size) {
    if (size == 1) return;
    if (!degrees.empty()) degrees += " x ";
    degrees += fmt::format("{} {}", axis, size);
  };
  add("tp", shape_.tp);
  add("cp", shape_.cp);
  add("dp", shape_.dp);
  add("pp", shape_.pp);
  std::string all = degrees.empty() ? "1 rank" : fmt::format("{} = {} ranks", degrees, ranks_);
  if (shape_.ep > 1 || shape_.etp != shape_.tp)
    all += fmt::format(" (experts: etp {} x ep {} x edp {} x pp {})", shape_.etp, shape_.ep, shape_.edp,
                       shape_.pp);
  return all + ", order " + shape_.order;
}

}  // namespace tandem
