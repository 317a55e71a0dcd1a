// Costs each distinct work of a program once and lays its tasks out by lane.
#include "core/estimate/compiled_program.h"

#include <array>
#include <unordered_map>

#include "core/problem/problem.h"

namespace tandem {
namespace {

PlayKind kind_of(const Work& work) {
  if (std::holds_alternative<Compute>(work)) return PlayKind::Compute;
  if (std::holds_alternative<Collective>(work)) return PlayKind::Collective;
  if (std::holds_alternative<Send>(work)) return PlayKind::Send;
  if (std::holds_alternative<Receive>(work)) return PlayKind::Receive;
  return PlayKind::Timed;
}

ComputeCost cost_of(const Work& work, const CostSource& costs, DeviceId device) {
  if (const auto* compute = std::get_if<Compute>(&work)) return costs.compute(*compute, device);
  if (const auto* copy = std::get_if<Copy>(&work)) return costs.copy(*copy, device);
  if (const auto* input = std::get_if<WaitForInput>(&work)) return costs.input(*input);
  return {};
}

// What all tasks of one work have in common.
struct WorkFacts {
  bool known = false;
  PlayKind kind = PlayKind::Compute;
  ComputeCost cost;
  std::uint16_t channel = 0;
  std::uint32_t entry = 0;
};

WorkFacts facts_of(const Work& work, WorkId id, const Communications& communications, const IssueTimes& issue,
                   const CostSource& costs, DeviceId device, double stretch) {
  WorkFacts facts{.known = true, .kind = kind_of(work), .cost = cost_of(work, costs, device)};
  check(facts.cost.device.value >= 0 && facts.cost.host.value >= 0, "costs are not negative");
  if (facts.kind == PlayKind::Compute) facts.cost.device *= stretch;
  std::uint32_t channel = 0;
  if (const auto* collective = std::get_if<Collective>(&work)) {
    channel = index_of(communications, collective->axis);
    facts.entry = index_of(communications.axes[channel], id);
    facts.cost.host = Seconds(issue.collectives[channel][facts.entry]);
  } else if (const auto* send = std::get_if<Send>(&work)) {
    channel = index_of(communications.sends, send->axis, send->peer);
    facts.entry = index_of(communications.sends[channel], send->size);
    facts.cost.host = Seconds(issue.sends[channel][facts.entry]);
  } else if (const auto* receive = std::get_if<Receive>(&work)) {
    channel = index_of(communications.receives, receive->axis, receive->peer);
    const std::uint32_t size = index_of(communications.receives[channel], receive->size);
    facts.cost.host = Seconds(issue.receives[channel][size]);
  }
  facts.channel = static_cast<std::uint16_t>(channel);
  return facts;
}

}  // namespace

CompiledProgram compile(const TaskGraph& graph, ProgramId id, const Communications& communications,
                        const IssueTimes& issue, const CostSource& costs, DeviceId device, bool stragglers) {
  const Program& program = graph.programs[id];
  CompiledProgram result;
  result.program = id;
  result.device_key = costs.device_key(device);
  result.overlap_slowdown = costs.overlap_slowdown(device);
  result.host_waits = costs.host_waits_for_messages();
  result.origin_count = program.tasks.size();
  std::array<std::uint8_t, lane_count> slot_of{};
  std::array<bool, lane_count> used{};
  for (const Task& task : program.tasks) used[static_cast<std::size_t>(task.lane)] = true;
  for (std::size_t lane = 0; lane < lane_count; ++lane) {
    if (!used[lane]) continue;
    slot_of[lane] = static_cast<std::uint8_t>(result.lanes.size());
    result.lanes.push_back(static_cast<Lane>(lane));
  }
  result.compute_slot = used[static_cast<std::size_t>(Lane::Compute)]
                            ? slot_of[0]
                            : static_cast<std::uint8_t>(result.lanes.size());

  result.axis_slots.assign(communications.axes.size(), 0);
  const double stretch = stragglers ? costs.straggler_factor() : 1;
  std::vector<WorkFacts> works(graph.works.size());
  double issued = 0;
  result.tasks.reserve(program.tasks.size());
  for (std::uint32_t t = 0; t < program.tasks.size(); ++t) {
    const Task& task = program.tasks[t];
    WorkFacts& facts = works[task.work.value];
    if (!facts.known)
      facts = facts_of(graph.works[task.work], task.work, communications, issue, costs, device, stretch);
    issued += facts.cost.host.value;
    PlayedTask& played = result.tasks.emplace_back();
    played.duration = facts.cost.device.value;
    played.release = issued;
    played.entry = facts.entry;
    played.message = task.message;
    played.origin = t;
    played.channel = facts.channel;
    played.slot = slot_of[static_cast<std::size_t>(task.lane)];
    played.kind = facts.kind;
    if (facts.kind == PlayKind::Collective) result.axis_slots[facts.channel] = played.slot;
    played.after_begin = static_cast<std::uint32_t>(result.after.size());
    for (std::uint32_t before : program.waits_for(t)) {
      if (program.tasks[before].lane != task.lane) result.after.push_back(before);
    }
    played.after_end = static_cast<std::uint32_t>(result.after.size());
  }
  link_lanes(result);
  return result;
}

void link_lanes(CompiledProgram& program) {
  program.first.assign(program.lanes.size(), no_task);
  std::vector<std::uint32_t> last(program.lanes.size(), no_task);
  for (PlayedTask& task : program.tasks) {
    task.next = no_task;
    task.wakes = 0;
  }
  for (std::uint32_t t = 0; t < program.tasks.size(); ++t) {
    const PlayedTask& task = program.tasks[t];
    if (last[task.slot] == no_task) {
      program.first[task.slot] = t;
    } else {
      program.tasks[last[task.slot]].next = t;
    }
    last[task.slot] = t;
    for (std::uint32_t e = task.after_begin; e < task.after_end; ++e) {
      program.tasks[program.after[e]].wakes |= static_cast<std::uint16_t>(1u << task.slot);
    }
  }
}

}  // namespace tandem
