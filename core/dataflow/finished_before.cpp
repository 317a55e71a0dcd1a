// A vector clock over lanes.
#include "core/dataflow/finished_before.h"

#include <algorithm>

namespace tandem {

FinishedBefore::FinishedBefore(const Program& program)
    : program_(program), place_(program.tasks.size()), over_(program.tasks.size()) {
  last_.fill(whole_step);
  std::array<std::uint32_t, lane_count> count{};
  for (std::uint32_t t = 0; t < program.tasks.size(); ++t)
    place_[t] = ++count[static_cast<std::size_t>(program.tasks[t].lane)];
}

void FinishedBefore::join(std::uint32_t earlier) {
  for (std::size_t lane = 0; lane < lane_count; ++lane) now_[lane] = std::max(now_[lane], over_[earlier][lane]);
}

void FinishedBefore::start(std::uint32_t task) {
  task_ = task;
  now_ = {};
  const std::uint32_t before = last_[static_cast<std::size_t>(program_.tasks[task].lane)];
  if (before != whole_step) join(before);
  for (std::uint32_t earlier : program_.waits_for(task)) join(earlier);
}

void FinishedBefore::wait(std::uint32_t earlier) { join(earlier); }

bool FinishedBefore::operator()(std::uint32_t earlier) const {
  return now_[static_cast<std::size_t>(program_.tasks[earlier].lane)] >= place_[earlier];
}

void FinishedBefore::end() {
  const auto lane = static_cast<std::size_t>(program_.tasks[task_].lane);
  over_[task_] = now_;
  over_[task_][lane] = place_[task_];
  last_[lane] = task_;
}

}  // namespace tandem
