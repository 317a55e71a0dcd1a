// What the schedules are written with: an empty schedule with its chunks in place, and a stage's order being
// written.
#pragma once
#include <cstdint>
#include <deque>
#include <vector>

#include "core/plan/schedule.h"

namespace tandem {

// Chunks are where Schedule::home says. Throws std::logic_error when the shape does not fit the kind.
Schedule empty_schedule(ScheduleKind, ScheduleShape);

// Appends to one stage's order. Every chunk takes its microbatches in order in each phase, so they are counted
// here; a microbatch past the last one is left out.
class StageOrder {
 public:
  StageOrder(Schedule& schedule, std::uint32_t stage);

  void forward(std::uint32_t chunk = 0);
  void backward(std::uint32_t chunk = 0);         // both gradients
  void input_gradient(std::uint32_t chunk = 0);   // its weight gradient then waits
  void weight_gradient(std::uint32_t chunk = 0);  // the longest waiting one of a chunk
  void oldest_weight_gradient();                  // the longest waiting one of all chunks
  // A forward and a backward that are worked on together.
  void forward_with_backward(std::uint32_t forward_chunk, std::uint32_t backward_chunk);
  std::size_t waiting_weight_gradients() const;

 private:
  void append(std::uint32_t chunk, std::uint32_t microbatch, SlotPhase phase);

  struct Waiting {
    std::uint32_t microbatch = 0, since = 0;
  };
  struct Chunk {
    std::uint32_t next_forward = 0, next_backward = 0, end = 0;  // microbatches
    std::deque<Waiting> waiting;
  };
  std::vector<Slot>& slots_;
  std::vector<Chunk> chunks_;
  std::uint32_t clock_ = 0;  // input gradients so far
};

}  // namespace tandem
