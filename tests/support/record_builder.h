// Builds small run records by hand: lanes by rank, spans in order, causes by index.
#pragma once
#include <map>
#include <string>
#include <utility>

#include "core/record/run_record.h"

namespace tandem::testing {

class RecordBuilder {
 public:
  RecordBuilder() {
    record_.header.backend = "estimate";
    record_.header.program_version = "test";
  }
  // The ranks of stage s behave `multiplicity`-fold. Call before the first span of the rank.
  RecordBuilder& rank(std::uint32_t rank, std::uint32_t stage, std::uint32_t multiplicity = 1) {
    places_[rank] = {stage, multiplicity};
    return *this;
  }
  std::uint32_t compute(std::uint32_t rank, Phase phase, double start, double end,
                        std::uint32_t microbatch = 0) {
    return add(rank, Lane::Compute,
               {.label = "L0.mlp.up",
                .phase = phase,
                .microbatch = microbatch,
                .flops = Flops(1e9),
                .bytes = Bytes(1e6)},
               start, end);
  }
  std::uint32_t collective(std::uint32_t rank, Lane lane, double start, double end,
                           CollectiveKind kind = CollectiveKind::AllReduce, std::uint32_t group = 8) {
    return add(rank, lane,
               {.label = "L0.mlp.down.all_reduce",
                .kind = TaskKind::Collective,
                .bytes = Bytes(64 << 20),
                .group_size = group,
                .collective = kind,
                .algorithm = Algorithm::Ring},
               start, end);
  }
  // Sends towards the next stage, receives from the previous one.
  std::uint32_t send(std::uint32_t rank, std::uint32_t message, double start, double end) {
    return add(
        rank, Lane::SendNext,
        {.label = "activations.send", .kind = TaskKind::Send, .message = message, .bytes = Bytes(1 << 20)},
        start, end);
  }
  std::uint32_t receive(std::uint32_t rank, std::uint32_t message, double start, double end) {
    return add(rank, Lane::ReceivePrevious,
               {.label = "activations.receive",
                .kind = TaskKind::Receive,
                .message = message,
                .bytes = Bytes(1 << 20)},
               start, end);
  }
  std::uint32_t add(std::uint32_t rank, Lane lane, RecordTask task, double start, double end) {
    record_.spans.push_back({lane_of(rank, lane), static_cast<std::uint32_t>(record_.tasks.size()), step_,
                             Seconds(start), Seconds(end), 0, no_span});
    record_.tasks.push_back(std::move(task));
    return static_cast<std::uint32_t>(record_.spans.size() - 1);
  }
  RecordBuilder& held(std::uint32_t span, HeldBy by, std::uint32_t cause = no_span) {
    record_.spans[span].held_by = static_cast<std::uint8_t>(by);
    record_.spans[span].cause = cause;
    return *this;
  }
  RecordBuilder& next_step() {
    ++step_;
    return *this;
  }
  RunRecord& record() { return record_; }

 private:
  std::uint32_t lane_of(std::uint32_t rank, Lane lane) {
    const auto [place, is_new] =
        lanes_.try_emplace({rank, lane}, static_cast<std::uint32_t>(record_.lanes.size()));
    if (is_new) {
      const auto [stage, multiplicity] = places_.try_emplace(rank, std::pair{0u, 1u}).first->second;
      record_.lanes.push_back({.rank = RankId(rank),
                               .lane = lane,
                               .stage = stage,
                               .device = rank,
                               .node = rank / 8,
                               .multiplicity = multiplicity});
    }
    return place->second;
  }

  RunRecord record_;
  std::uint32_t step_ = 0;
  std::map<std::pair<std::uint32_t, Lane>, std::uint32_t> lanes_;
  std::map<std::uint32_t, std::pair<std::uint32_t, std::uint32_t>> places_;  // rank -> stage, multiplicity
};

}  // namespace tandem::testing
