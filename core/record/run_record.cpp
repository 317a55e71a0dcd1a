// Names of a record's choices, and the invariants of a record.
#include "core/record/run_record.h"

#include <fmt/format.h>

#include <cmath>

#include "core/problem/problem.h"

namespace tandem {
namespace {

bool is_amount(double value) { return std::isfinite(value) && value >= 0; }

std::string lane_fault(const RunRecord& record) {
  std::map<std::pair<std::uint32_t, Lane>, std::size_t> seen;
  std::map<std::uint32_t, std::size_t> first;
  for (std::size_t i = 0; i < record.lanes.size(); ++i) {
    const RecordLane& lane = record.lanes[i];
    if (lane.lane >= Lane::Count) return fmt::format("lane {} is of no known kind", i);
    if (lane.multiplicity == 0) return fmt::format("lane {} stands for no rank", i);
    if (!record.device_kinds.empty() && lane.device_kind >= record.device_kinds.size())
      return fmt::format("lane {} names device kind {} of {}", i, lane.device_kind, record.device_kinds.size());
    if (!seen.emplace(std::pair(lane.rank.value, lane.lane), i).second)
      return fmt::format("lane {} repeats a lane of rank {}", i, lane.rank.value);
    const RecordLane& other = record.lanes[first.emplace(lane.rank.value, i).first->second];
    if (lane.stage != other.stage || lane.device != other.device || lane.node != other.node ||
        lane.multiplicity != other.multiplicity || lane.device_kind != other.device_kind)
      return fmt::format("lanes of rank {} disagree on where it is", lane.rank.value);
  }
  return {};
}

std::string task_fault(const RunRecord& record) {
  for (std::size_t i = 0; i < record.tasks.size(); ++i) {
    const RecordTask& task = record.tasks[i];
    const auto inside = [](auto value, std::size_t count) { return static_cast<std::size_t>(value) < count; };
    if (!inside(task.phase, phase_count) || !inside(task.kind, task_kind_count) ||
        !inside(task.collective, collective_kind_count) || !inside(task.algorithm, algorithm_count))
      return fmt::format("task {} ({}) is of no known kind", i, task.label);
    if (!is_amount(task.flops.value) || !is_amount(task.bytes.value))
      return fmt::format("task {} ({}) has a negative or non-finite amount", i, task.label);
    if (task.group_size == 0) return fmt::format("task {} ({}) has an empty group", i, task.label);
    if (task.origin != no_origin && task.origin >= record.origins.size())
      return fmt::format("task {} ({}) has an origin that is not there", i, task.label);
  }
  return {};
}

// A cause may last longer than the start of its span only when it is the other side of the same message.
std::string cause_fault(const RunRecord& record) {
  const auto& spans = record.spans;
  std::vector<std::uint8_t> state(spans.size(), 0);  // 0 new, 1 on the walk, 2 leads to an end
  std::vector<std::uint32_t> walk;
  for (std::uint32_t first = 0; first < spans.size(); ++first) {
    walk.clear();
    std::uint32_t at = first;
    while (at != no_span && state[at] == 0) {
      state[at] = 1;
      walk.push_back(at);
      const std::uint32_t cause = spans[at].cause;
      if (cause != no_span && cause >= spans.size())
        return fmt::format("span {} names cause {} of {}", at, cause, spans.size());
      if (cause != no_span && spans[cause].start > spans[at].start + clock_resolution)
        return fmt::format("span {} starts before its cause {}", at, cause);
      at = cause;
    }
    if (at != no_span && state[at] == 1) return fmt::format("span {} causes itself", at);
    for (const std::uint32_t span : walk) state[span] = 2;
  }
  return {};
}

std::string span_fault(const RunRecord& record) {
  std::vector<Seconds> busy_until(record.lanes.size());
  std::vector<std::uint32_t> step(record.lanes.size());
  for (std::size_t i = 0; i < record.spans.size(); ++i) {
    const RecordSpan& span = record.spans[i];
    if (span.lane >= record.lanes.size())
      return fmt::format("span {} names lane {} of {}", i, span.lane, record.lanes.size());
    if (span.task >= record.tasks.size())
      return fmt::format("span {} names task {} of {}", i, span.task, record.tasks.size());
    if (!is_amount(span.start.value) || !is_amount(span.end.value))
      return fmt::format("span {} has no proper time", i);
    if (span.end < span.start) return fmt::format("span {} ends before it starts", i);
    if (span.held_by >= held_by_count) return fmt::format("span {} was held by nothing that is known", i);
    if (span.start + clock_resolution < busy_until[span.lane])
      return fmt::format("span {} overlaps another of its lane", i);
    if (span.step < step[span.lane]) return fmt::format("span {} goes back to an earlier step", i);
    busy_until[span.lane] = std::max(busy_until[span.lane], span.end);
    step[span.lane] = span.step;
  }
  return cause_fault(record);
}

std::string sample_fault(const RunRecord& record) {
  std::map<std::uint32_t, Seconds> last;
  for (std::size_t i = 0; i < record.memory.size(); ++i) {
    const RecordMemory& sample = record.memory[i];
    if (!is_amount(sample.time.value)) return fmt::format("memory sample {} has no proper time", i);
    Seconds& before = last[sample.rank.value];
    if (sample.time < before) return fmt::format("memory sample {} goes back in time", i);
    before = sample.time;
    for (const Bytes size : sample.live)
      if (!is_amount(size.value)) return fmt::format("memory sample {} has a negative or non-finite size", i);
  }
  for (std::size_t i = 0; i < record.links.size(); ++i)
    if (!is_amount(record.links[i].carried.value) || !(record.links[i].capacity.value >= 0) ||
        record.links[i].multiplicity == 0)
      return fmt::format("link {} ({}) has an improper load or capacity", i, record.links[i].name);
  return {};
}

}  // namespace

std::string state_text(RunState state, const std::string& failure) {
  if (state == RunState::Failed) return "failed: " + failure;
  return state == RunState::Running ? "running" : "finished";
}

std::string_view name(HeldBy held_by) {
  switch (held_by) {
    case HeldBy::Nothing:
      return "nothing";
    case HeldBy::Lane:
      return "lane";
    case HeldBy::Dependency:
      return "dependency";
    case HeldBy::Peer:
      return "peer";
    case HeldBy::Host:
      return "host";
  }
  return "?";
}

std::string_view name(TaskKind kind) {
  switch (kind) {
    case TaskKind::Compute:
      return "compute";
    case TaskKind::Collective:
      return "collective";
    case TaskKind::Send:
      return "send";
    case TaskKind::Receive:
      return "receive";
    case TaskKind::Copy:
      return "copy";
    case TaskKind::Input:
      return "input";
  }
  return "?";
}

std::string record_fault(const RunRecord& record) {
  if (record.header.backend.empty()) return "the header names no backend";
  if (record.header.program_version.empty()) return "the header names no program version";
  for (const auto part : {lane_fault, task_fault, span_fault, sample_fault})
    if (std::string fault = part(record); !fault.empty()) return fault;
  return {};
}

void check_record(const RunRecord& record) {
  const std::string fault = record_fault(record);
  check(fault.empty(), "record: " + fault);
}

}  // namespace tandem
