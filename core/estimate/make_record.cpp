// Lanes, tasks, spans, memory and links of a record from a playback.
#include "core/estimate/make_record.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "core/estimate/work_text.h"
#include "core/problem/problem.h"
#include "core/record/messages.h"
#include "core/units/text.h"

namespace tandem {
namespace {

// What a task's work adds to its record; equal works of one rank are described once.
struct Described {
  TaskKind kind = TaskKind::Compute;
  std::string detail;
  Flops flops;
  Bytes bytes;
  std::uint32_t group_size = 1;
  CollectiveKind collective = CollectiveKind::AllReduce;
  Algorithm algorithm = Algorithm::Auto;
  std::uint32_t origin = no_origin;
};

class Describer {
 public:
  // Without costs, of a measured run: no origins, and `chosen` carries out what the plan leaves open.
  Describer(const TaskGraph& graph, const CostModel* costs, Algorithm chosen, RankId rank, DeviceKindId kind,
            RecordTexts texts, std::vector<std::string>& origins,
            std::unordered_map<std::string, std::uint32_t>& known_origins)
      : graph_(graph),
        costs_(costs),
        chosen_(chosen),
        rank_(rank),
        kind_(kind),
        texts_(texts == RecordTexts::All),
        origins_(origins),
        known_origins_(known_origins) {}

  const Described& describe(WorkId work) {
    const auto [place, is_new] = known_.try_emplace(work.value);
    if (is_new) {
      place->second = std::visit(*this, graph_.works[work]);
      if (texts_ && costs_ != nullptr) place->second.origin = origin(graph_.works[work]);
    }
    return place->second;
  }

  // Where the work's duration came from, kept once in the record; no_origin for what has no formula of its own.
  std::uint32_t origin(const Work& work) {
    std::string text;
    if (const auto* compute = std::get_if<Compute>(&work))
      text = costs_->explain(*compute, kind_);
    else if (const auto* collective = std::get_if<Collective>(&work))
      text = costs_->explain(*collective, members(*collective));
    else if (const auto* send = std::get_if<Send>(&work))
      text = message_text(send->size, rank_, graph_.mesh.member(send->axis, group(send->axis), send->peer));
    else if (const auto* receive = std::get_if<Receive>(&work))
      text = message_text(receive->size, graph_.mesh.member(receive->axis, group(receive->axis), receive->peer),
                          rank_);
    if (text.empty()) return no_origin;
    const auto [entry, is_new] = known_origins_.try_emplace(text, static_cast<std::uint32_t>(origins_.size()));
    if (is_new) origins_.push_back(text);
    return entry->second;
  }

  Described operator()(const Compute& compute) const {
    return {TaskKind::Compute, texts_ ? work_text(compute) : "", compute.flops, compulsory_bytes(compute)};
  }
  Described operator()(const Collective& collective) const {
    const std::size_t size = graph_.mesh.size(collective.axis);
    if (!texts_)
      return {TaskKind::Collective, "", {}, collective.size, static_cast<std::uint32_t>(size), collective.kind,
              Algorithm::Auto};
    const Algorithm algorithm =
        costs_ != nullptr
            ? costs_->collective(collective, members(collective)).algorithm
            : carried_by(collective.kind,
                         collective.algorithm == Algorithm::Auto ? chosen_ : collective.algorithm);
    return {TaskKind::Collective,
            work_text(collective, algorithm, size),
            {},
            collective.size,
            static_cast<std::uint32_t>(size),
            collective.kind,
            algorithm};
  }
  Described operator()(const Send& send) const { return {TaskKind::Send, work_text(send), {}, send.size}; }
  Described operator()(const Receive& receive) const {
    return {TaskKind::Receive, work_text(receive), {}, receive.size};
  }
  Described operator()(const Copy& copy) const { return {TaskKind::Copy, work_text(copy), {}, copy.size}; }
  Described operator()(const WaitForInput& input) const {
    return {TaskKind::Input, work_text(input), {}, input.size};
  }

 private:
  std::uint32_t group(Axis axis) const { return graph_.mesh.place(rank_, axis).group; }
  std::vector<DeviceId> members(const Collective& collective) const {
    std::vector<DeviceId> result;
    for (const RankId member : graph_.mesh.members(collective.axis, group(collective.axis)))
      result.push_back(DeviceId(graph_.device_of[member.value]));
    return result;
  }
  std::string message_text(Bytes size, RankId from, RankId to) const {
    const CommunicationCost cost =
        costs_->message(size, DeviceId(graph_.device_of[from.value]), DeviceId(graph_.device_of[to.value]));
    return fmt::format("message of {} from rank {} to rank {}: start and latency {} + {} at {}", text(size),
                       from.value, to.value, text(cost.latency), text(cost.transfer),
                       text(size / cost.transfer));
  }

