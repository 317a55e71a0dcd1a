// What playing a task graph asks of the machine and the cost model, so that both can be replaced in tests.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/cost/cost_model.h"

namespace tandem {

class CostSource {
 public:
  virtual ~CostSource() = default;

  // Devices with equal keys have equal compute and copy costs (before `slowdown`) and equal overlap slow-downs.
  virtual std::uint32_t device_key(DeviceId) const = 0;
  // Factor >= 1 on computation of this device alone.
  virtual double slowdown(DeviceId) const = 0;
  virtual ComputeCost compute(const Compute&, DeviceId) const = 0;
  virtual ComputeCost copy(const Copy&, DeviceId) const = 0;
  virtual ComputeCost input(const WaitForInput&) const = 0;
  virtual double overlap_slowdown(DeviceId) const = 0;
  virtual double straggler_factor() const = 0;
  // The host issues nothing behind a receive before the message is there.
  virtual bool host_waits_for_messages() const { return false; }
  // What the device shares with the others of its node; nothing: a device of its own.
  virtual std::optional<SharedCores> shared_cores(DeviceId) const { return std::nullopt; }
  virtual std::uint32_t node(DeviceId) const { return 0; }

  virtual std::size_t link_count() const = 0;
  virtual Bandwidth capacity(LinkId) const = 0;
  // Groups (members in place order) with equal values have equal costs for every collective; two members in
  // order: for every message.
  virtual std::uint64_t shape(std::span<const DeviceId> members) const = 0;
  virtual CommunicationCost collective(const Collective&, std::span<const DeviceId> members) const = 0;
  virtual CommunicationCost message(Bytes, DeviceId from, DeviceId to) const = 0;
  virtual std::vector<LinkLoad> loads(const Collective&, Algorithm chosen,
                                      std::span<const DeviceId> members) const = 0;
  virtual std::vector<LinkLoad> loads(DeviceId from, DeviceId to) const = 0;
};

// The real thing: a cluster and its cost model, both outliving this.
class ModelCostSource final : public CostSource {
 public:
  ModelCostSource(const Cluster& cluster, const CostModel& cost) : cluster_(cluster), cost_(cost) {}

  std::uint32_t device_key(DeviceId) const override;
  double slowdown(DeviceId) const override;
  ComputeCost compute(const Compute&, DeviceId) const override;
  ComputeCost copy(const Copy&, DeviceId) const override;
  ComputeCost input(const WaitForInput&) const override;
  double overlap_slowdown(DeviceId) const override;
  double straggler_factor() const override;
  bool host_waits_for_messages() const override;
  std::optional<SharedCores> shared_cores(DeviceId) const override;
  std::uint32_t node(DeviceId) const override;
  std::size_t link_count() const override;
  Bandwidth capacity(LinkId) const override;
  std::uint64_t shape(std::span<const DeviceId> members) const override;
  CommunicationCost collective(const Collective&, std::span<const DeviceId> members) const override;
  CommunicationCost message(Bytes, DeviceId from, DeviceId to) const override;
  std::vector<LinkLoad> loads(const Collective&, Algorithm chosen,
                              std::span<const DeviceId> members) const override;
  std::vector<LinkLoad> loads(DeviceId from, DeviceId to) const override;

 private:
  const Cluster& cluster_;
  const CostModel& cost_;
};

}  // namespace tandem
