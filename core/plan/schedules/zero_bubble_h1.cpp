// ZB-H1 (Qi et al. 2023, arXiv:2401.10241): 1F1B with the backward cut in two. Only input gradients hurry to
// the previous stage; on stage i, weight gradients lag behind by i microbatches and fill the drain. No stage
// holds more than p microbatches, as much as the first stage of 1F1B, and the idle time of a stage shrinks to
// (p-1)(tF + tB - tW) from 1F1B's (p-1)(tF + tB + tW), where tB is the input gradient's time and tW the weight
// gradient's.
#include <algorithm>

#include "core/plan/schedules/stage_order.h"

namespace tandem {

Schedule zero_bubble_h1(ScheduleShape shape) {
  Schedule schedule = empty_schedule(ScheduleKind::ZeroBubbleH1, shape);
  for (std::uint32_t stage = 0; stage < shape.stages; ++stage) {
    StageOrder order(schedule, stage);
    const auto gradient = [&] {
      order.input_gradient();
      if (order.waiting_weight_gradients() > stage) order.weight_gradient();
    };
    const std::uint32_t warm_up = std::min(shape.microbatches, shape.stages - 1 - stage);
    for (std::uint32_t i = 0; i < warm_up; ++i) order.forward();
    for (std::uint32_t i = warm_up; i < shape.microbatches; ++i) {
      order.forward();
      gradient();
    }
    for (std::uint32_t i = 0; i < warm_up; ++i) gradient();
    while (order.waiting_weight_gradients() > 0) order.weight_gradient();
  }
  return schedule;
}

}  // namespace tandem
