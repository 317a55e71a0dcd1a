// Checks before anything starts.
#include "exec/run/run_case.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "core/cli/output_file.h"
#include "exec/check_executable.h"
#include "exec/training/batch.h"
#include "exec/training/checkpoint_reader.h"
#include "exec/training/make_token_source.h"
#include "exec/training/model_digest.h"

namespace tandem {
namespace {

void check_plan(const Scenario& scenario, const Prepared& prepared) {
  Problems problems;
  for (const Problem& problem : check_executable(scenario.model, prepared.model, prepared.plan))
    problems.add(problem);
  problems.throw_if_any();
}

// Ranks of a machine that hierarchical collectives may count on in every group.
std::size_t ranks_per_node(const Mesh& mesh, Algorithm algorithm) {
  if (algorithm != Algorithm::Hierarchical) return 1;
  std::size_t common = mesh.ranks();
  for (std::size_t axis = 0; axis < static_cast<std::size_t>(Axis::World); ++axis)
    if (const std::size_t size = mesh.size(static_cast<Axis>(axis)); size > 1) common = std::gcd(common, size);
  if (common < 2 && mesh.ranks() > 1)
    refuse({}, "--algorithm hierarchical: the plan's groups have no common divisor to be a machine's share");
  return common;
}

void find_checkpoint(RunCase& run, bool seed_given) {
  RunOptions& options = run.options;
  if (!options.resume) return;
  const auto folder = latest_checkpoint(options.checkpoints);
  if (!folder) refuse({.file = options.checkpoints}, "there is no complete checkpoint to go on from");
  const CheckpointReader reader(*folder);
  reader.check_model(run.prepared.model);
  run.checkpoint_folder = *folder;
  run.resumed = reader.meta();
  if (run.resumed->step >= options.steps)
    refuse({.file = *folder},
           fmt::format("the checkpoint has done {} of {} steps already", run.resumed->step, options.steps),
           "--steps counts all steps of the training");
  if (!seed_given) options.seed = run.resumed->seed;
  options.warmup = std::min(options.warmup, run.own_steps() - 1);
}

std::vector<std::string> input_files(const Arguments& arguments) {
  std::vector<std::string> files = arguments.operands;
  for (const char* option : {"--model", "--megatron-args", "--data"})
    if (const std::string file = arguments.value(option); !file.empty()) files.push_back(file);
  return files;
}

}  // namespace

RunCase make_run_case(const Arguments& arguments, const Scenario& scenario, const Prepared& prepared) {
  RunCase run{.scenario = scenario,
              .prepared = prepared,
              .options = run_options(arguments, scenario.name),
              .exchanges = {},
              .graph = {},
              .source = nullptr,
              .floor = {}};
  check_plan(scenario, prepared);
  if (run.options.balance_experts && !prepared.model.has_experts())
    refuse({}, "--moe-router-force-load-balancing: this model has no experts", "leave it out");
  run.exchanges = {run.options.algorithm, ranks_per_node(prepared.plan.mesh, run.options.algorithm)};
  find_checkpoint(run, arguments.has("--seed"));
  run.source =
      make_token_source(prepared.model, prepared.plan, {.file = run.options.data, .seed = run.options.seed});
  run.floor = entropy_floor(batch_shape(prepared.model, prepared.plan, RankId(0)), *run.source,
                            objective(prepared.model));
  check_output_file(run.options.record, input_files(arguments));
  run.graph = lower(prepared.model, prepared.plan);
  return run;
}

CheckpointMeta checkpoint_meta(const RunCase& run, std::int64_t steps_done) {
  const std::int64_t own = (steps_done - run.first_step()) * run.prepared.plan.global_batch_size;
  return {.model = run.prepared.model.name(),
          .model_digest = model_digest(run.prepared.model),
          .step = steps_done,
          .seed = run.options.seed,
          .samples = (run.resumed ? run.resumed->samples : 0) + own,
          .data = run.source->text(),
          .plan = run.prepared.plan.mesh.text()};
}

}  // namespace tandem
