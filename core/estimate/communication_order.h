// Which communications of one program can never run at the same time, since its lanes and edges order them.
#pragma once
#include <cstdint>
#include <vector>

#include "core/estimate/communications.h"
#include "core/task/task_graph.h"

namespace tandem {

// Kinds are numbered as in Communications: axes, then sends, then receives.
class CommunicationOrder {
 public:
  CommunicationOrder(const TaskGraph&, const Program&, const Communications&);

  // Every task of one kind comes before or after every task of the other, on every path of lanes and edges. Of
  // a kind with itself: its tasks follow each other.
  bool ordered(std::uint32_t kind, std::uint32_t other) const { return ordered_[kind * kinds_ + other]; }

 private:
  std::uint32_t kinds_ = 0;
  std::vector<bool> ordered_;
};

}  // namespace tandem
