// Plays a schedule: stages run until they wait, and are woken by the neighbour that finishes what they wait
// for.
#include "core/plan/timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

namespace tandem {
namespace {

constexpr double kNever = -1;

class Player {
 public:
  Player(const Schedule& schedule, const PhaseTimes& times) : schedule_(schedule), times_(times) {
    const std::size_t cells = std::size_t{schedule.positions()} * schedule.microbatches;
    forward_done_.assign(cells, kNever);
    gradient_done_.assign(cells, kNever);
    next_.assign(schedule.stages, 0);
    clock_.assign(schedule.stages, 0);
    timeline_.slots.resize(schedule.stages);
    for (std::uint32_t stage = 0; stage < schedule.stages; ++stage)
      timeline_.slots[stage].resize(schedule.slots[stage].size());
  }

  Timeline play() {
    for (std::uint32_t stage = schedule_.stages; stage-- > 0;) awake_.push_back(stage);
    while (!awake_.empty()) {
      const std::uint32_t stage = awake_.back();
      awake_.pop_back();
      while (step(stage)) {
      }
    }
    for (double clock : clock_) timeline_.span = std::max(timeline_.span, clock);
    for (std::uint32_t stage = 0; stage < schedule_.stages && timeline_.deadlock.empty(); ++stage) {
      const std::vector<Slot>& order = schedule_.slots[stage];
      if (next_[stage] < order.size())
        timeline_.deadlock =
            fmt::format("stage {} waits for ever before {}", stage, text(schedule_, order[next_[stage]]));
    }
    return std::move(timeline_);
  }

 private:
  std::size_t cell(std::uint32_t position, std::uint32_t microbatch) const {
    return std::size_t{position} * schedule_.microbatches + microbatch;
  }
  std::uint32_t position(std::uint32_t stage, const Slot& slot) const {
    return schedule_.chunks[stage][slot.chunk].position;
  }

  // When what the slot needs from other slots is there, or kNever.
  double ready(std::uint32_t stage, const Slot& slot) const {
    const std::uint32_t at = position(stage, slot);
    const double own_forward = forward_done_[cell(at, slot.microbatch)];
    switch (slot.phase) {
      case SlotPhase::Forward:
        return at == 0 ? 0 : forward_done_[cell(at - 1, slot.microbatch)];
      case SlotPhase::WeightGradient:
        return gradient_done_[cell(at, slot.microbatch)];
      case SlotPhase::Backward:
      case SlotPhase::InputGradient:
        break;
    }
    if (own_forward == kNever || at + 1 == schedule_.positions()) return own_forward;
    return gradient_done_[cell(at + 1, slot.microbatch)];
  }

  void finish(std::uint32_t stage, const Slot& slot, double end) {
    const std::uint32_t at = position(stage, slot);
    const std::uint8_t direction = schedule_.direction(slot.microbatch);
    if (slot.phase == SlotPhase::Forward) {
      forward_done_[cell(at, slot.microbatch)] = end;
      if (at + 1 < schedule_.positions()) awake_.push_back(schedule_.home({at + 1, direction}).stage);
    } else if (slot.phase != SlotPhase::WeightGradient) {
      gradient_done_[cell(at, slot.microbatch)] = end;
      if (at > 0) awake_.push_back(schedule_.home({at - 1, direction}).stage);
    }
  }

  // Plays the next slot of a stage, or the next two where they are paired; false when it must wait or is done.
  bool step(std::uint32_t stage) {
    const std::vector<Slot>& order = schedule_.slots[stage];
    const std::size_t first = next_[stage];
    if (first == order.size()) return false;
    const std::size_t end = first + (order[first].paired_with_next && first + 1 < order.size() ? 2 : 1);
    double start = clock_[stage], length = 0;
    for (std::size_t slot = first; slot < end; ++slot) {
      const double when = ready(stage, order[slot]);
      if (when == kNever) return false;
      start = std::max(start, when);
      length += duration(order[slot].phase, times_);
    }
    for (std::size_t slot = first; slot < end; ++slot) {
      timeline_.slots[stage][slot] = {start, start + length};
      finish(stage, order[slot], start + length);
    }
    clock_[stage] = start + length;
    next_[stage] = end;
    return true;
  }

  const Schedule& schedule_;
  PhaseTimes times_;
  std::vector<double> forward_done_, gradient_done_;  // by cell(position, microbatch)
  std::vector<std::size_t> next_;                     // by stage: the first slot not yet played
  std::vector<double> clock_;                         // by stage: when it is free again
  std::vector<std::uint32_t> awake_;                  // stages that may be able to go on
  Timeline timeline_;
};

}  // namespace

double duration(SlotPhase phase, const PhaseTimes& times) {
  switch (phase) {
    case SlotPhase::Forward:
      return times.forward;
    case SlotPhase::Backward:
      return times.input_gradient + times.weight_gradient;
    case SlotPhase::InputGradient:
      return times.input_gradient;
    case SlotPhase::WeightGradient:
      return times.weight_gradient;
  }
  return 0;
}

Timeline play(const Schedule& schedule, const PhaseTimes& times) { return Player(schedule, times).play(); }

}  // namespace tandem
