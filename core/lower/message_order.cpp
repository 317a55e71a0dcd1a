// Numbers messages and lists them in the order in which each stage sends them to each other stage.
#include "core/lower/message_order.h"

namespace tandem {
namespace {

std::uint64_t pair_key(std::uint32_t from, std::uint32_t to) { return (std::uint64_t{from} << 32) | to; }

}  // namespace

MessageOrder::MessageOrder(const Plan& plan, std::uint32_t positions)
    : borders_(positions - 1),
      microbatches_(plan.microbatches),
      directions_(plan.schedule.kind == ScheduleKind::DualPipe ? 2 : 1) {
  count_ = 2 * directions_ * borders_ * microbatches_;
  const Schedule& schedule = plan.schedule;
  for (std::uint32_t stage = 0; stage < schedule.stages; ++stage) {
    for (const Slot& slot : schedule.slots[stage]) {
      if (slot.phase == SlotPhase::WeightGradient) continue;
      const ChunkPlace place = schedule.chunks[stage][slot.chunk];
      const bool forward = slot.phase == SlotPhase::Forward;
      if (forward ? place.position == borders_ : place.position == 0) continue;
      const std::uint32_t border = forward ? place.position : place.position - 1;
      const std::uint32_t neighbour = forward ? place.position + 1 : place.position - 1;
      const std::uint32_t to = schedule.home({neighbour, place.direction}).stage;
      if (to != stage)
        between_[pair_key(stage, to)].push_back(number(border, place.direction, slot.microbatch, !forward));
    }
  }
}

std::uint32_t MessageOrder::number(std::uint32_t border, std::uint8_t direction, std::uint32_t microbatch,
                                   bool gradient) const {
  return (((gradient ? 1u : 0u) * directions_ + direction) * borders_ + border) * microbatches_ + microbatch;
}

MessageOrder::Message MessageOrder::operator[](std::uint32_t number) const {
  const std::uint32_t kind = number / microbatches_ / borders_;  // direction, then whether it is a gradient
  return {number / microbatches_ % borders_, number % microbatches_, kind / directions_ == 1,
          static_cast<std::uint8_t>(kind % directions_)};
}

const std::vector<std::uint32_t>& MessageOrder::between(std::uint32_t from, std::uint32_t to) const {
  const auto found = between_.find(pair_key(from, to));
  return found == between_.end() ? none_ : found->second;
}

}  // namespace tandem
