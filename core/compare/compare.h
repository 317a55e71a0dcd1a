// Two run records → their comparison: the one entry of this folder.
#pragma once
#include "core/compare/comparison.h"

namespace tandem {

// Tasks are matched by key (label, phase, microbatch, chunk, lane, rank) and have the median and the spread of
// their measured steps; so have all sums, which are of a step and on average over ranks. Plans that share no
// task are compared by their kinds, lanes and axes alone.
Comparison compare(const RunRecord& a, const RunRecord& b);

// Throws std::logic_error where a span is neither matched nor missing nor of the warm-up.
void check_comparison(const Comparison&);

}  // namespace tandem
