// A machine whose costs are closed formulas: nodes with wires of their own, a port a device, leaves with shared
// uplinks.
#pragma once
#include <algorithm>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "core/estimate/cost_source.h"
#include "core/estimate/mix.h"

namespace tandem::testing {

struct SyntheticMachine {
  std::uint32_t devices = 8, devices_per_node = 8, nodes_per_leaf = 4;
  double wire = 400e9, port = 50e9;  // B/s a device and direction
  double oversubscription = 1;       // uplink of a leaf: its ports / this
  double latency = 5e-6;             // s a hop
  double overlap = 1;
  double issue = 0;                           // s of the host a communication
  std::map<std::uint32_t, double> slow = {};  // factor by device
  std::optional<SharedCores> cores = {};      // that devices of a node share; then nothing loads a link
};

class SyntheticCosts final : public CostSource {
 public:
  explicit SyntheticCosts(SyntheticMachine machine) : machine_(std::move(machine)) {}

  std::uint32_t device_key(DeviceId) const override { return 0; }
  double slowdown(DeviceId device) const override {
    const auto found = machine_.slow.find(device.value);
    return found == machine_.slow.end() ? 1 : found->second;
  }
  ComputeCost compute(const Compute& work, DeviceId) const override {
    const auto& pass = std::get<MemoryPass>(work.kernel);
    return {Seconds(pass.elements), Seconds(pass.bytes.value)};
  }
  ComputeCost copy(const Copy& work, DeviceId) const override {
    return {work.size / Bandwidth(machine_.port), {}};
  }
  ComputeCost input(const WaitForInput& work) const override { return {{}, work.host}; }
  double overlap_slowdown(DeviceId) const override { return machine_.overlap; }
  double straggler_factor() const override { return 1; }
  std::optional<SharedCores> shared_cores(DeviceId) const override { return machine_.cores; }
  std::uint32_t node(DeviceId device) const override { return device.value / machine_.devices_per_node; }

  std::size_t link_count() const override { return 4 * machine_.devices + 2 * leaves(); }
  Bandwidth capacity(LinkId link) const override {
    if (link.value >= 4 * machine_.devices) {
      const double ports = machine_.port * machine_.nodes_per_leaf * machine_.devices_per_node;
      return Bandwidth(ports / machine_.oversubscription);
    }
    return Bandwidth(link.value % 4 < 2 ? machine_.wire : machine_.port);
  }

  std::uint64_t shape(std::span<const DeviceId> members) const override {
    std::uint64_t hash = mix(members.size());
    for (std::size_t i = 0; i < members.size(); ++i) {
      const DeviceId next = members[(i + 1) % members.size()];
      hash = mix(hash, std::uint64_t{node(members[i]) == node(next)} * 2 +
                           std::uint64_t{leaf(members[i]) == leaf(next)});
    }
    return hash;
  }

  // Rings in place order: n - 1 steps (all-reduce twice as many), each with one latency.
  CommunicationCost collective(const Collective& work, std::span<const DeviceId> members) const override {
    const double steps =
        static_cast<double>(members.size() - 1) * (work.kind == CollectiveKind::AllReduce ? 2 : 1);
    double transfer = 0;
    for (const LinkLoad& load : all_loads(work, members)) {
      transfer = std::max(transfer, load.share * work.size.value / capacity(load.link).value);
    }
    return {Seconds(steps * machine_.latency), Seconds(transfer), Algorithm::Ring, "", Seconds(machine_.issue)};
  }
  CommunicationCost message(Bytes size, DeviceId from, DeviceId to) const override {
    double slowest = 0;
    for (const LinkLoad& load : route(from, to))
      slowest = std::max(slowest, size.value / capacity(load.link).value);
    return {Seconds(machine_.latency), Seconds(slowest), Algorithm::Ring, "", Seconds(machine_.issue)};
  }
  std::vector<LinkLoad> loads(const Collective& work, Algorithm,
                              std::span<const DeviceId> members) const override {
    return machine_.cores ? std::vector<LinkLoad>() : all_loads(work, members);
  }
  std::vector<LinkLoad> loads(DeviceId from, DeviceId to) const override {
    return machine_.cores ? std::vector<LinkLoad>() : route(from, to);
  }

 private:
  std::vector<LinkLoad> all_loads(const Collective& work, std::span<const DeviceId> members) const {
    std::map<LinkId, double> sum;
    const double share = bus_factor(work.kind, members.size());
    if (members.size() > 1) {
      for (std::size_t i = 0; i < members.size(); ++i) {
        for (const LinkLoad& load : route(members[i], members[(i + 1) % members.size()]))
          sum[load.link] += share;
      }
    }
    std::vector<LinkLoad> result;
    for (const auto& [link, total] : sum) result.push_back({link, total});
    return result;
  }
  std::vector<LinkLoad> route(DeviceId from, DeviceId to) const {
    if (from == to) return {};
    if (node(from) == node(to)) return {{LinkId(4 * from.value), 1}, {LinkId(4 * to.value + 1), 1}};
    std::vector<LinkLoad> route = {{LinkId(4 * from.value + 2), 1}, {LinkId(4 * to.value + 3), 1}};
    if (leaf(from) != leaf(to)) {
      route.push_back({LinkId(4 * machine_.devices + 2 * leaf(from)), 1});
      route.push_back({LinkId(4 * machine_.devices + 2 * leaf(to) + 1), 1});
    }
    return route;
  }
  std::uint32_t leaf(DeviceId device) const { return node(device) / machine_.nodes_per_leaf; }
  std::uint32_t leaves() const {
    const std::uint32_t a_leaf = machine_.devices_per_node * machine_.nodes_per_leaf;
    return (machine_.devices + a_leaf - 1) / a_leaf;
  }
  SyntheticMachine machine_;
};

}  // namespace tandem::testing
