// Live bytes over time from the lives of a program's buffers.
#include <algorithm>
#include <array>

#include "core/problem/problem.h"
#include "core/task/task_graph.h"

namespace tandem {
namespace {

struct Change {
  Seconds time;
  std::uint32_t memory_class;
  double bytes;  // negative: given back
};

}  // namespace

MemoryCurve memory_curve(const Program& program, std::span<const Seconds> start, std::span<const Seconds> end) {
  check(start.size() == program.tasks.size() && end.size() == program.tasks.size(), "a time for every task");
  std::vector<Change> changes;
  changes.reserve(2 * program.buffers.size());
  MemoryPoint now{};
  for (const Buffer& buffer : program.buffers) {
    const auto memory_class = static_cast<std::uint32_t>(buffer.memory_class);
    if (buffer.take == whole_step) {
      now.live[memory_class] += buffer.size;
    } else {
      changes.push_back({start[buffer.take], memory_class, buffer.size.value});
    }
    if (buffer.give != whole_step) changes.push_back({end[buffer.give], memory_class, -buffer.size.value});
  }
  std::stable_sort(changes.begin(), changes.end(),
                   [](const Change& a, const Change& b) { return a.time < b.time; });

  MemoryCurve curve;
  const auto sum = [](const MemoryPoint& point) {
    Bytes total;
    for (Bytes live : point.live) total += live;
    return total;
  };
  curve.points.push_back(now);
  curve.peak = sum(now);
  for (std::size_t i = 0; i < changes.size();) {
    now.time = changes[i].time;
    // All changes of a moment are one: what begins at it may use what ends at it, as with an allocator on one
    // stream, and a buffer of no duration leaves no trace.
    for (; i < changes.size() && changes[i].time == now.time; ++i) {
      now.live[changes[i].memory_class] += Bytes(changes[i].bytes);
    }
    curve.points.push_back(now);
    if (Bytes total = sum(now); total > curve.peak) {
      curve.peak = total;
      curve.peak_index = curve.points.size() - 1;
    }
  }
  return curve;
}

}  // namespace tandem
