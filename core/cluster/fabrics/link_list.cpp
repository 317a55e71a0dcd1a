// A plain list of duplex wires between nodes and named switches; routes are the ways with the fewest wires, the
// same both ways round, ties by the order of the list. Nodes without ports send straight into their wires.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>

#include "core/cluster/layout.h"

namespace tandem {
namespace {

// Points of a list: the table of routes grows with their square.
constexpr std::size_t most_points = 2048;

struct Wire {
  std::uint32_t from, to;
  Seconds latency;
};

class LinkList final : public LayoutFabric {
 public:
  LinkList(Layout& layout, std::vector<std::string> points, std::vector<Wire> wires)
      : LayoutFabric(layout), points_(std::move(points)), wires_(std::move(wires)) {
    const double efficiency = layout.network->efficiency;
    std::vector<int> degree(points_.size(), 0);
    for (const Wire& wire : wires_) {
      ++degree[wire.from];
      ++degree[wire.to];
    }
    first_ = LinkId(layout.links.size());
    for (std::size_t i = 0; i < wires_.size(); ++i) {
      const Bandwidth capacity = layout.spec.fabric.links[i].bandwidth * efficiency;
      const bool binds = !wider_than_ports(wires_[i].from, degree, capacity) &&
                         !wider_than_ports(wires_[i].to, degree, capacity);
      layout.add_fabric_link(capacity, binds);
      layout.add_fabric_link(capacity, binds);
    }
    find_ways(layout.nodes.size());
  }

  // The first pair of nodes without a way, if any.
  std::optional<std::pair<std::size_t, std::size_t>> unreachable() const {
    for (std::size_t target = 0; target < layout_.nodes.size(); ++target) {
      for (std::size_t node = 0; node < layout_.nodes.size(); ++node) {
        if (node != target && next_[target][node] == none) return std::pair(node, target);
      }
    }
    return std::nullopt;
  }

  void append_route(DeviceId from, DeviceId to, std::vector<LinkId>& links) const override {
    const std::size_t begin = links.size();
    walk(from, to, [&](std::uint32_t link, std::uint32_t back, bool swapped) {
      const LinkId id(first_.value + (swapped ? back : link));
      if (layout_.links[id].can_bind) links.push_back(id);
    });
    if (layout_.devices[from].node > layout_.devices[to].node) {
      std::reverse(links.begin() + static_cast<std::ptrdiff_t>(begin), links.end());
    }
  }
  int hops(DeviceId from, DeviceId to) const override {
    int wires = 0;
    walk(from, to, [&](std::uint32_t, std::uint32_t, bool) { ++wires; });
    return wires - 1;
  }
  // The wires as listed, and the network's switch latency for every point between.
  Seconds latency(DeviceId from, DeviceId to) const override {
    Seconds sum = layout_.network->switch_latency * hops(from, to);
    walk(from, to, [&](std::uint32_t link, std::uint32_t, bool) { sum += wires_[link / 2].latency; });
    return sum;
  }
  std::string link_name(LinkId id) const override {
    const std::uint32_t offset = id.value - first_.value;
    const Wire& wire = wires_[offset / 2];
    const bool forward = offset % 2 == 0;
    return fmt::format("{}.to-{}", points_[forward ? wire.from : wire.to],
                       points_[forward ? wire.to : wire.from]);
  }

 private:
  static constexpr std::uint32_t none = ~0u;

  std::size_t place(DeviceId device) const override { return layout_.devices[device].node.value; }

  // A wire that only one node uses, and that takes all its ports can send.
  bool wider_than_ports(std::uint32_t point, const std::vector<int>& degree, Bandwidth capacity) const {
    if (point >= layout_.nodes.size() || degree[point] != 1) return false;
    const NodeLayout& node = layout_.of(NodeId(point));
    return node.ports > 0 && capacity >= node.node_capacity();
  }

  // next_[target][point]: the directed link (2 x wire, +1 backwards) towards the target node.
  void find_ways(std::size_t nodes) {
    std::vector<std::vector<std::uint32_t>> arriving(points_.size());
    for (std::uint32_t i = 0; i < wires_.size(); ++i) {
      arriving[wires_[i].to].push_back(2 * i);
      arriving[wires_[i].from].push_back(2 * i + 1);
    }
    next_.assign(nodes, std::vector<std::uint32_t>(points_.size(), none));
    std::vector<std::uint32_t> queue;
    for (std::uint32_t target = 0; target < nodes; ++target) {
      queue.assign(1, target);
      for (std::size_t head = 0; head < queue.size(); ++head) {
        for (std::uint32_t link : arriving[queue[head]]) {
          const std::uint32_t point = source(link);
          if (point == target || next_[target][point] != none) continue;
          next_[target][point] = link;
          queue.push_back(point);
        }
      }
    }
  }
  std::uint32_t source(std::uint32_t link) const {
    return link % 2 == 0 ? wires_[link / 2].from : wires_[link / 2].to;
  }

