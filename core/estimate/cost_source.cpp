// Asks a cluster and its cost model.
#include "core/estimate/cost_source.h"

#include "core/estimate/mix.h"

namespace tandem {

std::uint32_t ModelCostSource::device_key(DeviceId device) const {
  const Device& d = cluster_[device];
  return cluster_[d.node].type.value * static_cast<std::uint32_t>(cluster_.kinds().size()) + d.kind.value;
}
double ModelCostSource::slowdown(DeviceId device) const { return cluster_[device].slowdown; }
ComputeCost ModelCostSource::compute(const Compute& work, DeviceId device) const {
  return cost_.compute(work, cluster_[device].kind);
}
ComputeCost ModelCostSource::copy(const Copy& work, DeviceId device) const { return cost_.copy(work, device); }
ComputeCost ModelCostSource::input(const WaitForInput& work) const { return cost_.input(work); }
double ModelCostSource::overlap_slowdown(DeviceId device) const {
  return cost_.overlap_slowdown(cluster_[device].kind);
}
double ModelCostSource::straggler_factor() const { return cost_.straggler_factor(); }
bool ModelCostSource::host_waits_for_messages() const { return cost_.host_waits_for_messages(); }
std::optional<SharedCores> ModelCostSource::shared_cores(DeviceId device) const {
  return cost_.shared_cores(device);
}
std::uint32_t ModelCostSource::node(DeviceId device) const { return cluster_[device].node.value; }
std::size_t ModelCostSource::link_count() const { return cluster_.link_count(); }
Bandwidth ModelCostSource::capacity(LinkId link) const { return cluster_[link].capacity; }

// Which members share a node, at which places of it, of what kind, and how far apart neighbours in different
// nodes are.
std::uint64_t ModelCostSource::shape(std::span<const DeviceId> members) const {
  std::uint64_t hash = mix(members.size());
  std::uint32_t node_rank = 0;
  for (std::size_t i = 0; i < members.size(); ++i) {
    const Device& device = cluster_[members[i]];
    if (i > 0 && cluster_[members[i - 1]].node != device.node) {
      ++node_rank;
      hash = mix_number(hash, cluster_.latency(members[i - 1], members[i]).value);
    }
    const std::uint64_t place = (std::uint64_t{node_rank} << 32) | static_cast<std::uint32_t>(device.local);
    hash = mix(mix(hash, place), device_key(members[i]));
  }
  return hash;
}

CommunicationCost ModelCostSource::collective(const Collective& work, std::span<const DeviceId> members) const {
  return cost_.collective(work, members);
}
CommunicationCost ModelCostSource::message(Bytes size, DeviceId from, DeviceId to) const {
  return cost_.message(size, from, to);
}
std::vector<LinkLoad> ModelCostSource::loads(const Collective& work, Algorithm chosen,
                                             std::span<const DeviceId> members) const {
  return cost_.loads(work, chosen, members);
}
std::vector<LinkLoad> ModelCostSource::loads(DeviceId from, DeviceId to) const { return cost_.loads(from, to); }

}  // namespace tandem
