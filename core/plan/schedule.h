// The order in which a pipeline stage works on its chunks and microbatches.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "core/plan/plan_spec.h"
#include "core/units/id.h"

namespace tandem {

using StageId = Id<struct StageTag>;

enum class SlotPhase : std::uint8_t {
  Forward,
  Backward,       // input and weight gradients together
  InputGradient,  // zero-bubble: only what the previous stage waits for
  WeightGradient,
};

// One unit of a stage's order. `chunk` counts the stage's own chunks from 0.
struct Slot {
  std::uint16_t chunk = 0;
  std::uint32_t microbatch = 0;
  SlotPhase phase = SlotPhase::Forward;
  // DualPipe: this slot and the next are worked on together, their tasks interleaved so that one's
  // communication hides behind the other's computation.
  bool paired_with_next = false;
  bool operator==(const Slot&) const = default;
};

// Where a chunk lives: `position` counts chunks in model order (0 holds the embedding). DualPipe has two copies
// of each position, one for each direction of travel.
struct ChunkPlace {
  std::uint32_t position = 0;
  std::uint8_t direction = 0;
  bool operator==(const ChunkPlace&) const = default;
};

// Invariants, by check_schedule: per stage each slot exactly once; forward before its gradients; no waiting
// cycle.
struct Schedule {
  ScheduleKind kind = ScheduleKind::OneForwardOneBackward;
  std::uint32_t stages = 1, chunks_per_stage = 1,
                microbatches = 1;               // DualPipe: 2 chunks a stage, one a direction
  std::uint32_t positions() const;              // chunks in model order
  std::vector<std::vector<Slot>> slots;         // by stage
  std::vector<std::vector<ChunkPlace>> chunks;  // by stage, by the stage's own chunk number
  // Stage and its chunk number that hold a position for a direction.
  struct Home {
    std::uint32_t stage = 0, chunk = 0;
  };
  Home home(ChunkPlace) const;
  // Direction in which a microbatch travels (DualPipe: the second half of the microbatches comes from the other
  // end).
  std::uint8_t direction(std::uint32_t microbatch) const;
};

// chunks_per_stage counts what users call vpp: 1 for DualPipe, whose second chunk a stage is a copy, and 2 for
// ZB-V.
struct ScheduleShape {
  std::uint32_t stages = 1, microbatches = 1, chunks_per_stage = 1;
};

// One file each in core/plan/schedules/, each stating its source.
Schedule gpipe(ScheduleShape);
Schedule one_forward_one_backward(ScheduleShape);
Schedule interleaved(ScheduleShape);  // microbatches % stages == 0, chunks_per_stage >= 2
Schedule zero_bubble_h1(ScheduleShape);
Schedule zero_bubble_v(ScheduleShape);  // chunks_per_stage == 2
Schedule dualpipe(ScheduleShape);       // even stages, even microbatches >= 2 * stages, chunks_per_stage == 1
Schedule make_schedule(ScheduleKind, ScheduleShape);

// What the schedule needs that this shape does not give, as a sentence; "" when it fits.
std::string schedule_misfit(ScheduleKind, ScheduleShape);

void check_schedule(const Schedule&);  // throws std::logic_error

// "F0 F1 F2 B0 F3 B1 …"; with several chunks "F0.1" is microbatch 0 of chunk 1; W is a weight gradient.
std::string text(const Schedule&, StageId);

// The same for one slot: "F0", "B3.1".
std::string text(const Schedule&, const Slot&);

// Idle share of the step when forward takes 1, backward 2 (input and weight gradient 1 each), transfers
// nothing: played exactly, so that schedules can be compared with their papers' formulas.
double ideal_bubble_fraction(const Schedule&);
// Most microbatch activations (in chunks) that a stage holds at once. An activation is held from its forward
// until the last of its gradients: with split gradients, until the weight gradient.
std::uint32_t peak_in_flight(const Schedule&, StageId);

}  // namespace tandem
