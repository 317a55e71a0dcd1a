// Interleaved 1F1B (Narayanan et al. 2021, arXiv:2104.04473) in Megatron-Core's order: a stage works on p
// microbatches of one chunk, then on the same p of its next chunk. Stage s holds positions s, s + p, s + 2p, …
#include <algorithm>

#include "core/plan/schedules/stage_order.h"

namespace tandem {

Schedule interleaved(ScheduleShape shape) {
  Schedule schedule = empty_schedule(ScheduleKind::Interleaved, shape);
  const std::uint32_t stages = shape.stages, chunks = shape.chunks_per_stage;
  const std::uint64_t total = std::uint64_t{shape.microbatches} * chunks;
  // Chunk of the k-th forward; the k-th backward works on the chunks from the last to the first.
  const auto chunk = [&](std::uint64_t k) { return static_cast<std::uint32_t>(k / stages % chunks); };
  for (std::uint32_t stage = 0; stage < stages; ++stage) {
    StageOrder order(schedule, stage);
    const std::uint64_t warm_up =
        std::min(total, std::uint64_t{stages - 1 - stage} * 2 + std::uint64_t{chunks - 1} * stages);
    for (std::uint64_t k = 0; k < warm_up; ++k) order.forward(chunk(k));
    for (std::uint64_t k = warm_up; k < total; ++k) {
      order.forward(chunk(k));
      order.backward(chunks - 1 - chunk(k - warm_up));
    }
    for (std::uint64_t k = total - warm_up; k < total; ++k) order.backward(chunks - 1 - chunk(k));
  }
  return schedule;
}

}  // namespace tandem
