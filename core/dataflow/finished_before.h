// Whether a task is surely over when another one starts: by lanes and edges, whatever the durations.
#pragma once
#include <array>
#include <cstdint>
#include <vector>

#include "core/task/task_graph.h"

namespace tandem {

// Asked for tasks in program order.
class FinishedBefore {
 public:
  explicit FinishedBefore(const Program& program);
  void start(std::uint32_t task);    // of which the questions are asked
  void wait(std::uint32_t earlier);  // the present task waits for this one as well
  bool operator()(std::uint32_t earlier) const;
  void end();

 private:
  using Clock = std::array<std::uint32_t, lane_count>;  // by lane: how many of its tasks are over
  void join(std::uint32_t earlier);
  const Program& program_;
  std::vector<std::uint32_t> place_;  // of each task in its lane, from 1
  std::vector<Clock> over_;           // when a task is over
  std::array<std::uint32_t, lane_count> last_;
  std::uint32_t task_ = 0;
  Clock now_{};
};

}  // namespace tandem
