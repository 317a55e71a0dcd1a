// Peaks of live memory of two records, side by side.
#pragma once
#include "core/compare/comparison.h"

namespace tandem {

// Fills memory and the peaks of `result.stages`. Warm-up steps count: what they take, the device must have.
void compare_memory(const RunRecord& a, const RunRecord& b, Comparison& result);

}  // namespace tandem
