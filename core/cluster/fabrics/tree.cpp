// Trees of two or three levels. A fat tree's leaf holds whole nodes; a rail-optimised unit has one leaf a rail,
// so that equal ports of its nodes meet on one switch and only traffic between rails or units climbs. Parallel
// wires between two levels are one fat link: up = down capacity / oversubscription, and the same downwards.
#include <fmt/format.h>

#include <algorithm>

#include "core/cluster/layout.h"

namespace tandem {
namespace {

class Tree final : public LayoutFabric {
 public:
  explicit Tree(Layout& layout) : LayoutFabric(layout) {
    const FabricSpec& spec = layout.spec.fabric;
    const int nodes = static_cast<int>(layout.nodes.size());
    unit_size_ = std::min(spec.nodes_per_leaf, nodes);
    if (spec.kind == FabricKind::RailOptimised) {
      for (const NodeLayout& node : layout.node_layouts) rails_ = std::max(rails_, node.ports);
    }
    units_ = (nodes + unit_size_ - 1) / unit_size_;
    if (spec.levels == 3) pod_size_ = std::min(spec.leaves_per_pod, units_);
    add_links(layout, spec);
  }

  void append_route(DeviceId from, DeviceId to, std::vector<LinkId>& links) const override {
    const int a = leaf(from);
    const int b = leaf(to);
    if (a == b) return;
    push(leaf_up(a), links);
    const int pod_a = pod(a);
    const int pod_b = pod(b);
    if (pod_a != pod_b) {
      push(pod_up(pod_a), links);
      push(LinkId(pod_up(pod_b).value + 1), links);
    }
    push(LinkId(leaf_up(b).value + 1), links);
  }

  int hops(DeviceId from, DeviceId to) const override {
    const int a = leaf(from);
    const int b = leaf(to);
    if (a == b) return 1;
    return pod(a) == pod(b) ? 3 : 5;
  }

  std::string link_name(LinkId link) const override {
    const std::uint32_t offset = link.value - first_.value;
    const auto leaf = static_cast<int>(offset / 2);
    const std::string_view way = offset % 2 == 0 ? "up" : "down";
    if (leaf >= units_ * rails_) return fmt::format("pod{}.{}", leaf - units_ * rails_, way);
    if (layout_.spec.fabric.kind == FabricKind::FatTree) return fmt::format("leaf{}.{}", leaf, way);
    return fmt::format("unit{}.rail{}.{}", leaf / rails_, leaf % rails_, way);
  }

  void append_all_to_all(std::span<const DeviceId> members, std::vector<LinkLoad>& loads) const override;

 private:
  int leaf(NodeId node, int port) const {
    const int unit = static_cast<int>(node.value) / unit_size_;
    return rails_ == 1 ? unit : unit * rails_ + port;
  }
  int leaf(DeviceId device) const {
    return leaf(layout_.devices[device].node, rails_ == 1 ? 0 : layout_.port_of(device));
  }
  // With two levels everything is one pod.
  int pod(int leaf) const { return pod_size_ == 0 ? 0 : leaf / rails_ / pod_size_; }
  LinkId leaf_up(int leaf) const { return LinkId(first_.value + 2 * static_cast<std::size_t>(leaf)); }
  LinkId pod_up(int pod) const { return leaf_up(units_ * rails_ + pod); }
  void push(LinkId link, std::vector<LinkId>& links) const {
    if (layout_.links[link].can_bind) links.push_back(link);
  }
  void add_links(Layout& layout, const FabricSpec& spec);

