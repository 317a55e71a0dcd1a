// Which communications of different ranks are one: the same collective of a group, the two sides of a message.
#pragma once
#include <cstdint>
#include <vector>

#include "core/task/task_graph.h"
#include "exec/run/rank_report.h"

namespace tandem {

// A span of a communication starts when all of its members are ready, in measurements as in predictions: what a
// rank waits for before that is the others' doing, not the network's.
class Meetings {
 public:
  explicit Meetings(const TaskGraph&);

  // Moves each start to that of the member that came last, no later than the task's own end.
  // `held[rank][task]`: another member came later.
  void align(std::vector<RankReport>& ranks, std::vector<std::vector<bool>>& held) const;

 private:
  std::vector<std::vector<std::uint32_t>> meeting_;  // by rank and task; no_meeting for computation
  std::uint32_t count_ = 0;
};

}  // namespace tandem
