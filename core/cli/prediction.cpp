// The way from a scenario to a record: model graph, cluster, plan, task graph, playback, record, summary.
#include "core/cli/prediction.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "core/cli/bottleneck.h"
#include "core/cli/describe.h"
#include "core/cli/digest.h"
#include "core/cli/resident_memory.h"
#include "core/cli/summary.h"
#include "core/cost/calibration.h"
#include "core/estimate/estimate.h"
#include "core/estimate/make_record.h"
#include "core/lower/lower.h"

namespace tandem {
namespace {

Fidelity fidelity_of(PlayLevel level) {
  switch (level) {
    case PlayLevel::Estimate:
      return Fidelity::Estimate;
    case PlayLevel::Fused:
      return Fidelity::Fused;
    case PlayLevel::Folded:
      return Fidelity::Folded;
    case PlayLevel::Replicas:
      return Fidelity::Replicas;
    case PlayLevel::Full:
      return Fidelity::Full;
  }
  return Fidelity::Folded;
}

// Problems without a place of their own get `where`.
template <class Make>
auto placed(const Where& where, Make make) {
  try {
    return make();
  } catch (const InputError& error) {
    std::vector<Problem> problems = error.problems();
    for (Problem& problem : problems)
      if (problem.where.file.empty() && problem.where.line == 0) problem.where = where;
    throw InputError(std::move(problems));
  }
}

}  // namespace

Prepared prepare(const Scenario& scenario) {
  ModelGraph model = build_model(scenario.model);
  Cluster cluster = placed(scenario.cluster_where, [&] { return build_cluster(scenario.cluster); });
  const MachineShape machine{static_cast<std::int64_t>(cluster.device_count()),
                             scenario.cluster.groups.front().type.devices};
  Plan plan = resolve_plan(scenario.plan, scenario.model, model, machine);
  return {std::move(model), std::move(cluster), std::move(plan)};
}

CostModel cost_model_of(const Scenario& scenario, const Cluster& cluster, const std::string& scenarios) {
  namespace fs = std::filesystem;
  const std::string shipped = (fs::path(scenarios) / "calibrations").string();
  std::error_code error;
  // A folder replaces the shipped constants, a file is laid over them.
  const bool folder = fs::is_directory(scenario.calibration, error);
  auto calibration =
      read_calibration(folder ? scenario.calibration : shipped, folder ? "" : scenario.calibration);
  return placed({.file = scenario.path},
                [&] { return CostModel(std::move(calibration), scenario.framework, cluster); });
}

std::optional<RunRecord> predict(const Scenario& scenario, const std::string& scenarios,
                                 const PredictOptions& options) {
  const auto go_on = [&](std::string_view what, double share) {
    return !options.progress || options.progress(what, share);
  };
  Prepared prepared = prepare(scenario);
  const CostModel costs = cost_model_of(scenario, prepared.cluster, scenarios);
  Seconds& host_per_step = prepared.plan.spec.host_seconds_per_step;
  if (host_per_step.value == 0) host_per_step = costs.host_per_step();
  if (!go_on("lowering", 0)) return std::nullopt;
  TaskGraph graph = lower(prepared.model, prepared.plan);
  const std::optional<ResidentMemory> resident = resident_on_cores(prepared, costs, graph);
  const std::optional<SharedCores> cores = costs.shared_cores(DeviceId(0));
  PlayOptions play{.fidelity = fidelity_of(scenario.simulation.fidelity),
                   .jitter = scenario.simulation.jitter.value_or(cores ? cores->jitter : 0),
                   .seed = scenario.simulation.seed,
                   .recorded = {},
                   .record_times = true,
                   .progress = {}};
  const std::string_view doing = play.fidelity == Fidelity::Estimate ? "estimating" : "simulating";
  play.progress = [&](double share) { return go_on(doing, share); };
  if (!go_on(doing, 0)) return std::nullopt;
  if (play.fidelity != Fidelity::Estimate && !options.simulate)
    throw std::logic_error("predict() needs a simulator");
  const Playback playback = play.fidelity == Fidelity::Estimate
                                ? estimate(graph, prepared.cluster, costs, play)
                                : options.simulate(graph, prepared.cluster, costs, play);
  if (!playback.complete) return std::nullopt;

  RecordHeader header;
  header.backend = play.fidelity == Fidelity::Estimate ? "estimate" : "simgrid";
  header.fidelity = std::string(name(playback.fidelity));
  header.program_version = TANDEM_VERSION;
  header.seed = scenario.simulation.seed;
  header.scenario = to_toml(scenario);
  header.scenario_digest = digest(header.scenario);
  header.model = describe_model(scenario.model, prepared.model);
  header.cluster = describe_cluster(prepared.cluster);
  header.plan = describe_plan(prepared.plan);
  RunRecord record = make_record(graph, playback, prepared.cluster, costs, std::move(header),
                                 options.texts ? RecordTexts::All : RecordTexts::None);
  summarise({scenario, prepared, graph, costs, playback}, record);
  if (resident) {
    const double gib = gibibytes(1).value;
    record.summary["arena_gib"] = resident->arena.value / gib;
    record.summary["resident_gib"] = resident->threads.value / gib;
    record.summary["resident_mpi_gib"] = resident->process.value / gib;
  }
  return record;
}

std::vector<StageMemory> memory_of(const RunRecord& record) {
  std::map<std::uint32_t, StageMemory> peaks;  // by rank
  std::map<std::uint32_t, const RecordLane*> lanes;
  for (const RecordLane& lane : record.lanes) lanes.emplace(lane.rank.value, &lane);
  for (const RecordMemory& sample : record.memory) {
    Bytes sum;
    for (const Bytes size : sample.live) sum += size;
    const auto [known, fresh] = peaks.emplace(sample.rank.value, StageMemory{});
    StageMemory& peak = known->second;
    if (!fresh && sum <= peak.allocated) continue;
    peak.rank = sample.rank;
    peak.when = sample.time;
    peak.classes = sample.live;
    peak.allocated = sum;
    if (const auto lane = lanes.find(sample.rank.value); lane != lanes.end()) {
      peak.stage = lane->second->stage;
      if (lane->second->device_kind < record.device_kinds.size())
        peak.limit = record.device_kinds[lane->second->device_kind].memory;
    }
  }
  std::vector<StageMemory> stages;
  for (auto& [rank, peak] : peaks) stages.push_back(peak);
  std::stable_sort(stages.begin(), stages.end(),
                   [](const StageMemory& a, const StageMemory& b) { return a.stage < b.stage; });
  return stages;
}

}  // namespace tandem
