// DualPipe (DeepSeek-V3 technical report 2024, arXiv:2412.19437, section 3.2.1; order as published in
// deepseek-ai/DualPipe): microbatches enter from both ends, the first half at stage 0, the second at stage
// p-1, and each stage holds the chunks of both directions. In the main phase a forward of one direction and a
// backward of the other are worked on together, each hiding the other's communication; weight gradients are
// split off only where the pipeline fills and drains. Idle time of a stage: (p/2 - 1)(tFB + tB - 3 tW), tFB of
// a pair, tB of a whole backward; activations: p + 1.
#include <algorithm>

#include "core/plan/schedules/stage_order.h"

namespace tandem {

Schedule dualpipe(ScheduleShape shape) {
  Schedule schedule = empty_schedule(ScheduleKind::DualPipe, shape);
  const std::uint32_t half = shape.stages / 2;
  for (std::uint32_t stage = 0; stage < shape.stages; ++stage) {
    StageOrder order(schedule, stage);
    // The two halves of the pipeline are mirror images: `near` is the chunk that microbatches of this half's
    // own end reach first, and depth counts stages from that end.
    const std::uint32_t depth = std::min(stage, shape.stages - 1 - stage), to_the_middle = half - 1 - depth;
    const std::uint32_t near = stage < half ? 0 : 1, far = 1 - near;
    const auto repeat = [](std::uint32_t times, auto&& work) {
      for (std::uint32_t i = 0; i < times; ++i) work(i);
    };

    repeat(2 * to_the_middle, [&](std::uint32_t) { order.forward(near); });
    repeat(depth + 1, [&](std::uint32_t) {
      order.forward(near);
      order.forward(far);
    });
    repeat(to_the_middle, [&](std::uint32_t) {
      order.input_gradient(far);
      order.oldest_weight_gradient();
      order.forward(far);
    });
    repeat(shape.microbatches / 2 - shape.stages + depth + 1, [&](std::uint32_t i) {
      // The two middle stages would wait for each other's first pair.
      if (i == 0 && to_the_middle == 0) {
        order.forward(near);
        order.backward(far);
      } else {
        order.forward_with_backward(near, far);
      }
      order.forward_with_backward(far, near);
    });
    repeat(to_the_middle, [&](std::uint32_t) {
      order.backward(far);
      order.forward_with_backward(far, near);
    });
    // The second half of these backwards leaves its weight gradients for the drain.
    repeat(2 * (depth + 1), [&](std::uint32_t i) {
      const std::uint32_t chunk = i % 2 == 0 ? far : near;
      if (i > depth)
        order.input_gradient(chunk);
      else
        order.backward(chunk);
    });
    repeat(to_the_middle, [&](std::uint32_t) {
      order.oldest_weight_gradient();
      order.input_gradient(near);
    });
    while (order.waiting_weight_gradients() > 0) order.oldest_weight_gradient();
  }
  return schedule;
}

}  // namespace tandem
