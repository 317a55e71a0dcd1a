// The summary of a record: stable keys, each absent when its value is not known.
#pragma once
#include "core/cli/prediction.h"

namespace tandem {

struct PredictionParts {
  const Scenario& scenario;
  const Prepared& prepared;
  const TaskGraph& graph;
  const CostModel& costs;
  const Playback& playback;
};

// Fills record.summary and the notes that the report shows (price, bottleneck, remarks).
//   step_time_s tokens_per_step samples_per_step tokens_per_s tokens_per_s_per_gpu samples_per_s devices
//   microbatches model_tflops_per_gpu mfu hfu: Megatron's model flops, without and with recomputation, over the
//   devices' dense peak of the plan's dtype compute_s forward_s … exposed_comm_s exposed_{tp,cp,ep,dp,pp}_s
//   bubble_s bubble_fraction optimizer_s host_s idle_s: breakdown_values of the mean device peak_memory_gib:
//   buffers of the plan at the worst stage; context_gib: context, libraries, communicators beside them;
//   reserved_gib: both; memory_limit_gib; fits (1 or 0)
//   cost_per_step cost_per_billion_tokens price_per_device_hour (US dollars) energy_per_step_kwh
//   training_days training_cost: of tokens_total
//   tasks_played flows_played rank_classes
void summarise(const PredictionParts&, RunRecord& record);

struct MeasurementParts {
  const Scenario& scenario;
  const Prepared& prepared;
  const TaskGraph& graph;
  Seconds step_time;           // of the step that stands for all
  const Breakdown& breakdown;  // of the mean device, sums to step_time
};
// The same keys of a measured run as far as they follow from its step time: throughput, MFU, breakdown, cost.
// The run itself knows its memory.
void summarise_measurement(const MeasurementParts&, RunRecord& record);

}  // namespace tandem
