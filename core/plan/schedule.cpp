// What all schedules share: where chunks live, the text form, the check, bubble and activations in flight.
#include "core/plan/schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

#include "core/plan/timeline.h"
#include "core/problem/problem.h"

namespace tandem {
namespace {

char letter(SlotPhase phase) {
  switch (phase) {
    case SlotPhase::Forward:
      return 'F';
    case SlotPhase::Backward:
      return 'B';
    case SlotPhase::InputGradient:
      return 'I';
    case SlotPhase::WeightGradient:
      return 'W';
  }
  return '?';
}

// What a stage has done for one chunk and microbatch.
struct Done {
  bool forward = false, input_gradient = false, weight_gradient = false;
};

void check_stage(const Schedule& schedule, std::uint32_t stage) {
  const std::vector<ChunkPlace>& chunks = schedule.chunks[stage];
  const std::vector<Slot>& order = schedule.slots[stage];
  std::vector<Done> done(chunks.size() * schedule.microbatches);
  const auto fault = [&](const Slot& slot, std::string_view what) {
    check(false,
          fmt::format("schedule {}: stage {}: {} {}", name(schedule.kind), stage, text(schedule, slot), what));
  };
  for (std::size_t index = 0; index < order.size(); ++index) {
    const Slot& slot = order[index];
    if (slot.chunk >= chunks.size() || slot.microbatch >= schedule.microbatches)
      fault(slot, "names no chunk or microbatch of this stage");
    if (schedule.direction(slot.microbatch) != chunks[slot.chunk].direction)
      fault(slot, "travels in the other direction");
    if (slot.paired_with_next) {
      if (index + 1 == order.size() || order[index + 1].paired_with_next)
        fault(slot, "has no slot to be paired with");
      const Slot& next = order[index + 1];
      const bool same = slot.chunk == next.chunk && slot.microbatch == next.microbatch;
      if (same || (slot.phase == SlotPhase::Forward) == (next.phase == SlotPhase::Forward))
        fault(slot, "is not paired with a slot of the other phase and another microbatch or chunk");
    }
    Done& so_far = done[std::size_t{slot.chunk} * schedule.microbatches + slot.microbatch];
    if (slot.phase == SlotPhase::Forward) {
      if (so_far.forward) fault(slot, "is there twice");
      so_far.forward = true;
      continue;
    }
    if (!so_far.forward) fault(slot, "comes before its forward");
    const bool input = slot.phase != SlotPhase::WeightGradient, weight = slot.phase != SlotPhase::InputGradient;
    if ((input && so_far.input_gradient) || (weight && so_far.weight_gradient)) fault(slot, "is there twice");
    if (!input && !so_far.input_gradient) fault(slot, "comes before its input gradient");
    so_far.input_gradient |= input;
    so_far.weight_gradient |= weight;
  }
  for (std::uint16_t chunk = 0; chunk < chunks.size(); ++chunk)
    for (std::uint32_t microbatch = 0; microbatch < schedule.microbatches; ++microbatch) {
      const Done& so_far = done[std::size_t{chunk} * schedule.microbatches + microbatch];
      if (schedule.direction(microbatch) == chunks[chunk].direction && !so_far.weight_gradient)
        fault({.chunk = chunk, .microbatch = microbatch, .phase = SlotPhase::Forward},
              "or a gradient of it is missing");
    }
}

}  // namespace

std::uint32_t Schedule::positions() const {
  return kind == ScheduleKind::DualPipe ? stages : stages * chunks_per_stage;
}

Schedule::Home Schedule::home(ChunkPlace place) const {
  if (kind == ScheduleKind::DualPipe)
    return place.direction == 0 ? Home{place.position, 0} : Home{stages - 1 - place.position, 1};
  if (kind == ScheduleKind::ZeroBubbleV && place.position >= stages)
    return {2 * stages - 1 - place.position, 1};
  return {place.position % stages, place.position / stages};
}

std::uint8_t Schedule::direction(std::uint32_t microbatch) const {
  return kind == ScheduleKind::DualPipe && microbatch >= microbatches / 2 ? 1 : 0;
}

Schedule make_schedule(ScheduleKind kind, ScheduleShape shape) {
  switch (kind) {
    case ScheduleKind::GPipe:
      return gpipe(shape);
    case ScheduleKind::OneForwardOneBackward:
      return one_forward_one_backward(shape);
    case ScheduleKind::Interleaved:
      return interleaved(shape);
    case ScheduleKind::ZeroBubbleH1:
      return zero_bubble_h1(shape);
    case ScheduleKind::ZeroBubbleV:
      return zero_bubble_v(shape);
    case ScheduleKind::DualPipe:
      return dualpipe(shape);
  }
  check(false, "a schedule of no known kind");
  return {};
}

std::string schedule_misfit(ScheduleKind kind, ScheduleShape shape) {
  const auto [stages, microbatches, chunks] = shape;
  if (stages < 1 || microbatches < 1 || chunks < 1) return "needs at least one stage, chunk and microbatch";
  switch (kind) {
    case ScheduleKind::GPipe:
    case ScheduleKind::OneForwardOneBackward:
    case ScheduleKind::ZeroBubbleH1:
      if (chunks != 1) return fmt::format("has one chunk a stage, not {}", chunks);
      break;
    case ScheduleKind::Interleaved:
      if (chunks < 2) return "needs at least 2 chunks a stage";
      if (chunks > 65535) return fmt::format("has at most 65535 chunks a stage, not {}", chunks);
      if (stages < 2) return "needs at least 2 stages";
      if (microbatches % stages != 0)
        return fmt::format("needs a number of microbatches that {} stages divide, not {}", stages,
                           microbatches);
      break;
    case ScheduleKind::ZeroBubbleV:
      if (chunks != 2) return fmt::format("has 2 chunks a stage, not {}", chunks);
      break;
    case ScheduleKind::DualPipe:
      if (chunks != 1) return fmt::format("has one chunk a stage and direction, not {}", chunks);
      if (stages % 2 != 0) return fmt::format("needs an even number of stages, not {}", stages);
      if (microbatches % 2 != 0 || microbatches < 2 * stages)
        return fmt::format("needs an even number of microbatches, at least {} (twice the stages), not {}",
                           2 * stages, microbatches);
      break;
  }
  return {};
}

void check_schedule(const Schedule& schedule) {
  check(schedule.stages >= 1 && schedule.microbatches >= 1, "a schedule without stages or microbatches");
  check(schedule.slots.size() == schedule.stages && schedule.chunks.size() == schedule.stages,
        "a schedule has an order and chunks for each stage");
  for (std::uint32_t stage = 0; stage < schedule.stages; ++stage) {
    check(schedule.chunks[stage].size() == schedule.chunks_per_stage, "each stage has its number of chunks");
    for (std::uint32_t chunk = 0; chunk < schedule.chunks_per_stage; ++chunk) {
      const ChunkPlace place = schedule.chunks[stage][chunk];
      const Schedule::Home home = schedule.home(place);
      check(place.position < schedule.positions() && home.stage == stage && home.chunk == chunk,
            "each chunk lives where its position says");
    }
    check_stage(schedule, stage);
  }
  const Timeline timeline = play(schedule);
  check(timeline.deadlock.empty(), fmt::format("schedule {}: {}", name(schedule.kind), timeline.deadlock));
}

std::string text(const Schedule& schedule, const Slot& slot) {
  if (schedule.chunks_per_stage == 1) return fmt::format("{}{}", letter(slot.phase), slot.microbatch);
  return fmt::format("{}{}.{}", letter(slot.phase), slot.microbatch, slot.chunk);
}

std::string text(const Schedule& schedule, StageId stage) {
  std::string all;
  const std::vector<Slot>& order = schedule.slots[stage.value];
  for (std::size_t index = 0; index < order.size(); ++index) {
    if (index > 0) all += order[index - 1].paired_with_next ? '&' : ' ';
    all += text(schedule, order[index]);
  }
  return all;
}

double ideal_bubble_fraction(const Schedule& schedule) {
  const PhaseTimes times;
  double busy = 0;
  for (const std::vector<Slot>& order : schedule.slots)
    for (const Slot& slot : order) busy += duration(slot.phase, times);
  return 1 - busy / (play(schedule, times).span * schedule.stages);
}

std::uint32_t peak_in_flight(const Schedule& schedule, StageId stage) {
  std::uint32_t held = 0, peak = 0;
  for (const Slot& slot : schedule.slots[stage.value]) {
    if (slot.phase == SlotPhase::Forward) ++held;
    peak = std::max(peak, held);
    if (slot.phase == SlotPhase::Backward || slot.phase == SlotPhase::WeightGradient) --held;
  }
  return peak;
}

}  // namespace tandem
