// Reports of ranks as spans, memory samples and losses.
#include "exec/run/recorder.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/cli/describe.h"
#include "core/cli/digest.h"
#include "core/dataflow/data_flow.h"

namespace tandem {
namespace {

// A step's memory goes up and down with each layer; this many samples a rank keep its shape.
constexpr std::size_t samples_a_step = 200;

Seconds seconds(Nanoseconds time) { return Seconds(static_cast<double>(time) * 1e-9); }

RecordHeader header_of(const RunCase& run) {
  RecordHeader header;
  header.backend = "cpu";
  header.program_version = TANDEM_VERSION;
  header.seed = run.options.seed;
  header.scenario = to_toml(run.scenario);
  header.scenario_digest = digest(header.scenario);
  header.model = describe_model(run.scenario.model, run.prepared.model);
  header.cluster = describe_cluster(run.prepared.cluster);
  header.plan = describe_plan(run.prepared.plan);
  header.notes["data"] = run.source->text();
  header.notes["time"] = "steps lie end to end: what happens between them is left out";
  if (run.resumed)
    header.notes["resumed"] = fmt::format("after {} steps, from {}", run.resumed->step, run.checkpoint_folder);
  const DeviceKind& device = run.prepared.cluster.kind(DeviceId(run.graph.device_of[0]));
  if (!device.id.starts_with("cpu"))
    header.notes["remark 00"] = fmt::format("ran on CPU cores: {} only rates what was measured", device.name);
  return header;
}

RecordHead head_of(const RunCase& run) {
  RecordHead head = make_record_head(run.graph, run.prepared.cluster, run.options.algorithm, header_of(run));
  head.record.warmup_steps = static_cast<std::uint32_t>(run.options.warmup);
  return head;
}

std::vector<Program> measured_programs(const RunCase& run) {
  std::vector<Program> programs;
  const Mesh& mesh = run.graph.mesh;
  std::vector<bool> known(run.graph.programs.size(), false);
  programs.resize(known.size());
  for (std::uint32_t rank = 0; rank < run.graph.program_of.size(); ++rank) {
    const std::size_t p = run.graph.program_of[rank].value;
    if (known[p]) continue;
    known[p] = true;
    const DataFlow flow =
        bind_values(run.prepared.model, run.prepared.plan, run.graph, mesh.stage(RankId(rank)));
    programs[p] = run.graph.programs[ProgramId(p)];
    programs[p].buffers = exact_buffers(flow, programs[p]);
  }
  return programs;
}

}  // namespace

Recorder::Recorder(const RunCase& run)
    : graph_(run.graph),
      head_(head_of(run)),
      meetings_(run.graph),
      programs_(measured_programs(run)),
      lane_of_(run.graph.program_of.size()),
      stream_(run.options.record, head_.record) {
  for (std::uint32_t i = 0; i < head_.record.lanes.size(); ++i) {
    const RecordLane& lane = head_.record.lanes[i];
    lane_of_[lane.rank.value][static_cast<std::size_t>(lane.lane)] = i;
  }
}

StepSpans Recorder::append(std::vector<RankReport> ranks, double loss) {
  Nanoseconds start = ranks[0].start, end = ranks[0].end;
  for (const RankReport& rank : ranks) start = std::min(start, rank.start), end = std::max(end, rank.end);
  std::vector<std::vector<bool>> held;
  meetings_.align(ranks, held);
  StepSpans result{time_, seconds(end - start), {}};
  for (std::uint32_t r = 0; r < ranks.size(); ++r) {
    add_spans(RankId(r), ranks[r], held[r], start, result.step);
    add_memory(RankId(r), ranks[r], start, result.step);
  }
  result.step.losses.emplace_back(step_, loss);
  stream_.append(result.step);
  time_ += result.duration;
  ++step_;
  return result;
}

void Recorder::add_spans(RankId rank, const RankReport& report, const std::vector<bool>& held,
                         Nanoseconds step_start, RecordStep& step) {
  const Program& program = graph_.program(rank);
  const std::uint32_t first = head_.first_task[graph_.program_of[rank.value].value];
  std::array<Seconds, lane_count> lane_end;
  lane_end.fill(time_);
  for (std::uint32_t t = 0; t < program.tasks.size(); ++t) {
    const auto lane = static_cast<std::size_t>(program.tasks[t].lane);
    RecordSpan span{.lane = lane_of_[rank.value][lane], .task = first + t, .step = step_};
    // Clocks of machines agree within a margin, steps and lanes stay in order.
    span.start = std::max(time_ + seconds(report.tasks[t].start - step_start), lane_end[lane]);
    span.end = std::max(time_ + seconds(report.tasks[t].end - step_start), span.start);
    if (held[t]) span.held_by = static_cast<std::uint8_t>(HeldBy::Peer);
    lane_end[lane] = span.end;
    step.spans.push_back(span);
  }
}

void Recorder::add_memory(RankId rank, const RankReport& report, Nanoseconds step_start, RecordStep& step) {
  std::vector<Seconds> start, end;
  for (const CommunicationTimes& task : report.tasks) {
    start.push_back(std::max(seconds(task.start - step_start), Seconds(0)));
    end.push_back(std::max(seconds(task.end - step_start), start.back()));
  }
  const MemoryCurve curve = memory_curve(programs_[graph_.program_of[rank.value].value], start, end);
  for (const MemoryPoint& point : thinned(curve.points, samples_a_step)) {
    step.memory.push_back({rank, time_ + point.time, point.live});
    for (Bytes& live : step.memory.back().live) live = std::max(live, Bytes(0));
  }
}

}  // namespace tandem
