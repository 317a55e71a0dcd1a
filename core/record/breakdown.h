// Where the step went: every moment of each recorded rank's step in exactly one part.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "core/record/activity.h"
#include "core/record/run_record.h"

namespace tandem {

// The rule, for one rank and its step [0, T]. While the compute lane is busy, the moment belongs to the phase
// of its span. A gap of the compute lane [a, b] is walked backwards from b along what the next compute span
// waited for (after the last one: along what of the rank ended last; the time after all of the rank ended is
// bubble when the span that ends the step is another stage's, else idle). At each span s of the walk, with t
// the earliest moment explained so far:
//   - s was held by another rank: all of [a, t] is waiting. A message: bubble. A collective: bubble when its
//   last member
//     is of another stage (not known: when this is before the first or after the last forward or gradient
//     computation of a rank in a pipeline), else idle.
//   - s was held by the host: host, back to its cause's end (no cause: to a).
//   - otherwise its cause c, or where none is recorded the span of the rank that ended last before t: the
//   moments between
//     c's end and t are idle (nothing recorded explains them), those of c itself in [a, t] are its axis'
//     exposed communication (or copy, or input), and the walk goes on from c. No such c: [a, t] is idle.
// So communication is exposed when it is on the wires and the next computation waits for it, directly or
// through others; a communication that merely runs during a bubble is neither exposed nor hidden.
struct Breakdown {
  Seconds step;
  ByActivity<Seconds> parts{};  // sum to `step`
  // Beside the sum: communication on the wires, and the part of it during computation.
  ByTrafficAxis<Seconds> busy{}, hidden{};

  Seconds operator[](Activity a) const { return parts[static_cast<std::size_t>(a)]; }
  Seconds compute() const;                // forward, backward, weight gradient, recompute
  Seconds exposed_communication() const;  // over the axes; copies and input apart
  double bubble_fraction() const;         // of the step
};

struct RankBreakdown {
  RankId rank;
  std::uint32_t stage = 0, multiplicity = 1;
  Breakdown breakdown;
};

// A step on average over the steps after warm-up.
struct StepBreakdown {
  std::vector<RankBreakdown> ranks;  // recorded ones, in the order of their lanes
  Breakdown mean;                    // over ranks, weighted by their multiplicity
};
StepBreakdown breakdown(const RunRecord&);

// Stable keys of --json: compute_s forward_s backward_s weight_gradient_s recompute_s optimizer_s
// exposed_comm_s exposed_{tp,cp,ep,dp,pp}_s exposed_copy_s input_s bubble_s bubble_fraction host_s idle_s
// comm_{…}_s hidden_{…}_s.
std::map<std::string, double> breakdown_values(const Breakdown&);
// Lines "forward            4.21 s  30.7 %", parts that are not zero, and a line for hidden communication.
std::string text(const Breakdown&);

}  // namespace tandem
