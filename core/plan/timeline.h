// A schedule played without transfers: when each slot starts and ends, or which stages wait for each other for
// ever.
#pragma once
#include <string>
#include <vector>

#include "core/plan/schedule.h"

namespace tandem {

// Durations in any one unit. A slot of phase Backward takes both gradients' time. Of two slots that are worked
// on together (paired_with_next), both start when both can and end after the sum of their times.
struct PhaseTimes {
  double forward = 1, input_gradient = 1, weight_gradient = 1;
};
double duration(SlotPhase, const PhaseTimes&);

struct SlotTime {
  double start = 0, end = 0;
};

struct Timeline {
  std::vector<std::vector<SlotTime>> slots;  // by stage, as Schedule::slots
  double span = 0;                           // end of the last slot
  std::string deadlock;  // "": all slots were played; otherwise who waits for what, as a sentence
};

// Linear in the number of slots. The schedule's slots must name existing chunks and microbatches.
Timeline play(const Schedule&, const PhaseTimes& = {});

}  // namespace tandem
