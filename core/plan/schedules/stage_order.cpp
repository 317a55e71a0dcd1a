// Places chunks and counts microbatches while an order is written.
#include "core/plan/schedules/stage_order.h"

#include <fmt/format.h>

#include <limits>

#include "core/problem/problem.h"

namespace tandem {

Schedule empty_schedule(ScheduleKind kind, ScheduleShape shape) {
  const std::string misfit = schedule_misfit(kind, shape);
  check(misfit.empty(), fmt::format("schedule {} {}", name(kind), misfit));
  const bool both_ways = kind == ScheduleKind::DualPipe;
  Schedule schedule;
  schedule.kind = kind;
  schedule.stages = shape.stages;
  schedule.microbatches = shape.microbatches;
  schedule.chunks_per_stage = both_ways ? 2 : shape.chunks_per_stage;
  schedule.slots.resize(schedule.stages);
  schedule.chunks.assign(schedule.stages, std::vector<ChunkPlace>(schedule.chunks_per_stage));
  for (std::uint8_t direction = 0; direction < (both_ways ? 2 : 1); ++direction)
    for (std::uint32_t position = 0; position < schedule.positions(); ++position) {
      const ChunkPlace place{.position = position, .direction = direction};
      const Schedule::Home home = schedule.home(place);
      schedule.chunks[home.stage][home.chunk] = place;
    }
  return schedule;
}

StageOrder::StageOrder(Schedule& schedule, std::uint32_t stage) : slots_(schedule.slots[stage]) {
  for (const ChunkPlace& chunk : schedule.chunks[stage]) {
    const std::uint32_t half = schedule.microbatches / 2;
    const bool both_ways = schedule.kind == ScheduleKind::DualPipe;
    const std::uint32_t first = chunk.direction == 0 ? 0 : half;
    const std::uint32_t end = both_ways && chunk.direction == 0 ? half : schedule.microbatches;
    chunks_.push_back({.next_forward = first, .next_backward = first, .end = end, .waiting = {}});
  }
}

void StageOrder::forward(std::uint32_t chunk) {
  append(chunk, chunks_[chunk].next_forward++, SlotPhase::Forward);
}

void StageOrder::backward(std::uint32_t chunk) {
  append(chunk, chunks_[chunk].next_backward++, SlotPhase::Backward);
}

void StageOrder::input_gradient(std::uint32_t chunk) {
  const std::uint32_t microbatch = chunks_[chunk].next_backward++;
  chunks_[chunk].waiting.push_back({microbatch, clock_++});
  append(chunk, microbatch, SlotPhase::InputGradient);
}

void StageOrder::weight_gradient(std::uint32_t chunk) {
  std::deque<Waiting>& waiting = chunks_[chunk].waiting;
  check(!waiting.empty(), "a weight gradient follows its input gradient");
  append(chunk, waiting.front().microbatch, SlotPhase::WeightGradient);
  waiting.pop_front();
}

void StageOrder::oldest_weight_gradient() {
  std::uint32_t oldest = 0, since = std::numeric_limits<std::uint32_t>::max();
  for (std::uint32_t chunk = 0; chunk < chunks_.size(); ++chunk) {
    const std::deque<Waiting>& waiting = chunks_[chunk].waiting;
    if (waiting.empty() || waiting.front().since >= since) continue;
    oldest = chunk;
    since = waiting.front().since;
  }
  weight_gradient(oldest);
}

void StageOrder::forward_with_backward(std::uint32_t forward_chunk, std::uint32_t backward_chunk) {
  forward(forward_chunk);
  slots_.back().paired_with_next = true;
  backward(backward_chunk);
}

std::size_t StageOrder::waiting_weight_gradients() const {
  std::size_t waiting = 0;
  for (const Chunk& chunk : chunks_) waiting += chunk.waiting.size();
  return waiting;
}

void StageOrder::append(std::uint32_t chunk, std::uint32_t microbatch, SlotPhase phase) {
  if (microbatch < chunks_[chunk].end)
    slots_.push_back({.chunk = static_cast<std::uint16_t>(chunk), .microbatch = microbatch, .phase = phase});
}

}  // namespace tandem
