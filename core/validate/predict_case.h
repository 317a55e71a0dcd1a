// One case through the predictor: model graph, plan, task graph, estimate; no second calculator.
#pragma once
#include <memory>
#include <optional>
#include <string>

#include "core/cost/calibration.h"
#include "core/validate/run_case.h"

namespace tandem {

struct CasePrediction {
  Seconds step;
  // Handed out, held by the allocator, there at all: of the stage that the case's memory column is of, or of
  // the fullest.
  Bytes allocated, reserved, limit;
  bool fits = true;  // every stage, with context and communicators
  std::int64_t micro_batch_size = 1;
  std::string refused;  // why the predictor does not take the plan; then nothing else holds
};

// Steps of many microbatches are played with two shorter ones of as many as fill the pipeline, and continued by
// the time that each further microbatch takes: once the pipeline is full every microbatch repeats the one
// before. A blank microbatch becomes the fastest one that fits, as a planner would choose.
CasePrediction predict_case(const RunCase&, const std::shared_ptr<const Calibration>&);

// The plan's breakdown as lines of text, for rows that need explaining. Plays the whole step.
std::string explain_case(const RunCase&, const std::shared_ptr<const Calibration>&);

}  // namespace tandem