  const TaskGraph& graph_;
  const CostModel* costs_;
  Algorithm chosen_;
  RankId rank_;
  DeviceKindId kind_;
  bool texts_;
  std::vector<std::string>& origins_;
  std::unordered_map<std::string, std::uint32_t>& known_origins_;
  std::unordered_map<std::uint32_t, Described> known_;
};

class RecordMaker {
 public:
  RecordMaker(const TaskGraph& graph, const Playback& playback, const Cluster& cluster, const CostModel* costs,
              RecordTexts texts, Algorithm chosen = Algorithm::Auto)
      : graph_(graph), playback_(playback), cluster_(cluster), costs_(costs), texts_(texts), chosen_(chosen) {}

  RecordHead head(RecordHeader header) {
    RecordHead head;
    record_.header = std::move(header);
    add_device_kinds();
    for (const RankTimes& rank : playback_.ranks) {
      add_tasks(rank.rank);
      add_lanes(rank);
    }
    head.first_task.resize(graph_.programs.size());
    for (const auto& [program, first] : first_task_) head.first_task[program] = first;
    head.record = std::move(record_);
    return head;
  }

  RunRecord run(RecordHeader header) {
    record_.header = std::move(header);
    if (record_.header.fidelity.empty()) record_.header.fidelity = name(playback_.fidelity);
    if (!playback_.remark.empty()) record_.header.notes.try_emplace("folding", playback_.remark);
    record_.summary["step_time_s"] = playback_.step_time.value;
    add_device_kinds();
    std::size_t spans = 0;
    for (const RankTimes& rank : playback_.ranks) {
      check(rank.tasks.size() == graph_.program(rank.rank).tasks.size(),
            "a time for every task of a recorded rank");
      first_span_.emplace(rank.rank.value, static_cast<std::uint32_t>(spans));
      spans += rank.tasks.size();
    }
    check(spans < no_span, "spans that a record can number");
    record_.spans.reserve(spans);
    record_.tasks.reserve(spans);  // recorded ranks of one program share theirs: an upper bound
    for (const RankTimes& rank : playback_.ranks) {
      add_tasks(rank.rank);
      add_spans(rank, add_lanes(rank));
      add_memory(rank);
    }
    add_causes();
    for (const LinkUse& use : playback_.links)
      record_.links.push_back(
          {cluster_.link_name(use.link), use.multiplicity, use.carried, cluster_[use.link].capacity});
    return std::move(record_);
  }

 private:
  void add_device_kinds() {
    for (const DeviceKind& kind : cluster_.kinds()) {
      RecordDeviceKind device{kind.name, kind.memory, kind.memory_bandwidth, {}, kind.compute_units};
      for (const auto& [dtype, rate] : kind.peak) device.peak.emplace(name(dtype), rate);
      record_.device_kinds.push_back(std::move(device));
    }
  }

  // Record lane of each of the rank's lanes.
  std::array<std::uint32_t, lane_count> add_lanes(const RankTimes& times) {
    std::array<bool, lane_count> used{};
    for (const Task& task : graph_.program(times.rank).tasks) used[static_cast<std::size_t>(task.lane)] = true;
    const std::uint32_t device = graph_.device_of[times.rank.value];
    const Device& place = cluster_[DeviceId(device)];
    std::array<std::uint32_t, lane_count> lanes{};
    for (std::size_t lane = 0; lane < lane_count; ++lane) {
      if (!used[lane]) continue;
      lanes[lane] = static_cast<std::uint32_t>(record_.lanes.size());
      record_.lanes.push_back({times.rank, static_cast<Lane>(lane), graph_.mesh.stage(times.rank), device,
                               place.node.value, times.multiplicity, place.kind.value});
    }
    return lanes;
  }

  void add_tasks(RankId rank) {
    const ProgramId program = graph_.program_of[rank.value];
    if (!first_task_.try_emplace(program.value, static_cast<std::uint32_t>(record_.tasks.size())).second)
      return;
    const DeviceKindId kind = cluster_[DeviceId(graph_.device_of[rank.value])].kind;
    Describer describer(graph_, costs_, chosen_, rank, kind, texts_, record_.origins, known_origins_);
    for (const Task& task : graph_.programs[program].tasks) {
      const Described& work = describer.describe(task.work);
      const bool texts = texts_ == RecordTexts::All;
      record_.tasks.push_back({texts ? graph_.labels[task.label] : std::string(), task.phase, work.kind,
                               task.microbatch, task.message, task.chunk, texts ? work.detail : std::string(),
                               work.flops, work.bytes, work.group_size, work.collective, work.algorithm,
                               work.origin});
    }
  }

  // In program order: the span of a rank's task is the rank's first span plus the task's index.
  void add_spans(const RankTimes& rank, const std::array<std::uint32_t, lane_count>& lanes) {
    const Program& program = graph_.program(rank.rank);
    const std::uint32_t first = first_task_.at(graph_.program_of[rank.rank.value].value);
    for (std::uint32_t t = 0; t < rank.tasks.size(); ++t)
      record_.spans.push_back({lanes[static_cast<std::size_t>(program.tasks[t].lane)], first + t, 0,
                               rank.tasks[t].start, rank.tasks[t].end,
                               static_cast<std::uint8_t>(rank.tasks[t].held_by), no_span});
  }

