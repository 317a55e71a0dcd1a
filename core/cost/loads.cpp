// Bytes that a collective puts on each link, per byte of its size.
#include "core/cost/loads.h"

#include <algorithm>
#include <bit>

#include "core/cost/group.h"

namespace tandem {
namespace {

// The parent of a node in a binary tree over 0 … n - 1 whose odd nodes are leaves; node 0 is the root.
std::size_t tree_parent(std::size_t node, std::size_t n) {
  const std::size_t bit = node & (~node + 1);
  const std::size_t parent = (node ^ bit) | (bit << 1);
  return parent < n ? parent : node ^ bit;
}

class LoadMap {
 public:
  LoadMap(const Cluster& cluster, std::span<const DeviceId> members)
      : cluster_(cluster), members_(members), nodes_(by_node(cluster, members)) {}

  void ring(double f) {
    if (on_torus_fabric()) return torus_ring(members_, f);
    for (const auto& node : nodes_) {
      const double g = static_cast<double>(node.size());
      node_ring(node, nodes_.size() == 1 ? f : f * (g - 1) / g);
    }
    for (std::size_t i = 0; nodes_.size() > 1 && i < nodes_.size(); ++i)
      between(nodes_[i], nodes_[(i + 1) % nodes_.size()], f);
  }

  // A chain up and down inside each node, its direction and ends changing with the channel.
  void tree() {
    for (const auto& node : nodes_) {
      const double g = static_cast<double>(node.size());
      node_ring(node, 2 * (g - 1) / g);
    }
    trees_between();
  }

  void nvls() {
    for (const auto& node : nodes_)
      if (node.size() > 1) node_ring(node, 1);
    trees_between();
  }

  // Rounds at distance 1, 2, 4, … in place order; ranks 2i and 2i + 1 act as one where there are too many.
  void halving_doubling(double passes) {
    const std::size_t n = members_.size(), p = std::bit_floor(n), extra = n - p;
    const auto rank = [&](std::size_t v) { return members_[v < extra ? 2 * v : v + extra]; };
    for (std::size_t half = 1; half < p; half *= 2)
      for (std::size_t v = 0; v < p; ++v)
        add(rank(v), rank(v ^ half), passes * static_cast<double>(half) / static_cast<double>(p));
    for (std::size_t v = 0; v < extra; ++v) {
      add(members_[2 * v + 1], members_[2 * v], 1);
      if (passes > 1) add(members_[2 * v], members_[2 * v + 1], 1);
    }
  }

  void hierarchical(double passes) {
    const double n = static_cast<double>(members_.size()), nodes = static_cast<double>(nodes_.size());
    for (const auto& node : nodes_) {
      const double g = static_cast<double>(node.size());
      node_ring(node, passes * (g - 1) / g);
    }
    for (std::size_t i = 0; nodes_.size() > 1 && i < nodes_.size(); ++i)
      for (std::size_t place = 0; place < nodes_[i].size(); ++place)
        add(nodes_[i][place], nodes_[(i + 1) % nodes_.size()][place], passes * (nodes - 1) / n);
  }

  void shift() {
    for (std::size_t i = 0; i < members_.size(); ++i) add(members_[i], members_[(i + 1) % members_.size()], 1);
  }

  void exchange(double times) {
    for (const LinkLoad& load : cluster_.all_to_all_loads(members_))
      loads_.push_back({load.link, times * load.share});
  }

  void add(DeviceId from, DeviceId to, double share) {
    route_.clear();
    cluster_.append_route(from, to, route_);
    for (LinkId link : route_)
      if (cluster_[link].can_bind) loads_.push_back({link, share});
  }

  bool even() const {
    return std::all_of(nodes_.begin(), nodes_.end(),
                       [&](const auto& n) { return n.size() == nodes_[0].size(); });
  }

  // Loads of equal links summed, in order of their ids.
  std::vector<LinkLoad> take() {
    std::erase_if(loads_, [](const LinkLoad& load) { return load.share <= 0; });
    // Sorting suits a few links of a large machine, a table of all links suits most of them.
    if (loads_.size() > cluster_.link_count() / 4) return sum_by_table();
    std::stable_sort(loads_.begin(), loads_.end(),
                     [](const LinkLoad& a, const LinkLoad& b) { return a.link < b.link; });
    std::size_t kept = 0;
    for (const LinkLoad& load : loads_) {
      if (kept > 0 && loads_[kept - 1].link == load.link)
        loads_[kept - 1].share += load.share;
      else
        loads_[kept++] = load;
    }
    loads_.resize(kept);
    return std::move(loads_);
  }

 private:
  std::vector<LinkLoad> sum_by_table() const {
    IndexedVector<LinkId, double> sums(cluster_.link_count());
    for (const LinkLoad& load : loads_) sums[load.link] += load.share;
    std::vector<LinkLoad> merged;
    for (std::size_t i = 0; i < sums.size(); ++i)
      if (sums[LinkId(i)] > 0) merged.push_back({LinkId(i), sums[LinkId(i)]});
    return merged;
  }

  bool on_torus_fabric() const { return cluster_.spec().fabric.kind == FabricKind::Torus; }

