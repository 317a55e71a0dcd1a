// Trains for real under a plan and keeps what a test compares.
#pragma once
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "core/lower/lower.h"
#include "exec/check_executable.h"
#include "exec/execute.h"
#include "exec/training/markov_source.h"
#include "exec/training/parameter_run.h"
#include "tests/exec/execute/plan_text.h"
#include "tests/exec/execute/tiny_models.h"

namespace tandem::testing {

struct TrainingRun {
  std::vector<double> losses, norms;
  // Of the first step, by parameter, in whole coordinates.
  std::map<std::string, std::vector<float>> gradients;
};

// Adds what one rank holds of the summed gradients.
inline void collect_gradients(const RankState& state, std::map<std::string, std::vector<float>>& whole) {
  const std::vector<BucketLayout>& buckets = state.flow().parameters.buckets;
  for (std::size_t b = 0; b < buckets.size(); ++b) {
    const IndexRange own = state.own_range(buckets[b]);
    for (std::size_t p = 0; p < buckets[b].places.size(); ++p) {
      const ParameterPlace& place = buckets[b].places[p];
      const ParameterShard& shard = state.shards(b)[p];
      std::vector<float>& values = whole[shard.name];
      values.resize(static_cast<std::size_t>(shard.whole.count()));
      const std::int64_t begin = std::max(own.begin, place.offset);
      const std::int64_t end = std::min(own.end, place.offset + place.count);
      if (begin >= end) continue;
      for (const ParameterRun& run : parameter_runs(shard, begin - place.offset, end - place.offset)) {
        if (run.padding) continue;
        const float* from = state.gradients(b, place.offset + run.local);
        std::copy(from, from + run.length, values.begin() + run.whole);
      }
    }
  }
}

// Of the difference, relative to `one`.
inline double relative_distance(const std::map<std::string, std::vector<float>>& other,
                                const std::map<std::string, std::vector<float>>& one) {
  double difference = 0, norm = 0;
  for (const auto& [name, values] : one) {
    const std::vector<float>& theirs = other.at(name);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double d = double{theirs[i]} - values[i];
      difference += d * d;
      norm += double{values[i]} * values[i];
    }
  }
  return std::sqrt(difference / norm);
}

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
  optimizer.learning_rate.lr = 1e-3;
  const RunSetup setup{spec, model, plan, graph, source, optimizer, 17};
  TrainingRun run;
  options.steps = steps;
  options.on_step = [&](const StepResult& result) {
    run.losses.push_back(result.loss);
    run.norms.push_back(result.gradient_norm);
  };
  options.after_rank_step = [&](RankState& state, const RankProgram&) {
    if (state.step == 0) collect_gradients(state, run.gradients);
  };
  execute_threads(setup, options);
  return run;
}

}  // namespace tandem::testing