  // Walks from the lower node to the higher; visit(link, its opposite, whether the message goes the other way).
  template <class Visit>
  void walk(DeviceId from, DeviceId to, Visit visit) const {
    const std::uint32_t a = layout_.devices[from].node.value;
    const std::uint32_t b = layout_.devices[to].node.value;
    const std::uint32_t target = std::max(a, b);
    for (std::uint32_t point = std::min(a, b); point != target;) {
      const std::uint32_t link = next_[target][point];
      visit(link, link ^ 1u, a > b);
      point = source(link ^ 1u);
    }
  }

  std::vector<std::string> points_;  // nodes first, then switches
  std::vector<Wire> wires_;
  std::vector<std::vector<std::uint32_t>> next_;
  LinkId first_;
};

// Numbers the ends of the wires: "node7" is node 7, every other name a switch.
struct PointNumbers {
  std::vector<std::string> names;
  std::map<std::string, std::uint32_t> known;
  std::size_t nodes;

  explicit PointNumbers(std::size_t node_count) : nodes(node_count) {
    for (std::size_t n = 0; n < nodes; ++n) names.push_back(fmt::format("node{}", n));
    for (std::size_t n = 0; n < nodes; ++n) known[names[n]] = static_cast<std::uint32_t>(n);
  }
  std::optional<std::uint32_t> number(const std::string& name) {
    if (const auto found = known.find(name); found != known.end()) return found->second;
    const bool node_like =
        name.starts_with("node") && name.size() > 4 &&
        std::all_of(name.begin() + 4, name.end(), [](char c) { return c >= '0' && c <= '9'; });
    if (node_like || name.empty()) return std::nullopt;
    known[name] = static_cast<std::uint32_t>(names.size());
    names.push_back(name);
    return known[name];
  }
};

}  // namespace

std::unique_ptr<Fabric> make_link_list(Layout& layout, Problems& problems) {
  const auto& listed = layout.spec.fabric.links;
  if (layout.nodes.size() > most_points) {
    problems.add(Where{}, fmt::format("fabric: a link list serves at most {} nodes and switches", most_points),
                 "use a fat tree, a dragonfly or a torus");
    return nullptr;
  }
  const std::size_t before = problems.list().size();
  PointNumbers points(layout.nodes.size());
  std::vector<Wire> wires;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::size_t> seen;
  for (std::size_t i = 0; i < listed.size(); ++i) {
    const FabricSpec::WireSpec& wire = listed[i];
    const std::string owner = fmt::format("fabric: link {} ({} - {})", i + 1, wire.from, wire.to);
    if (!(wire.bandwidth.value >= 1e-3 && wire.bandwidth.value <= 1e18)) {
      problems.add(Where{},
                   fmt::format("{}: bandwidth = {} B/s is not a sensible value", owner, wire.bandwidth.value));
    }
    if (!(wire.latency.value >= 0 && wire.latency.value <= 1e3)) {
      problems.add(Where{},
                   fmt::format("{}: latency = {} s is not a sensible value", owner, wire.latency.value));
    }
    const auto from = points.number(wire.from);
    const auto to = points.number(wire.to);
    for (const auto& [end, name] : {std::pair(from, wire.from), std::pair(to, wire.to)}) {
      if (!end) {
        problems.add(Where{}, fmt::format("{}: \"{}\" does not exist", owner, name),
                     fmt::format("nodes are node0 … node{}", layout.nodes.size() - 1));
      }
    }
    if (!from || !to) continue;
    if (*from == *to) problems.add(Where{}, owner + " joins a point to itself");
    const auto [first, added] = seen.try_emplace(std::minmax(*from, *to), i + 1);
    if (!added) {
      problems.add(Where{}, fmt::format("{} repeats link {}", owner, first->second),
                   "give one wire the sum of the bandwidths");
    }
    wires.push_back({*from, *to, wire.latency});
  }
  if (points.names.size() > most_points) {
    problems.add(Where{}, fmt::format("fabric: {} nodes and switches, a link list serves at most {}",
                                      points.names.size(), most_points));
  }
  if (problems.list().size() > before) return nullptr;
  auto fabric = std::make_unique<LinkList>(layout, std::move(points.names), std::move(wires));
  if (const auto pair = fabric->unreachable()) {
    problems.add(Where{}, fmt::format("fabric: no way leads from node{} to node{}", pair->first, pair->second),
                 "add a link that joins them, or their switches");
    return nullptr;
  }
  return fabric;
}

}  // namespace tandem
