// Plays a task graph on SimGrid's clock.
#include "sim/simulate.h"

#include <stdexcept>

#include "core/estimate/play.h"
#include "sim/simgrid_clock.h"
#include "sim/simulate_costs.h"

namespace tandem {

Playback simulate(const TaskGraph& tasks, const CostSource& costs, const PlayOptions& options) {
  if (options.fidelity == Fidelity::Estimate) return estimate(tasks, costs, options);
  static bool used = false;
  if (used)
    throw std::logic_error("simulate runs once a process (SimGrid keeps global state): use simulate_in_child");
  used = true;
  const Preparation preparation = prepare(tasks, costs, options);
  SimGridClock clock(preparation.graph);
  Player player(tasks, preparation.graph, preparation.classes, preparation.options, &clock.port());
  clock.run(player);
  return finish(player, preparation, costs, options);
}

Playback simulate(const TaskGraph& tasks, const Cluster& cluster, const CostModel& cost,
                  const PlayOptions& options) {
  return simulate(tasks, ModelCostSource(cluster, cost), options);
}

Playback simulate_in_child(const TaskGraph& tasks, const Cluster& cluster, const CostModel& cost,
                           const PlayOptions& options) {
  return simulate_in_child(tasks, ModelCostSource(cluster, cost), options);
}

}  // namespace tandem
