// Trains for real under a plan and keeps what a test compares.
#pragma once
#include <vector>

#include "core/lower/lower.h"
#include "exec/check_executable.h"
#include "exec/execute.h"
#include "exec/training/markov_source.h"
#include "tests/exec/execute/plan_text.h"
#include "tests/exec/execute/tiny_models.h"

namespace tandem::testing {

struct TrainingRun {
  std::vector<double> losses, norms;
};

// In fp32 unless the text says bf16.
inline Plan tiny_plan(const ModelSpec& spec, const ModelGraph& model, PlanSpec plan) {
  if (plan.seq_length == 0) plan.seq_length = 32;
  if (plan.global_batch_size == 0) plan.global_batch_size = 8;
  return plan_for(spec, model, std::move(plan));
}

inline TrainingRun train(const ModelSpec& spec, const ModelGraph& model, const Plan& plan, std::int64_t steps,
                         ExecuteOptions options = {}) {
  const TaskGraph graph = lower(model, plan);
  const MarkovSource source({.seed = 5,
                             .vocabulary = source_vocabulary(spec.vocab_size, objective(model)),
                             .symbols = 32,
                             .dialects = spec.encoder_layers > 0 ? 2 : 1});
  OptimizerOptions optimizer;
  optimizer.learning_rate.lr = 3e-3;
  const RunSetup setup{spec, model, plan, graph, source, optimizer, 17};
  TrainingRun run;
  options.steps = steps;
  options.on_step = [&](const StepResult& result) {
    run.losses.push_back(result.loss);
    run.norms.push_back(result.gradient_norm);
  };
  execute_threads(setup, options);
  return run;
}

}  // namespace tandem::testing
