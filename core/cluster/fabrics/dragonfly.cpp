// Dragonfly: groups of fully connected routers, every pair of groups joined; minimal routing (local, global,
// local). Rates follow the balanced design of Kim, Dally, Scott, Abts 2008 (a = 2p = 2h), spread evenly where
// the numbers differ: with D the ports' rate of an average router and a routers a group, a local wire has 2 D /
// a and the wires between two of g groups a D / (g - 1) / oversubscription in all.
#include <fmt/format.h>

#include <algorithm>

#include "core/cluster/layout.h"

namespace tandem {
namespace {

class Dragonfly final : public LayoutFabric {
 public:
  explicit Dragonfly(Layout& layout)
      : LayoutFabric(layout),
        groups_(layout.spec.fabric.dragonfly_groups),
        routers_(layout.spec.fabric.dragonfly_routers),
        cables_(groups_ > 1 ? std::max(1, routers_ / (groups_ - 1)) : 0) {
    double ports = 0;
    for (const Node& node : layout.nodes) ports += layout.node_layouts[node.type.value].node_capacity().value;
    const double router = ports / groups_ / routers_;
    first_local_ = LinkId(layout.links.size());
    const std::size_t locals = count(groups_) * count(routers_) * count(routers_ - 1);
    const double local = 2 * router / routers_;
    // No link carries more than all ports of the cluster together send.
    for (std::size_t i = 0; i < locals; ++i) layout.add_fabric_link(Bandwidth(local), local < ports);
    first_global_ = LinkId(layout.links.size());
    const std::size_t globals = count(groups_) * count(groups_ - 1) * count(cables_);
    const double global =
        groups_ > 1 ? router * routers_ / (groups_ - 1) / cables_ / layout.spec.fabric.oversubscription : 0;
    for (std::size_t i = 0; i < globals; ++i) layout.add_fabric_link(Bandwidth(global), global < ports);
  }

  void append_route(DeviceId from, DeviceId to, std::vector<LinkId>& links) const override {
    const Way way = find_way(from, to);
    if (way.group_a == way.group_b) return push_local(way.group_a, way.router_a, way.router_b, links);
    push_local(way.group_a, way.router_a, way.exit, links);
    push(global(way.group_a, way.group_b, way.cable), links);
    push_local(way.group_b, way.entry, way.router_b, links);
  }

  int hops(DeviceId from, DeviceId to) const override {
    const Way way = find_way(from, to);
    if (way.group_a == way.group_b) return way.router_a == way.router_b ? 1 : 2;
    return 2 + (way.router_a != way.exit ? 1 : 0) + (way.entry != way.router_b ? 1 : 0);
  }

  std::string link_name(LinkId link) const override {
    if (link < first_global_) {
      const int offset = static_cast<int>(link.value - first_local_.value);
      const int router = offset / (routers_ - 1);
      const int other = offset % (routers_ - 1);
      const int from = router % routers_;
      return fmt::format("group{}.router{}.to-router{}", router / routers_, from,
                         other >= from ? other + 1 : other);
    }
    const int offset = static_cast<int>(link.value - first_global_.value);
    const int pair = offset / cables_;
    const int from = pair / (groups_ - 1);
    const int other = pair % (groups_ - 1);
    return fmt::format("group{}.to-group{}.cable{}", from, other >= from ? other + 1 : other, offset % cables_);
  }

 private:
  std::size_t place(DeviceId device) const override { return static_cast<std::size_t>(router(device)); }
  struct Way {
    int group_a, router_a, group_b, router_b, cable = 0, exit = 0, entry = 0;
  };

  static std::size_t count(int n) { return static_cast<std::size_t>(std::max(n, 0)); }
  int router(DeviceId device) const {
    const std::int64_t node = layout_.devices[device].node.value;
    return static_cast<int>(node * groups_ * routers_ / static_cast<std::int64_t>(layout_.nodes.size()));
  }
  // The router of `group` that holds the given cable to `other`.
  int gateway(int group, int other, int cable) const {
    const int place = (other - group - 1 + groups_) % groups_;
    return (cable * (groups_ - 1) + place) % routers_;
  }
  Way find_way(DeviceId from, DeviceId to) const {
    const int a = router(from);
    const int b = router(to);
    Way way{a / routers_, a % routers_, b / routers_, b % routers_};
    if (way.group_a == way.group_b) return way;
    // A router uses its own cable where it has one, else one of its neighbours in rank.
    way.cable = std::min(way.router_a / (groups_ - 1), cables_ - 1);
    way.exit = gateway(way.group_a, way.group_b, way.cable);
    way.entry = gateway(way.group_b, way.group_a, way.cable);
    return way;
  }
  LinkId global(int from, int to, int cable) const {
    const int pair = from * (groups_ - 1) + (to > from ? to - 1 : to);
    return LinkId(first_global_.value + count(pair) * count(cables_) + count(cable));
  }
  void push_local(int group, int from, int to, std::vector<LinkId>& links) const {
    if (from == to) return;
    const std::size_t router = count(group) * count(routers_) + count(from);
    push(LinkId(first_local_.value + router * count(routers_ - 1) + count(to > from ? to - 1 : to)), links);
  }
  void push(LinkId link, std::vector<LinkId>& links) const {
    if (layout_.links[link].can_bind) links.push_back(link);
  }

  int groups_, routers_;
  int cables_;  // between any two groups
  LinkId first_local_, first_global_;
};

}  // namespace

std::unique_ptr<Fabric> make_dragonfly(Layout& layout, Problems& problems) {
  const FabricSpec& spec = layout.spec.fabric;
  constexpr int most = 1024;
  if (spec.dragonfly_groups < 1 || spec.dragonfly_routers < 1 || spec.dragonfly_groups > most ||
      spec.dragonfly_routers > most) {
    problems.add(Where{},
                 fmt::format("fabric: a dragonfly of {} groups with {} routers each cannot be built",
                             spec.dragonfly_groups, spec.dragonfly_routers),
                 fmt::format("give groups and routers between 1 and {}", most));
    return nullptr;
  }
  const std::int64_t g = spec.dragonfly_groups;
  const std::int64_t a = spec.dragonfly_routers;
  if (g * a * (a + g) > 1 << 22) {
    problems.add(Where{},
                 fmt::format("fabric: a dragonfly of {} groups with {} routers each has too many wires", g, a),
                 "use fewer groups or routers");
    return nullptr;
  }
  // One node needs no routers, and may have no ports to wire them to.
  if (layout.nodes.size() == 1) return make_single_switch(layout, problems);
  return std::make_unique<Dragonfly>(layout);
}

}  // namespace tandem
