// A device as the executor sees it: one block of memory, and lanes on which computation runs in order.
#pragma once
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "exec/communicate/communicator.h"
#include "exec/rank_state.h"

namespace tandem {

// What a task computes, on which values.
struct ComputeCall {
  std::uint32_t task = 0;
  Subject subject;
  Phase phase = Phase::Forward;
  std::uint32_t microbatch = no_microbatch;
  std::uint32_t occurrence = 0;  // of this subject, phase and microbatch so far: the block of a ring
  std::span<const Operand> operands;
};

// One use of a prepared computation, as Enqueued is of a communication.
struct EnqueuedCompute {
  PreparedId call;
  Lane lane = Lane::Compute;  // or Input, Copy
  std::vector<Event*> after = {};
  Event* done = nullptr;
  CommunicationTimes* times = nullptr;
};

// Asynchronous, lane by lane, with events between lanes and communicators. Calls come from one thread.
class DeviceRuntime {
 public:
  virtual ~DeviceRuntime() = default;
  // The rank's arena, touched once so that no page fault falls into a step.
  virtual std::byte* allocate(std::size_t bytes) = 0;
  virtual PreparedId prepare(const ComputeCall&, RankState&) = 0;
  virtual void enqueue(EnqueuedCompute) = 0;
  // Sleeps until all lanes are empty; throws the failure, if there is one. After a failure every event that was
  // to be set is abandoned.
  virtual void drain() = 0;
  virtual void stop() noexcept = 0;
};

}  // namespace tandem