  // Each device of a node sends and receives `share`, over all the wires that the group can use.
  void node_ring(const std::vector<DeviceId>& node, double share) {
    if (node.size() < 2) return;
    if (on_torus_fabric()) return torus_ring(node, share);
    switch (inside(cluster_, cluster_[node[0]].node)) {
      case Inside::Torus:
        return torus_ring(node, share);
      case Inside::Mesh:
        for (DeviceId from : node)
          for (DeviceId to : node)
            if (from != to) add(from, to, share / static_cast<double>(node.size() - 1));
        return;
      case Inside::Switch:
        for (std::size_t i = 0; i < node.size(); ++i) add(node[i], node[(i + 1) % node.size()], share);
        return;
    }
  }

  // One ring along each dimension that the members span, both ways round; a box of members only, one ring
  // otherwise.
  void torus_ring(std::span<const DeviceId> members, double share) {
    const TorusView view = torus_view(cluster_, members[0]);
    std::vector<std::vector<int>> places;
    for (DeviceId member : members) places.push_back(view.place(cluster_, member));
    std::vector<std::vector<int>> taken(view.sizes.size());
    std::size_t box = 1, dimensions = 0;
    for (std::size_t d = 0; d < view.sizes.size(); ++d) {
      for (const auto& place : places) taken[d].push_back(place[d]);
      std::sort(taken[d].begin(), taken[d].end());
      taken[d].erase(std::unique(taken[d].begin(), taken[d].end()), taken[d].end());
      box *= taken[d].size();
      dimensions += taken[d].size() > 1 ? 1 : 0;
    }
    if (box != members.size()) {
      for (std::size_t i = 0; i < members.size(); ++i)
        add(members[i], members[(i + 1) % members.size()], share);
      return;
    }
    // Ids of one dimension differ by its stride, in nodes and in fabrics alike.
    for (std::size_t i = 0; i < members.size(); ++i) {
      std::int64_t stride = 1;
      for (std::size_t d = 0; d < view.sizes.size(); ++d) {
        const std::vector<int>& line = taken[d];
        if (line.size() > 1) {
          const auto at =
              static_cast<std::size_t>(std::lower_bound(line.begin(), line.end(), places[i][d]) - line.begin());
          const int next = line[(at + 1) % line.size()], previous = line[(at + line.size() - 1) % line.size()];
          const double part = share / static_cast<double>(dimensions) / 2;
          for (int peer : {next, previous}) {
            const std::int64_t id = members[i].value + (peer - places[i][d]) * stride;
            add(members[i], DeviceId(static_cast<std::size_t>(id)), part);
          }
        }
        stride *= view.sizes[d];
      }
    }
  }

  // `share` from one node to another, over as many rails as the larger has members.
  void between(const std::vector<DeviceId>& from, const std::vector<DeviceId>& to, double share) {
    const std::size_t rails = std::max(from.size(), to.size());
    for (std::size_t r = 0; r < rails; ++r)
      add(from[r % from.size()], to[r % to.size()], share / static_cast<double>(rails));
  }

  // Two binary trees, half of the size each; a leaf of one is inside the other. Up, then down again.
  void trees_between() {
    const std::size_t n = nodes_.size();
    for (std::size_t node = 1; node < n; ++node) {
      const std::size_t parent = tree_parent(node, n);
      const auto mirrored = [&](std::size_t i) { return n % 2 == 0 ? n - 1 - i : (i + 1) % n; };
      for (const auto& [a, b] : {std::pair{node, parent}, std::pair{mirrored(node), mirrored(parent)}}) {
        between(nodes_[a], nodes_[b], 0.5);
        between(nodes_[b], nodes_[a], 0.5);
      }
    }
  }

  const Cluster& cluster_;
  std::span<const DeviceId> members_;
  std::vector<std::vector<DeviceId>> nodes_;
  std::vector<LinkLoad> loads_;
  std::vector<LinkId> route_;
};

}  // namespace

std::vector<LinkLoad> collective_loads(const Cluster& cluster, CollectiveKind kind, Algorithm chosen,
                                       std::span<const DeviceId> members) {
  if (members.size() < 2) return {};
  LoadMap loads(cluster, members);
  const double passes = kind == CollectiveKind::AllReduce ? 2 : 1;
  const Algorithm by = chosen == Algorithm::Nvls ? chosen : carried_by(kind, chosen);
  const bool all_reduce = kind == CollectiveKind::AllReduce;
  if (kind == CollectiveKind::Shift)
    loads.shift();
  else if (kind == CollectiveKind::AllToAll)
    loads.exchange(1);
  else if (by == Algorithm::Pairwise)
    loads.exchange(passes);
  else if (by == Algorithm::HalvingDoubling)
    loads.halving_doubling(passes);
  else if (by == Algorithm::Hierarchical && loads.even())
    loads.hierarchical(passes);
  else if (by == Algorithm::Tree && all_reduce)
    loads.tree();
  else if (by == Algorithm::Nvls && all_reduce)
    loads.nvls();
  else
    loads.ring(bus_factor(kind, members.size()));
  return loads.take();
}

std::vector<LinkLoad> message_loads(const Cluster& cluster, DeviceId from, DeviceId to) {
  const DeviceId pair[] = {from, to};
  LoadMap loads(cluster, pair);
  loads.add(from, to, 1);
  return loads.take();
}

double busiest_link(const Cluster& cluster, std::span<const LinkLoad> loads) {
  double most = 0;
  for (const LinkLoad& load : loads) most = std::max(most, load.share / cluster[load.link].capacity.value);
  return most;
}

}  // namespace tandem
