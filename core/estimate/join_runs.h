// Joins runs of tasks that nothing outside can touch into one timed operation each.
#pragma once
#include <vector>

#include "core/estimate/compiled_program.h"

namespace tandem {

// Seconds of each collective that members of one class alone meet on links of their own, by axis and entry; an
// empty list: collectives of that axis cannot be joined.
using PrivateCollectives = std::vector<std::vector<double>>;

// A run starts with a computation; each further task waits for the one before it and for nothing that might
// still be open, and nothing but the run itself waits for an inner task. No time changes: a run keeps its
// pieces, so that overlap slows the right ones and late launches by the host hold up the right ones. Durations
// of the result include `slowdown`.
CompiledProgram join_runs(const CompiledProgram&, double slowdown, const PrivateCollectives&);

}  // namespace tandem
