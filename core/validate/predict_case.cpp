// Plays cases, long steps by their steady state.
#include "core/validate/predict_case.h"

#include <algorithm>
#include <limits>

#include "core/cost/cost_model.h"
#include "core/estimate/estimate.h"
#include "core/estimate/make_record.h"
#include "core/lower/lower.h"
#include "core/record/breakdown.h"

namespace tandem {
namespace {

// Communicators of more than one rank that a rank belongs to.
std::size_t communicators(const Mesh& mesh) {
  std::size_t count = 0;
  for (const Axis axis : {Axis::Tensor, Axis::Context, Axis::DataContext, Axis::Pipeline, Axis::Expert,
                          Axis::ExpertTensor, Axis::ExpertData, Axis::Embedding})
    if (mesh.size(axis) > 1) ++count;
  return count;
}

PlayOptions whole_estimate() {
  PlayOptions options;
  options.fidelity = Fidelity::Estimate;
  return options;
}

struct Machine {
  ModelGraph model;
  Cluster cluster;
  CostModel costs;
  MachineShape shape;
};

struct Played {
  double seconds = 0;
  std::uint32_t microbatches = 1;
  std::vector<Bytes> peaks;  // by stage
  std::size_t communicators = 0;
  std::int64_t chunks = 1;
};

Played play(const RunCase& run, const Machine& machine, PlanSpec spec) {
  if (spec.host_seconds_per_step.value == 0) spec.host_seconds_per_step = machine.costs.host_per_step();
  const Plan plan = resolve_plan(spec, run.model, machine.model, machine.shape);
  const TaskGraph graph = lower(machine.model, plan);
  const Playback playback = estimate(graph, machine.cluster, machine.costs, whole_estimate());
  Played played;
  played.seconds = playback.step_time.value;
  played.microbatches = plan.microbatches;
  played.communicators = communicators(graph.mesh);
  for (const RankTimes& rank : playback.ranks) {
    std::vector<Seconds> start, end;
    start.reserve(rank.tasks.size());
    end.reserve(rank.tasks.size());
    for (const TaskTimes& task : rank.tasks) {
      start.push_back(task.start);
      end.push_back(task.end);
    }
    played.peaks.push_back(memory_curve(graph.program(rank.rank), start, end).peak);
  }
  return played;
}

// Microbatches of the shorter steps; 0: the step is short enough to be played whole.
std::int64_t steady_microbatches(const PlanSpec& spec, std::int64_t microbatches) {
  const std::int64_t stages = spec.pipeline_model_parallel_size;
  const std::int64_t few = stages == 1 ? 4 : 4 * stages, period = stages == 1 ? 2 : stages;
  return microbatches > 2 * few + period + 2 ? few : 0;
}

Played play_steady(const RunCase& run, const Machine& machine, const PlanSpec& spec) {
  const std::int64_t a_microbatch = spec.micro_batch_size * std::max<std::int64_t>(1, spec.data_parallel_size);
  const std::int64_t microbatches = spec.global_batch_size / a_microbatch;
  const std::int64_t few = steady_microbatches(spec, microbatches);
  if (few == 0) return play(run, machine, spec);
  const std::int64_t period = spec.pipeline_model_parallel_size == 1 ? 2 : spec.pipeline_model_parallel_size;
  PlanSpec shorter = spec, longer = spec;
  shorter.global_batch_size = few * a_microbatch;
  longer.global_batch_size = (few + period) * a_microbatch;
  const Played first = play(run, machine, shorter);
  Played second = play(run, machine, longer);
  const double each = (second.seconds - first.seconds) / static_cast<double>(period);
  second.seconds += each * static_cast<double>(microbatches - few - period);
  second.microbatches = static_cast<std::uint32_t>(microbatches);
  return second;
}

Machine machine_of(const RunCase& run, const std::shared_ptr<const Calibration>& calibration) {
  Cluster cluster = build_cluster(run.cluster);
  CostModel costs(calibration, run.framework, cluster);
  const MachineShape shape{static_cast<std::int64_t>(cluster.device_count()),
                           run.cluster.groups.front().type.devices};
  return {build_model(run.model), std::move(cluster), std::move(costs), shape};
}

CasePrediction predict_plan(const RunCase& run, const Machine& machine, const PlanSpec& spec) {
  const Played played = play_steady(run, machine, spec);
  CasePrediction out;
  out.step = Seconds(played.seconds);
  out.micro_batch_size = spec.micro_batch_size;
  out.limit = machine.cluster.kind(DeviceId(0)).memory;
  const Bytes beside = machine.costs.reserved_memory(machine.cluster[DeviceId(0)].kind, played.communicators);
  const Bytes largest = *std::max_element(played.peaks.begin(), played.peaks.end());
  out.fits = machine.costs.held_by_allocator(largest) + beside <= out.limit;
  out.allocated = run.first_stage_memory ? played.peaks.front() : largest;
  out.reserved = machine.costs.held_by_allocator(out.allocated);
  return out;
}

std::string first_problem(const InputError& error) {
  return error.problems().empty() ? std::string(error.what()) : error.problems().front().what;
}

}  // namespace

CasePrediction predict_case(const RunCase& run, const std::shared_ptr<const Calibration>& calibration) {
  try {
    const Machine machine = machine_of(run, calibration);
    if (run.microbatch_known) return predict_plan(run, machine, run.plan);
    std::optional<CasePrediction> best;
    const std::int64_t share =
        run.plan.global_batch_size / std::max<std::int64_t>(1, run.plan.data_parallel_size);
    for (std::int64_t size = 1; size <= std::min<std::int64_t>(share, 16); size *= 2) {
      if (share % size != 0) continue;
      PlanSpec spec = run.plan;
      spec.micro_batch_size = size;
      if (spec.virtual_pipeline_model_parallel_size > 1 &&
          share / size % spec.pipeline_model_parallel_size != 0)
        continue;
      const CasePrediction made = predict_plan(run, machine, spec);
      if (!best || (made.fits && (!best->fits || made.step < best->step))) best = made;
      if (!made.fits) break;
    }
    return *best;
  } catch (const InputError& error) {
    CasePrediction none;
    none.refused = first_problem(error);
    return none;
  }
}

std::string explain_case(const RunCase& run, const std::shared_ptr<const Calibration>& calibration) {
  const Machine machine = machine_of(run, calibration);
  PlanSpec spec = run.plan;
  if (spec.host_seconds_per_step.value == 0) spec.host_seconds_per_step = machine.costs.host_per_step();
  const Plan plan = resolve_plan(spec, run.model, machine.model, machine.shape);
  const TaskGraph graph = lower(machine.model, plan);
  const Playback playback = estimate(graph, machine.cluster, machine.costs, whole_estimate());
  const RunRecord record = make_record(graph, playback, machine.cluster, machine.costs, {});
  return text(breakdown(record).mean);
}

}  // namespace tandem
