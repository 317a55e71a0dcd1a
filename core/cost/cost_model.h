// How long a work takes on a device, and a collective among devices, with the origin of every number.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/cluster/cluster.h"
#include "core/cluster/group_shape.h"
#include "core/collective/collective.h"
#include "core/task/work.h"

namespace tandem {

// What one compute, copy or input work costs. Device and host time run side by side: the device can start a
// kernel only after the host has launched it, and the host runs ahead.
struct ComputeCost {
  Seconds device, host;
};

// What one collective or message costs when alone: latency, then bytes over the wires.
struct CommunicationCost {
  Seconds latency;   // launch, protocol and hops
  Seconds transfer;  // bytes at the algorithm's bandwidth
  Algorithm algorithm = Algorithm::Ring;
  std::string_view protocol;  // "LL", "LL128", "Simple", ""
  Seconds host;               // that the host takes to issue it
};

// What ranks of one machine share where devices are cores.
struct SharedCores {
  double cores = 1;          // of the machine
  double threads = 1;        // that a rank's computation keeps busy
  double communication = 1;  // core that communication keeps busy while it goes on
  double jitter = 0;         // relative standard deviation of a computation's duration
};

// Fitted constants and where they come from; read from scenarios/calibrations (core/cost/calibration.h).
struct Calibration;

class CostModel {
 public:
  // `framework` names a profile of the calibration ("megatron" is the default of the command line). Throws
  // InputError for an unknown framework and for device kinds without a peak rate or memory bandwidth.
  CostModel(std::shared_ptr<const Calibration>, const std::string& framework, const Cluster&);
  ~CostModel();
  CostModel(const CostModel&);

  ComputeCost compute(const Compute&, DeviceKindId) const;
  ComputeCost copy(const Copy&, DeviceId) const;
  ComputeCost input(const WaitForInput&) const;
  // `members` in place order. Algorithm::Auto picks as NCCL would, by size, shape and links.
  CommunicationCost collective(const Collective&, std::span<const DeviceId> members) const;
  CommunicationCost message(Bytes, DeviceId from, DeviceId to) const;
  // Bytes that each link carries, per byte of the collective's size, by the algorithm that `collective` chose.
  // Only links that can bind.
  std::vector<LinkLoad> loads(const Collective&, Algorithm chosen, std::span<const DeviceId> members) const;
  std::vector<LinkLoad> loads(DeviceId from, DeviceId to) const;

  // Computation runs this much slower (>= 1) while a communication kernel runs on the same device.
  double overlap_slowdown(DeviceKindId) const;
  // Nothing: a device of its own.
  std::optional<SharedCores> shared_cores(DeviceId) const;
  // Computation is this much slower (>= 1) in a job of many nodes: the slowest of many is waited for.
  double straggler_factor() const;
  // The framework's host issues nothing behind a receive before the message is there.
  bool host_waits_for_messages() const;
  // Host time of the framework that every step begins with (input, logging, synchronisation).
  Seconds host_per_step() const;
  // Memory that a process holds beside the plan's buffers: context, library and communication workspaces.
  Bytes reserved_memory(DeviceKindId, std::size_t communicators) const;

  // What the framework's allocator takes from the device to hand out `allocated` at the peak.
  Bytes held_by_allocator(Bytes allocated) const;

  // One line that says how the number came about: formula, constants, their source. For `tandem show --costs`.
  std::string explain(const Compute&, DeviceKindId) const;
  std::string explain(const Collective&, std::span<const DeviceId> members) const;

 private:
  struct State;
  std::shared_ptr<const State> state_;
};

}  // namespace tandem
