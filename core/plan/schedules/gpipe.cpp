// GPipe (Huang et al. 2019, arXiv:1811.06965): every stage does all forwards, then all backwards, and so keeps
// all microbatches' activations. Backwards come in the order of the forwards, as in PyTorch's ScheduleGPipe.
#include "core/plan/schedules/stage_order.h"

namespace tandem {

Schedule gpipe(ScheduleShape shape) {
  Schedule schedule = empty_schedule(ScheduleKind::GPipe, shape);
  for (std::uint32_t stage = 0; stage < shape.stages; ++stage) {
    StageOrder order(schedule, stage);
    for (std::uint32_t microbatch = 0; microbatch < shape.microbatches; ++microbatch) order.forward();
    for (std::uint32_t microbatch = 0; microbatch < shape.microbatches; ++microbatch) order.backward();
  }
  return schedule;
}

}  // namespace tandem
