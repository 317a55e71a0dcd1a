// Records of two data-parallel ranks with a compute and a data lane: what a step of them takes is known by
// hand.
#pragma once
#include <vector>

#include "tests/support/record_builder.h"

namespace tandem::testing {

// Seconds of one task. A step is two microbatches of up and down, their gradients, the exchange, the optimizer.
struct StepTimes {
  double up = 1, down = 1, gradient = 2, exchange = 3, optimizer = 0.5;
  double length() const { return 2 * (up + down + gradient) + exchange + optimizer; }
};

struct TwoRanks {
  std::vector<std::uint32_t> ranks = {0, 1};
  std::uint32_t multiplicity = 1, warmup = 0;
  double gap = 0;  // between steps
  const char* backend = "estimate";
  std::uint32_t first_microbatch = 0;
};

inline RunRecord two_ranks(const std::vector<StepTimes>& steps = {{}}, const TwoRanks& options = {}) {
  RecordBuilder builder;
  for (const std::uint32_t rank : options.ranks) builder.rank(rank, 0, options.multiplicity);
  double start = 0;
  for (const StepTimes& step : steps) {
    for (const std::uint32_t rank : options.ranks) {
      double now = start;
      const auto add = [&](Lane lane, const char* label, Phase phase, TaskKind kind, std::uint32_t microbatch,
                           double seconds) {
        now += seconds;
        return builder.add(rank, lane, {.label = label, .phase = phase, .kind = kind, .microbatch = microbatch},
                           now - seconds, now);
      };
      for (std::uint32_t mb = options.first_microbatch; mb < options.first_microbatch + 2; ++mb) {
        add(Lane::Compute, "L0.mlp.up", Phase::Forward, TaskKind::Compute, mb, step.up);
        add(Lane::Compute, "L0.mlp.down", Phase::Forward, TaskKind::Compute, mb, step.down);
        add(Lane::Compute, "L0.mlp.up", Phase::InputGradient, TaskKind::Compute, mb, step.gradient);
      }
      const auto exchange = add(Lane::Data, "gradients.0.0.all_reduce", Phase::Update, TaskKind::Collective,
                                no_microbatch, step.exchange);
      const auto update =
          add(Lane::Compute, "optimizer", Phase::Update, TaskKind::Compute, no_microbatch, step.optimizer);
      builder.held(exchange, HeldBy::Dependency).held(update, HeldBy::Dependency, exchange);
    }
    start += step.length() + options.gap;
    builder.next_step();
  }
  RunRecord record = builder.record();
  record.header.backend = options.backend;
  record.warmup_steps = options.warmup;
  return record;
}

}  // namespace tandem::testing