  int unit_size_ = 1, units_ = 1, rails_ = 1;
  int pod_size_ = 0;  // units a pod; 0: two levels
  LinkId first_;      // leaf 0 up, leaf 0 down, leaf 1 up, …, pod 0 up, …
};

// A link can bind only when it carries less than both what lies below can send and what lies elsewhere can
// receive, counting the links that are kept in routes: ports, then leaves.
bool can_bind(double capacity, double inside, double outside) {
  return capacity < std::min(inside, outside) * (1 - 1e-9);
}

void Tree::add_links(Layout& layout, const FabricSpec& spec) {
  const auto leaves = static_cast<std::size_t>(units_) * static_cast<std::size_t>(rails_);
  std::vector<double> below(leaves, 0.0);
  double all = 0;
  for (std::size_t n = 0; n < layout.nodes.size(); ++n) {
    const NodeLayout& node = layout.of(NodeId(n));
    for (int port = 0; port < node.ports; ++port) {
      below[static_cast<std::size_t>(leaf(NodeId(n), port))] += node.port_capacity.value;
      all += node.port_capacity.value;
    }
  }
  first_ = LinkId(layout.links.size());
  const int pods = pod_size_ == 0 ? 0 : (units_ + pod_size_ - 1) / pod_size_;
  std::vector<double> pod_feed(static_cast<std::size_t>(pods), 0.0),
      pod_wires(static_cast<std::size_t>(pods), 0.0);
  double feed = 0;
  for (std::size_t i = 0; i < leaves; ++i) {
    const double capacity = below[i] / spec.oversubscription;
    const bool binds = can_bind(capacity, below[i], all - below[i]);
    // A rail that no node of this unit has: never routed over, but capacities stay positive.
    const Bandwidth wires(capacity > 0 ? capacity : layout.network->bandwidth.value);
    layout.add_fabric_link(wires, binds);
    layout.add_fabric_link(wires, binds);
    const double through = std::min(capacity, below[i]);
    feed += through;
    if (pods > 0) {
      const auto p = static_cast<std::size_t>(pod(static_cast<int>(i)));
      pod_feed[p] += through;
      pod_wires[p] += capacity;
    }
  }
  for (std::size_t p = 0; p < static_cast<std::size_t>(pods); ++p) {
    const double capacity = pod_wires[p] / spec.pod_oversubscription;
    const bool binds = can_bind(capacity, pod_feed[p], feed - pod_feed[p]);
    const Bandwidth wires(capacity > 0 ? capacity : layout.network->bandwidth.value);
    layout.add_fabric_link(wires, binds);
    layout.add_fabric_link(wires, binds);
  }
}

void Tree::append_all_to_all(std::span<const DeviceId> members, std::vector<LinkLoad>& loads) const {
  // Members behind one port group (all ports of a node that share a leaf).
  struct Group {
    int leaf;
    std::uint32_t node;
    double members;
  };
  const auto total = static_cast<double>(members.size());
  std::vector<Group> groups;
  std::vector<std::pair<std::uint32_t, double>> nodes;  // ascending, with their members
  for (DeviceId member : members) {
    const std::uint32_t node = layout_.devices[member].node.value;
    const int at = leaf(member);
    if (nodes.empty() || nodes.back().first != node) nodes.emplace_back(node, 0.0);
    nodes.back().second += 1;
    if (groups.empty() || groups.back().node != node || groups.back().leaf != at)
      groups.push_back({at, node, 0.0});
    groups.back().members += 1;
  }
  std::stable_sort(groups.begin(), groups.end(),
                   [](const Group& a, const Group& b) { return a.leaf < b.leaf; });
  const auto in_node = [&](std::uint32_t node) {
    return std::lower_bound(nodes.begin(), nodes.end(), std::pair(node, 0.0))->second;
  };
  const auto add = [&](LinkId up, double messages) {
    if (messages <= 0 || !layout_.links[up].can_bind) return;
    loads.push_back({up, messages / total});
    loads.push_back({LinkId(up.value + 1), messages / total});
  };
  double pod_members = 0;
  for (std::size_t begin = 0; begin < groups.size();) {
    std::size_t end = begin;
    double here = 0;
    while (end < groups.size() && groups[end].leaf == groups[begin].leaf) here += groups[end++].members;
    // Each sends to all that share neither its leaf nor its node; who shares both was taken off twice.
    double messages = 0;
    for (std::size_t i = begin; i < end; ++i) {
      messages += groups[i].members * (total - here - in_node(groups[i].node) + groups[i].members);
    }
    add(leaf_up(groups[begin].leaf), messages);
    pod_members += here;
    const bool last_of_pod = end == groups.size() || pod(groups[end].leaf) != pod(groups[begin].leaf);
    if (last_of_pod) {
      if (pod_size_ > 0) add(pod_up(pod(groups[begin].leaf)), pod_members * (total - pod_members));
      pod_members = 0;
    }
    begin = end;
  }
}

}  // namespace

std::unique_ptr<Fabric> make_tree(Layout& layout, Problems& problems) {
  // One node needs no tree, and may have no ports to wire it to.
  if (layout.nodes.size() == 1) return make_single_switch(layout, problems);
  return std::make_unique<Tree>(layout);
}

}  // namespace tandem
