// What holds a step up most, and what would relieve it: one or two sentences from its breakdown and plan.
#pragma once
#include <string>

#include "core/plan/plan.h"
#include "core/record/breakdown.h"

namespace tandem {

// `compute_efficiency`: share of the peak that computation reaches while it runs; 0: not known.
std::string bottleneck_of(const Breakdown&, const Plan&, double compute_efficiency);

}  // namespace tandem
