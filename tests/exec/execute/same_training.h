// Whether training under a plan is the training of one rank.
#pragma once
#include <fmt/format.h>

#include <cmath>
#include <map>

#include "tests/exec/execute/training_run.h"

namespace tandem::testing {

// Instrumented code is ten times slower and is run for its faults, not its losses.
#ifdef __SANITIZE_ADDRESS__
inline constexpr bool instrumented = true;
#else
inline constexpr bool instrumented = false;
#endif
inline constexpr std::int64_t steps = instrumented ? 3 : 20;

// One rank, one microbatch size, no cleverness: what all other plans must equal.
inline const TrainingRun& reference(const ModelSpec& spec, std::int64_t global_batch = 8) {
  static std::map<std::pair<std::string, std::int64_t>, TrainingRun> runs;
  const auto [entry, fresh] = runs.try_emplace({spec.name, global_batch});
  if (fresh) {
    const ModelGraph model = build_model(spec);
    entry->second =
        train(spec, model, tiny_plan(spec, model, plan_of(fmt::format("gbs={}", global_batch))), steps);
  }
  return entry->second;
}

// "" or what went wrong.
inline std::string difference(const ModelSpec& spec, const std::string& plan_text) {
  const ModelGraph model = build_model(spec);
  const Plan plan = tiny_plan(spec, model, plan_of(plan_text));
  const std::vector<Problem> problems = check_executable(spec, model, plan);
  if (!problems.empty()) return text(problems.front());
  const TrainingRun run = train(spec, model, plan, steps);
  const TrainingRun& one = reference(spec, plan.global_batch_size);
  for (std::size_t s = 0; s < one.losses.size(); ++s) {
    if (std::abs(run.losses[s] - one.losses[s]) > 1e-4 * one.losses[s])
      return fmt::format("step {}: loss {} instead of {}", s, run.losses[s], one.losses[s]);
  }
  if (std::abs(run.norms.front() - one.norms.front()) > 1e-5 * one.norms.front())
    return fmt::format("gradient norm {} instead of {}", run.norms.front(), one.norms.front());
  if (const double distance = relative_distance(run.gradients, one.gradients); distance > 1e-5)
    return fmt::format("first gradients differ by {} of their norm", distance);
  return "";
}

}  // namespace tandem::testing