  // A message that its other side held up, without a task to name, waited for what that side waited for.
  void add_causes() {
    std::uint32_t index = 0;
    for (const RankTimes& rank : playback_.ranks)
      for (const TaskTimes& times : rank.tasks) record_.spans[index].cause = cause_of(index, times), ++index;
    for (const MessagePair& pair : message_pairs(record_)) {
      RecordSpan &send = record_.spans[pair.send], &receive = record_.spans[pair.receive];
      constexpr auto peer = static_cast<std::uint8_t>(HeldBy::Peer);
      if (send.cause == no_span && send.held_by == peer && receive.held_by != peer) send.cause = pair.receive;
      if (receive.cause == no_span && receive.held_by == peer && send.held_by != peer)
        receive.cause = pair.send;
    }
  }

  std::uint32_t cause_of(std::uint32_t index, const TaskTimes& times) const {
    const auto rank = first_span_.find(times.cause_rank);
    if (times.held_by == HeldBy::Nothing || rank == first_span_.end()) return no_span;
    const std::size_t tasks = graph_.program(RankId(times.cause_rank)).tasks.size();
    if (times.cause_task >= tasks) return no_span;
    const std::uint32_t cause = rank->second + times.cause_task;
    // What had not ended by then was not what ended last.
    return cause == index || record_.spans[cause].end > times.start + clock_resolution ? no_span : cause;
  }

  void add_memory(const RankTimes& rank) {
    std::vector<Seconds> start, end;
    for (const TaskTimes& times : rank.tasks) {
      start.push_back(times.start);
      end.push_back(times.end);
    }
    const MemoryCurve curve = memory_curve(graph_.program(rank.rank), start, end);
    for (const MemoryPoint& point : thinned(curve.points, most_memory_samples)) {
      record_.memory.push_back({rank.rank, point.time, point.live});
      // Shares of bytes are taken and given back in different orders: their sum may end a rounding below
      // nothing.
      for (Bytes& live : record_.memory.back().live) live = std::max(live, Bytes(0));
    }
  }

  const TaskGraph& graph_;
  const Playback& playback_;
  const Cluster& cluster_;
  const CostModel* costs_;
  const RecordTexts texts_;
  const Algorithm chosen_;
  RunRecord record_;
  std::unordered_map<std::uint32_t, std::uint32_t> first_span_;  // by rank
  std::unordered_map<std::uint32_t, std::uint32_t> first_task_;  // by program
  std::unordered_map<std::string, std::uint32_t> known_origins_;
};

}  // namespace

RunRecord make_record(const TaskGraph& graph, const Playback& playback, const Cluster& cluster,
                      const CostModel& costs, RecordHeader header, RecordTexts texts) {
  check(playback.complete, "only a complete playback makes a record");
  return RecordMaker(graph, playback, cluster, &costs, texts).run(std::move(header));
}

RecordHead make_record_head(const TaskGraph& graph, const Cluster& cluster, Algorithm chosen,
                            RecordHeader header) {
  Playback ranks;
  for (std::uint32_t rank = 0; rank < graph.program_of.size(); ++rank)
    ranks.ranks.push_back({.rank = RankId(rank), .multiplicity = 1, .tasks = {}});
  return RecordMaker(graph, ranks, cluster, nullptr, RecordTexts::All, chosen).head(std::move(header));
}

std::vector<MemoryPoint> thinned(const std::vector<MemoryPoint>& points, std::size_t most) {
  if (points.size() <= most) return points;
  const auto sum = [&](std::size_t i) {
    Bytes total;
    for (const Bytes live : points[i].live) total += live;
    return total;
  };
  constexpr std::size_t classes = static_cast<std::size_t>(BufferClass::Count);
  check(most >= 4 + classes, "room for one share of time and the peaks");
  const std::size_t shares = (most - classes) / 4;
  const Seconds first = points.front().time, length = points.back().time - first;
  const auto share_of = [&](std::size_t i) {
    const double part = length > Seconds(0) ? (points[i].time - first) / length : 0;
    return std::min(shares - 1, static_cast<std::size_t>(part * static_cast<double>(shares)));
  };
  std::set<std::size_t> kept;
  for (std::size_t begin = 0; begin < points.size();) {
    std::size_t end = begin, low = begin, high = begin;
    for (const std::size_t share = share_of(begin); end < points.size() && share_of(end) == share; ++end) {
      if (sum(end) < sum(low)) low = end;
      if (sum(end) > sum(high)) high = end;
    }
    kept.insert({begin, low, high, end - 1});
    begin = end;
  }
  for (std::size_t i = 0; i < classes; ++i)
    kept.insert(static_cast<std::size_t>(
        std::max_element(points.begin(), points.end(),
                         [&](const MemoryPoint& a, const MemoryPoint& b) { return a.live[i] < b.live[i]; }) -
        points.begin()));
  std::vector<MemoryPoint> result;
  for (const std::size_t i : kept) result.push_back(points[i]);
  return result;
}

}  // namespace tandem
