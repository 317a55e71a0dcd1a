// The invariants of a task graph, checked between lowering and every backend.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>

#include "core/problem/problem.h"
#include "core/task/task_graph.h"

namespace tandem {
namespace {

void check_program(const TaskGraph& graph, const Program& program) {
  check(program.after_begin.size() == program.tasks.size() + 1, "an edge range for every task");
  check(program.after_begin.front() == 0 && program.after_begin.back() == program.after.size(),
        "edge ranges cover all edges");
  for (std::uint32_t t = 0; t < program.tasks.size(); ++t) {
    const Task& task = program.tasks[t];
    check(task.work.value < graph.works.size() && task.label.value < graph.labels.size(),
          "a task's work and label exist");
    check(program.after_begin[t] <= program.after_begin[t + 1], "edge ranges are in order");
    for (std::uint32_t before : program.waits_for(t)) check(before < t, "edges go from earlier to later tasks");
    const Work& work = graph.works[task.work];
    const bool message = std::holds_alternative<Send>(work) || std::holds_alternative<Receive>(work);
    check(message == (task.message != no_message), "messages, and only they, carry a message number");
    check(!message || task.message < graph.messages, "message numbers are below TaskGraph::messages");
  }
  for (const Buffer& buffer : program.buffers) {
    check(buffer.size.value >= 0, "buffers have a size");
    if (buffer.take != whole_step) check(buffer.take < program.tasks.size(), "a buffer is taken by a task");
    if (buffer.give == whole_step) continue;
    check(buffer.give < program.tasks.size(), "a buffer is given back by a task");
    check(buffer.take == whole_step || buffer.take <= buffer.give, "a buffer is taken before it is given back");
  }
}

// The order in which a program meets the collectives of each axis, and the lane it does so on.
using Meetings = std::map<Axis, std::vector<WorkId>>;
Meetings meetings(const TaskGraph& graph, const Program& program) {
  Meetings result;
  std::map<Axis, Lane> lane_of;
  for (const Task& task : program.tasks) {
    const auto* collective = std::get_if<Collective>(&graph.works[task.work]);
    if (!collective) continue;
    const auto [entry, fresh] = lane_of.emplace(collective->axis, task.lane);
    check(fresh || entry->second == task.lane, "collectives of one axis use one lane");
    result[collective->axis].push_back(task.work);
  }
  return result;
}

void check_meetings(const TaskGraph& graph) {
  std::vector<Meetings> of_program;
  for (const Program& program : graph.programs) of_program.push_back(meetings(graph, program));
  for (std::size_t a = 0; a < static_cast<std::size_t>(Axis::Count); ++a) {
    const Axis axis = static_cast<Axis>(a);
    const bool used =
        std::any_of(of_program.begin(), of_program.end(), [&](const Meetings& m) { return m.contains(axis); });
    if (!used) continue;
    for (std::uint32_t group = 0; group < graph.mesh.group_count(axis); ++group) {
      const std::size_t size = graph.mesh.size(axis);
      const auto program_at = [&](std::uint32_t place) {
        return graph.program_of[graph.mesh.member(axis, group, place).value];
      };
      const ProgramId first = program_at(0);
      for (std::uint32_t place = 1; place < size; ++place) {
        const ProgramId other = program_at(place);
        if (other == first) continue;
        const auto order = [&](ProgramId p) {
          const auto found = of_program[p.value].find(axis);
          return found == of_program[p.value].end() ? std::vector<WorkId>{} : found->second;
        };
        check(order(first) == order(other),
              fmt::format("all members meet the collectives of {} in one order", name(axis)));
      }
    }
  }
}

// Sends and receives pair, with equal sizes, and each pair of lanes meets its messages in one order.
void check_messages(const TaskGraph& graph) {
  struct Side {
    std::uint32_t from, to;
    double bytes;
  };
  using Lanes = std::map<std::tuple<std::uint32_t, std::uint32_t, Lane>, std::vector<std::uint32_t>>;
  for (std::uint32_t group = 0; group < graph.mesh.group_count(Axis::Pipeline); ++group) {
    std::unordered_map<std::uint32_t, Side> sent;
    Lanes sends, receives;
    const std::size_t size = graph.mesh.size(Axis::Pipeline);
    const auto visit = [&](bool sending) {
      for (std::uint32_t place = 0; place < size; ++place) {
        const Program& program = graph.program(graph.mesh.member(Axis::Pipeline, group, place));
        for (const Task& task : program.tasks) {
          const Work& work = graph.works[task.work];
          if (const auto* send = std::get_if<Send>(&work); send && sending) {
            check(send->peer < size && send->peer != place, "a message goes to another member");
            check(sent.emplace(task.message, Side{place, send->peer, send->size.value}).second,
                  "a message is sent once");
            sends[{place, send->peer, task.lane}].push_back(task.message);
          } else if (const auto* receive = std::get_if<Receive>(&work); receive && !sending) {
            const auto found = sent.find(task.message);
            check(found != sent.end(), "a received message is sent");
            check(found->second.from == receive->peer && found->second.to == place &&
                      found->second.bytes == receive->size.value,
                  "both sides of a message agree");
            sent.erase(found);
            receives[{receive->peer, place, task.lane}].push_back(task.message);
          }
        }
      }
    };
    visit(true);
    visit(false);
    check(sent.empty(), "a sent message is received");
    const auto orders = [](const Lanes& lanes) {
      std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<std::vector<std::uint32_t>>> result;
      for (const auto& [key, order] : lanes) result[{std::get<0>(key), std::get<1>(key)}].push_back(order);
      return result;
    };
    check(orders(sends) == orders(receives), "a pair of ranks sends and receives its messages in one order");
    // Groups whose members run the same programs are equal: one check serves them all.
    bool same = true;
    for (std::uint32_t next = group + 1; same && next < graph.mesh.group_count(Axis::Pipeline); ++next) {
      for (std::uint32_t place = 0; same && place < size; ++place) {
        same = graph.program_of[graph.mesh.member(Axis::Pipeline, next, place).value] ==
               graph.program_of[graph.mesh.member(Axis::Pipeline, group, place).value];
      }
    }
    if (same) return;
  }
}

}  // namespace

void check_task_graph(const TaskGraph& graph) {
  check(graph.program_of.size() == graph.mesh.ranks(), "a program for every rank");
  check(graph.device_of.size() == graph.mesh.ranks(), "a device for every rank");
  for (ProgramId program : graph.program_of) check(program.value < graph.programs.size(), "programs exist");
  for (const Program& program : graph.programs) check_program(graph, program);
  check_meetings(graph);
  check_messages(graph);
}

}  // namespace tandem
