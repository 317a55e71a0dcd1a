// Sums of the steps of two records, side by side.
#pragma once
#include "core/compare/step_sums.h"

namespace tandem {

// Fills step, parts, shares, axes, lanes, the stages' computation, and kinds.
void compare_steps(const StepSums& a, const StepSums& b, Comparison&);

}  // namespace tandem
