// 1F1B with a flush (PipeDream-Flush, Narayanan et al. 2021, arXiv:2006.09503): a stage starts with as many
// forwards as stages follow it, then alternates, so that stage i of p holds at most p - i microbatches.
#include <algorithm>

#include "core/plan/schedules/stage_order.h"

namespace tandem {

Schedule one_forward_one_backward(ScheduleShape shape) {
  Schedule schedule = empty_schedule(ScheduleKind::OneForwardOneBackward, shape);
  for (std::uint32_t stage = 0; stage < shape.stages; ++stage) {
    StageOrder order(schedule, stage);
    const std::uint32_t warm_up = std::min(shape.microbatches, shape.stages - 1 - stage);
    for (std::uint32_t i = 0; i < warm_up; ++i) order.forward();
    for (std::uint32_t i = warm_up; i < shape.microbatches; ++i) {
      order.forward();
      order.backward();
    }
    for (std::uint32_t i = 0; i < warm_up; ++i) order.backward();
  }
  return schedule;
}

}  // namespace tandem
