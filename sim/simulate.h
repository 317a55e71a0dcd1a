// The simulator's one public function: plays a task graph on a modelled cluster inside SimGrid 3.32.
#pragma once
#include "core/cost/cost_model.h"
#include "core/estimate/playback.h"

namespace tandem {

// Links that several communications may use at once are SimGrid links shared by max-min fairness; everything
// else is a timed operation of our own SimGrid model. One call a process (SimGrid keeps global state): a second
// call throws std::logic_error. Throws BackendError when SimGrid fails.
Playback simulate(const TaskGraph&, const Cluster&, const CostModel&, const PlayOptions&);

// The same in a forked child, so that it can be called any number of times; used by tests and by searches.
Playback simulate_in_child(const TaskGraph&, const Cluster&, const CostModel&, const PlayOptions&);

}  // namespace tandem
