// The null backend: plays the task graph in a plain event loop, without contention, SimGrid or hardware.
#pragma once
#include "core/cost/cost_model.h"
#include "core/estimate/playback.h"

namespace tandem {

// Equal to `simulate` to 1e-9 on any graph in which no two communications share a link at the same time.
Playback estimate(const TaskGraph&, const Cluster&, const CostModel&, const PlayOptions&);

}  // namespace tandem
