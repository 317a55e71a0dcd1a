// What the steps of one record took, on average over its ranks.
#pragma once
#include <map>
#include <vector>

#include "core/compare/comparison.h"
#include "core/compare/task_kinds.h"
#include "core/record/breakdown.h"

namespace tandem {

struct KindSum {
  std::vector<Seconds> time;  // by step
  double tasks = 0;           // a step and rank
};

struct StepSums {
  std::vector<Breakdown> mean;  // by step, as all vectors here
  std::map<TaskKindKey, KindSum> kinds;
  std::map<Lane, std::vector<Seconds>> lanes;            // busy
  std::map<std::uint32_t, std::vector<Seconds>> stages;  // of each, the compute lane is busy
};
StepSums step_sums(const RunRecord&, const TaskKinds&);

}  // namespace tandem
