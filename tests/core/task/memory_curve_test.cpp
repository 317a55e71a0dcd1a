// Live bytes over time from buffers' lives.
#include <gtest/gtest.h>

#include "core/task/task_graph.h"

namespace tandem {
namespace {

// Three tasks of one second each.
Program three_tasks(std::vector<Buffer> buffers) {
  Program program;
  program.tasks.resize(3);
  program.after_begin.assign(4, 0);
  program.buffers = std::move(buffers);
  return program;
}
const std::vector<Seconds> starts = {Seconds(0), Seconds(1), Seconds(2)},
                           ends = {Seconds(1), Seconds(2), Seconds(3)};

TEST(MemoryCurve, CountsStaticMemoryFromTheStart) {
  const MemoryCurve curve =
      memory_curve(three_tasks({{BufferClass::Weights, Bytes(10), whole_step, whole_step, {}}}), starts, ends);
  EXPECT_EQ(curve.peak, Bytes(10));
  EXPECT_EQ(curve.points.size(), 1u);
}

TEST(MemoryCurve, HandsMemoryOnWithoutCountingItTwice) {
  const MemoryCurve curve = memory_curve(
      three_tasks({{BufferClass::Temporary, Bytes(5), 0, 0, {}}, {BufferClass::Temporary, Bytes(7), 1, 2, {}}}),
      starts, ends);
  EXPECT_EQ(curve.peak, Bytes(7));
  EXPECT_EQ(curve.points[curve.peak_index].time, Seconds(1));
}

TEST(MemoryCurve, AddsWhatLivesTogether) {
  const MemoryCurve curve = memory_curve(three_tasks({{BufferClass::Activations, Bytes(5), 0, 2, {}},
                                                      {BufferClass::Temporary, Bytes(7), 1, 1, {}}}),
                                         starts, ends);
  EXPECT_EQ(curve.peak, Bytes(12));
  EXPECT_EQ(curve.points[curve.peak_index].live[static_cast<std::size_t>(BufferClass::Activations)], Bytes(5));
  EXPECT_EQ(curve.points.back().live[static_cast<std::size_t>(BufferClass::Temporary)], Bytes(0));
}

}  // namespace
}  // namespace tandem
