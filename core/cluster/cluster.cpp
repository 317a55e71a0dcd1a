// A cluster's answers: routes, latencies, loads, names, price and power.
#include "core/cluster/cluster.h"

#include <algorithm>

#include "core/cluster/cluster_state.h"

namespace tandem {
namespace {

// Sums the loads of equal links and drops those that cannot bind.
void merge(const Layout& layout, std::vector<LinkLoad>& loads) {
  std::erase_if(loads,
                [&](const LinkLoad& load) { return !layout.links[load.link].can_bind || load.share <= 0; });
  std::stable_sort(loads.begin(), loads.end(),
                   [](const LinkLoad& a, const LinkLoad& b) { return a.link < b.link; });
  std::size_t kept = 0;
  for (const LinkLoad& load : loads) {
    if (kept > 0 && loads[kept - 1].link == load.link) {
      loads[kept - 1].share += load.share;
    } else {
      loads[kept++] = load;
    }
  }
  loads.resize(kept);
}

// One past the last of the members that begin at `begin` and share its node.
std::size_t node_end(const Layout& layout, std::span<const DeviceId> members, std::size_t begin) {
  const NodeId node = layout.devices[members[begin]].node;
  std::size_t end = begin + 1;
  while (end < members.size() && layout.devices[members[end]].node == node) ++end;
  return end;
}

}  // namespace

const std::string& Cluster::name() const { return state_->layout.spec.name; }
std::size_t Cluster::device_count() const { return state_->layout.devices.size(); }
std::size_t Cluster::node_count() const { return state_->layout.nodes.size(); }
std::size_t Cluster::link_count() const { return state_->layout.links.size(); }
const Device& Cluster::operator[](DeviceId id) const { return state_->layout.devices[id]; }
const Node& Cluster::operator[](NodeId id) const { return state_->layout.nodes[id]; }
const Link& Cluster::operator[](LinkId id) const { return state_->layout.links[id]; }
const DeviceKind& Cluster::kind(DeviceId id) const { return state_->layout.kinds[(*this)[id].kind.value]; }
const DeviceKind& Cluster::operator[](DeviceKindId id) const { return state_->layout.kinds[id.value]; }
const NodeType& Cluster::type(NodeId id) const { return state_->layout.types[(*this)[id].type.value]; }
std::span<const DeviceKind> Cluster::kinds() const { return state_->layout.kinds; }
const LinkTechnology* Cluster::intra_link(NodeId id) const { return state_->layout.of(id).intra; }
const LinkTechnology& Cluster::network() const { return *state_->layout.network; }
const LinkTechnology* Cluster::host_link(NodeId id) const { return state_->layout.of(id).host; }
const ClusterSpec& Cluster::spec() const { return state_->layout.spec; }
const Fabric& Cluster::fabric() const { return *state_->fabric; }

Bandwidth Cluster::port_bandwidth_per_device(DeviceId id) const {
  const NodeId node = (*this)[id].node;
  return port_bandwidth_per_node(node) / state_->layout.of(node).devices;
}
Bandwidth Cluster::port_bandwidth_per_node(NodeId id) const {
  const int ports = type(id).ports;
  return ports == 0 ? Bandwidth(0) : state_->layout.of(id).network->bandwidth * ports;
}

std::string Cluster::link_name(LinkId link) const {
  const Layout& layout = state_->layout;
  if (link >= layout.first_fabric_link) return state_->fabric->link_name(link);
  const auto after = std::upper_bound(layout.first_link.begin(), layout.first_link.end(), link);
  return node_link_name(layout, NodeId(static_cast<std::size_t>(after - layout.first_link.begin()) - 1), link);
}

void Cluster::append_route(DeviceId from, DeviceId to, std::vector<LinkId>& links) const {
  if (from == to) return;
  const Layout& layout = state_->layout;
  const NodeId a = layout.devices[from].node;
  const NodeId b = layout.devices[to].node;
  if (a == b && layout.of(a).meeting != Meeting::Fabric) return append_node_route(layout, from, to, links);
  if (!state_->fabric->uses_ports()) return state_->fabric->append_route(from, to, links);
  if (layout.of(a).ports > 0) links.push_back(layout.port_up(a, layout.port_of(from)));
  state_->fabric->append_route(from, to, links);
  if (layout.of(b).ports > 0) links.push_back(layout.port_down(b, layout.port_of(to)));
}

Seconds Cluster::latency(DeviceId from, DeviceId to) const {
  if (from == to) return Seconds(0);
  const Layout& layout = state_->layout;
  const NodeId node = layout.devices[from].node;
  if (node == layout.devices[to].node && layout.of(node).meeting != Meeting::Fabric) {
    return node_latency(layout, from, to);
  }
  return state_->fabric->latency(from, to);
}

std::vector<LinkLoad> Cluster::all_to_all_loads(std::span<const DeviceId> members) const {
  const Layout& layout = state_->layout;
  std::vector<DeviceId> sorted(members.begin(), members.end());
  std::sort(sorted.begin(), sorted.end());
  const double share = sorted.empty() ? 0 : 1 / static_cast<double>(sorted.size());
  std::vector<LinkLoad> loads;
  for (std::size_t begin = 0; begin < sorted.size();) {
    const std::size_t end = node_end(layout, sorted, begin);
    const std::span<const DeviceId> here(sorted.data() + begin, end - begin);
    append_node_all_to_all(layout, here, share, loads);
    const NodeId node = layout.devices[here[0]].node;
    if (state_->fabric->uses_ports() && layout.of(node).ports > 0) {
      const double outside = static_cast<double>(sorted.size() - here.size()) * share;
      for (DeviceId member : here) {
        const int port = layout.port_of(member);
        loads.push_back({layout.port_up(node, port), outside});
        loads.push_back({layout.port_down(node, port), outside});
      }
    }
    begin = end;
  }
  state_->fabric->append_all_to_all(sorted, loads);
  merge(layout, loads);
  return loads;
}

std::optional<double> Cluster::usd_per_hour() const {
  double sum = 0;
  for (const NodeGroupSpec& group : spec().groups) {
    if (!group.device.price) return std::nullopt;
    sum += group.device.price->usd_per_device_hour() * group.type.devices * group.count;
  }
  return sum;
}

std::optional<Power> Cluster::power() const {
  Power sum;
  for (const NodeGroupSpec& group : spec().groups) {
    if (group.device.power.value <= 0) return std::nullopt;
    sum += group.device.power * group.type.devices * group.count;
  }
  return sum;
}

Seconds LayoutFabric::latency(DeviceId from, DeviceId to) const {
  // The slower adapter of the two ends decides.
  const LinkTechnology& a = *layout_.of(layout_.devices[from].node).network;
  const LinkTechnology& b = *layout_.of(layout_.devices[to].node).network;
  const LinkTechnology& slower = a.latency < b.latency ? b : a;
  return slower.latency + slower.switch_latency * hops(from, to);
}

void LayoutFabric::append_all_to_all(std::span<const DeviceId> members, std::vector<LinkLoad>& loads) const {
  struct Group {
    DeviceId first;
    double members;
  };
  std::vector<Group> groups;
  for (DeviceId member : members) {
    if (groups.empty() || place(groups.back().first) != place(member)) groups.push_back({member, 0.0});
    groups.back().members += 1;
  }
  const auto visit = [&](auto add) {
    std::vector<LinkId> route;
    for (const Group& from : groups) {
      const NodeId node = layout_.devices[from.first].node;
      const bool meets_inside = layout_.of(node).meeting != Meeting::Fabric;
      for (const Group& to : groups) {
        if (&from == &to || (meets_inside && node == layout_.devices[to.first].node)) continue;
        route.clear();
        append_route(from.first, to.first, route);
        for (LinkId link : route) add(link, from.members * to.members / static_cast<double>(members.size()));
      }
    }
  };
  // Few pairs: their loads as they come (the caller sums them); many: a sum for every link.
  if (groups.size() * groups.size() < layout_.links.size() / 8) {
    return visit([&](LinkId link, double share) { loads.push_back({link, share}); });
  }
  IndexedVector<LinkId, double> sums(layout_.links.size());
  visit([&](LinkId link, double share) { sums[link] += share; });
  for (std::size_t i = layout_.first_fabric_link.value; i < sums.size(); ++i) {
    if (sums[LinkId(i)] > 0) loads.push_back({LinkId(i), sums[LinkId(i)]});
  }
}

}  // namespace tandem
