// ZB-V (Qi et al. 2023, arXiv:2401.10241, section 6): stage s holds positions s and 2p-1-s, so that
// microbatches travel down and up again and the last stage turns them around at once. With equal times of
// forward, input gradient and weight gradient no stage idles between its first and its last slot, and none
// holds more than 2p half-stage activations, the memory of 1F1B. The order is the closed form of the paper's
// drawing that PyTorch's ScheduleZBVZeroBubble uses too; with fewer than 2p-1 microbatches, the slots of the
// missing ones are left out of it.
#include <algorithm>

#include "core/plan/schedules/stage_order.h"

namespace tandem {
namespace {

constexpr std::uint32_t kDown = 0, kUp = 1;  // the stage's chunks

}  // namespace

Schedule zero_bubble_v(ScheduleShape shape) {
  Schedule schedule = empty_schedule(ScheduleKind::ZeroBubbleV, shape);
  const std::uint32_t stages = shape.stages;
  const std::uint32_t microbatches = std::max(shape.microbatches, 2 * stages - 1);
  for (std::uint32_t stage = 0; stage < stages; ++stage) {
    StageOrder order(schedule, stage);
    const std::uint32_t to_the_turn = stages - stage;  // stages from here to the turn, this one included
    const auto gradients = [&](std::uint32_t chunk) {
      order.input_gradient(chunk);
      order.weight_gradient(chunk);
    };
    // Until the first microbatch comes back up.
    std::uint32_t down = 2 * to_the_turn - 1, up = 0;
    for (std::uint32_t i = 0; i < down; ++i) order.forward(kDown);
    for (std::uint32_t i = 0; i < stage; ++i, ++up, ++down) {
      order.forward(kUp);
      order.forward(kDown);
    }
    // Until its gradient has gone down and come up to this stage.
    for (std::uint32_t i = 0; i < to_the_turn; ++i, ++up) {
      order.forward(kUp);
      gradients(kUp);
    }
    for (; up < microbatches; ++up) {
      if (down++ < microbatches) order.forward(kDown);
      gradients(kDown);
      order.forward(kUp);
      gradients(kUp);
    }
    // Weight gradients wait here so that the last input gradients reach the first stage without a gap.
    for (std::uint32_t i = 0; i < stage; ++i) {
      order.input_gradient(kDown);
      order.input_gradient(kUp);
    }
    for (std::uint32_t i = 0; i < to_the_turn; ++i) gradients(kDown);
    while (order.waiting_weight_gradients() > 0) order.oldest_weight_gradient();
  }
  return schedule;
}

}  // namespace tandem
