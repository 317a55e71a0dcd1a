// The invariants of a built cluster.
#include <cmath>

#include "core/cluster/cluster.h"
#include "core/problem/problem.h"

namespace tandem {

void check_cluster(const Cluster& cluster, std::size_t pairs) {
  const std::size_t devices = cluster.device_count();
  check(devices > 0, "a cluster has devices");
  std::size_t next = 0;
  for (std::size_t n = 0; n < cluster.node_count(); ++n) {
    const Node& node = cluster[NodeId(n)];
    check(node.first.value == next && node.devices > 0,
          "devices of a node are contiguous and ascend with the nodes");
    for (int local = 0; local < node.devices; ++local, ++next) {
      const Device& device = cluster[DeviceId(next)];
      check(device.node.value == n && device.local == local, "a device knows its node and place");
      check(device.slowdown > 0 && std::isfinite(device.slowdown), "a device's slowdown is positive");
    }
  }
  check(next == devices, "every device is in a node");
  for (std::size_t i = 0; i < cluster.link_count(); ++i) {
    const double capacity = cluster[LinkId(i)].capacity.value;
    check(capacity > 0 && std::isfinite(capacity), "a link's capacity is positive");
  }
  std::vector<LinkId> route;
  // Strides that share no factor with most counts visit near and far pairs alike.
  for (std::size_t i = 0; i < pairs; ++i) {
    const DeviceId from(i * 7919 % devices);
    const DeviceId to((i * 7919 + i * 104729 / devices + i + 1) % devices);
    route.clear();
    cluster.append_route(from, to, route);
    check(from != to || route.empty(), "a device reaches itself over no link");
    check(from == to || !route.empty(), "every pair of devices has a route");
    for (LinkId link : route) {
      check(link.value < cluster.link_count(), "a route's links exist");
      check(cluster[link].can_bind, "a route names only links that can bind");
    }
    const double latency = cluster.latency(from, to).value;
    check(latency >= 0 && std::isfinite(latency), "latencies are finite");
  }
}

}  // namespace tandem
