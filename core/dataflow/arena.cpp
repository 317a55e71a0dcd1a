// First fit over the lives of values.
#include "core/dataflow/arena.h"

#include <algorithm>
#include <map>

#include "core/dataflow/finished_before.h"

namespace tandem {
namespace {

std::size_t rounded(Bytes size) {
  const auto bytes = static_cast<std::size_t>(size.value);
  return std::max(arena_alignment, (bytes + arena_alignment - 1) / arena_alignment * arena_alignment);
}

struct Occupied {
  std::size_t end;
  ValueId value;
};

// Forgets the dead between begin and end, and only there: whoever takes that place next waits for its new
// owner, but what is left of them still has to be waited for.
void take_from(std::map<std::size_t, Occupied>& occupied, std::size_t begin, std::size_t end) {
  std::map<std::size_t, Occupied> left;
  std::erase_if(occupied, [&](const auto& entry) {
    const auto& [first, dead] = entry;
    if (first >= end || begin >= dead.end) return false;
    if (first < begin) left.emplace(first, Occupied{begin, dead.value});
    if (end < dead.end) left.emplace(end, Occupied{dead.end, dead.value});
    return true;
  });
  occupied.merge(left);
}

// Tasks that touch each value last, one a lane: all must be over before its place is free.
std::vector<std::vector<std::uint32_t>> last_touches(const DataFlow& flow, const Program& program) {
  std::vector<std::vector<std::uint32_t>> last(flow.values.size());
  for (std::uint32_t task = 0; task < program.tasks.size(); ++task) {
    for (const Operand& operand : flow.of(task)) {
      std::vector<std::uint32_t>& touches = last[operand.value.value];
      std::erase_if(touches,
                    [&](std::uint32_t t) { return program.tasks[t].lane == program.tasks[task].lane; });
      touches.push_back(task);
    }
  }
  return last;
}

}  // namespace

ArenaPlan plan_arena(const DataFlow& flow, const Program& program) {
  ArenaPlan plan;
  plan.offset = IndexedVector<ValueId, std::size_t>(flow.values.size());
  std::vector<std::vector<ValueId>> begins(program.tasks.size());
  for (std::uint32_t v = 0; v < flow.values.size(); ++v) {
    const Value& value = flow.values[ValueId(v)];
    if (value.take != whole_step) {
      begins[value.take].push_back(ValueId(v));
      continue;
    }
    plan.offset[ValueId(v)] = plan.size;
    plan.size += rounded(value.size);
  }
  const std::size_t floor = plan.size;
  const std::vector<std::vector<std::uint32_t>> last = last_touches(flow, program);
  std::map<std::size_t, Occupied> occupied;  // by offset
  FinishedBefore finished(program);
  for (std::uint32_t task = 0; task < program.tasks.size(); ++task) {
    finished.start(task);
    for (std::uint32_t earlier : flow.extra_after[task]) finished.wait(earlier);
    for (ValueId value : begins[task]) {
      std::size_t place = floor;
      const std::size_t size = rounded(flow.values[value].size);
      for (auto at = occupied.begin(); at != occupied.end();) {
        const std::vector<std::uint32_t>& touches = last[at->second.value.value];
        const bool dead = std::all_of(touches.begin(), touches.end(),
                                      [&](std::uint32_t t) { return t < task && finished(t); });
        if (!dead && at->first < place + size && place < at->second.end) place = at->second.end;
        if (!dead && at->first >= place + size) break;
        ++at;
      }
      take_from(occupied, place, place + size);
      occupied.emplace(place, Occupied{place + size, value});
      plan.offset[value] = place;
      plan.size = std::max(plan.size, place + size);
    }
    finished.end();
  }
  return plan;
}

}  // namespace tandem
