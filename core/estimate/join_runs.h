// Joins runs of tasks that nothing outside can touch into one timed operation each.
#pragma once
#include <vector>

#include "core/estimate/compiled_program.h"

namespace tandem {

// Seconds of each collective that members of one class alone meet on links of their own, by axis and entry; an
// empty list: collectives of that axis cannot be joined.
using PrivateCollectives = std::vector<std::vector<double>>;

// A run starts with a computation; each further task waits for the one before it and for nothing that might
// still be open, and nothing but the run itself waits for an inner task. Ends of runs are those of the unjoined
// program: start S, sum of durations D, host releases r_i give max(S + D, max_i(r_i + durations from i on)).
// Overlap inside a run stretches its computations evenly. Durations of the result include `slowdown`.
CompiledProgram join_runs(const CompiledProgram&, double slowdown, const PrivateCollectives&);

}  // namespace tandem
