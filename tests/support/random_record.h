// Random valid run records: pipelines of ranks whose lanes fill with tasks that wait for each other, seeded.
#pragma once
#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "core/record/run_record.h"

namespace tandem::testing {

// Each span starts when the latest of its lane's end and one other span (its cause) ended, now and then later
// (held by the host or by a rank that is not recorded). About `spans` of them, over one or two steps.
inline RunRecord random_record(std::uint32_t seed, std::size_t spans = 300) {
  std::mt19937 random(seed);
  const auto below = [&](std::size_t n) { return static_cast<std::uint32_t>(random() % n); };
  const auto duration = [&] { return Seconds((1 + below(1000)) * 1.37e-6); };
  RunRecord record;
  record.header.backend = "estimate";
  record.header.program_version = "test";
  const std::uint32_t ranks = 1 + below(4);
  for (std::uint32_t rank = 0; rank < ranks; ++rank)
    for (const Lane lane :
         {Lane::Compute, Lane::Tensor, Lane::Data, Lane::SendNext, Lane::ReceivePrevious, Lane::Copy})
      record.lanes.push_back({.rank = RankId(rank * 8),
                              .lane = lane,
                              .stage = rank,
                              .device = rank * 8,
                              .node = rank,
                              .multiplicity = 1 + rank});
  constexpr std::uint32_t lanes_a_rank = 6;
  std::vector<Seconds> lane_end(record.lanes.size());
  std::vector<std::uint32_t> lane_last(record.lanes.size(), no_span);
  const std::uint32_t steps = 1 + below(2);
  for (std::uint32_t step = 0; step < steps; ++step) {
    for (std::size_t i = 0; i < spans / steps; ++i) {
      // Half of the work is computation.
      const std::uint32_t rank = below(ranks);
      const std::uint32_t lane = rank * lanes_a_rank + (below(2) == 0 ? 0 : below(lanes_a_rank));
      const Lane kind = record.lanes[lane].lane;
      RecordTask task;
      task.label = "L" + std::to_string(below(4)) + ".operator" + std::to_string(below(3));
      task.phase = static_cast<Phase>(below(5));
      task.microbatch = below(5) == 0 ? no_microbatch : below(8);
      task.kind = kind == Lane::Compute           ? TaskKind::Compute
                  : kind == Lane::SendNext        ? TaskKind::Send
                  : kind == Lane::ReceivePrevious ? TaskKind::Receive
                  : kind == Lane::Copy            ? TaskKind::Copy
                                                  : TaskKind::Collective;
      task.bytes = Bytes(below(1 << 20));
      task.flops = Flops(task.kind == TaskKind::Compute ? below(1 << 30) : 0);
      if (task.kind == TaskKind::Collective) {
        task.group_size = 2 + below(8);
        task.collective = static_cast<CollectiveKind>(below(4));
      }
      RecordSpan span{.lane = lane, .task = static_cast<std::uint32_t>(record.tasks.size()), .step = step};
      span.start = lane_end[lane];
      span.cause = lane_last[lane];
      span.held_by = static_cast<std::uint8_t>(span.cause == no_span ? HeldBy::Nothing : HeldBy::Lane);
      const std::uint32_t other = below(record.lanes.size());
      if (lane_last[other] != no_span && lane_end[other] > span.start) {
        span.start = lane_end[other];
        span.cause = lane_last[other];
        span.held_by =
            static_cast<std::uint8_t>(other / lanes_a_rank == rank ? HeldBy::Dependency : HeldBy::Peer);
      } else if (below(10) == 0) {
        span.start += duration();
        span.cause = no_span;
        span.held_by = static_cast<std::uint8_t>(below(2) == 0 ? HeldBy::Host : HeldBy::Peer);
      }
      span.end = span.start + duration();
      lane_end[lane] = span.end;
      lane_last[lane] = static_cast<std::uint32_t>(record.spans.size());
      record.spans.push_back(span);
      record.tasks.push_back(std::move(task));
    }
    // A step begins when all of the step before it has ended.
    const Seconds end = *std::max_element(lane_end.begin(), lane_end.end());
    std::fill(lane_end.begin(), lane_end.end(), end);
  }
  for (std::uint32_t rank = 0; rank < ranks; ++rank)
    for (int i = 0; i < 5; ++i) {
      RecordMemory sample{RankId(rank * 8), Seconds(i * 1e-4), {}};
      for (Bytes& size : sample.live) size = Bytes(below(1 << 30));
      record.memory.push_back(sample);
    }
  return record;
}

}  // namespace tandem::testing
