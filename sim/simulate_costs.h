// simulate with any costs: what simulate.h calls with a cluster's, and tests with their own.
#pragma once
#include "core/estimate/cost_source.h"
#include "core/estimate/playback.h"

namespace tandem {

Playback simulate(const TaskGraph&, const CostSource&, const PlayOptions&);
Playback simulate_in_child(const TaskGraph&, const CostSource&, const PlayOptions&);

}  // namespace tandem
