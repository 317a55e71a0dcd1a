// Plays on a clock of its own that jumps from one end of a timed operation to the next.
#include "core/estimate/estimate.h"

#include "core/estimate/play.h"

namespace tandem {

std::string_view name(Fidelity fidelity) {
  switch (fidelity) {
    case Fidelity::Estimate:
      return "estimate";
    case Fidelity::Fused:
      return "fused";
    case Fidelity::Folded:
      return "folded";
    case Fidelity::Replicas:
      return "replicas";
    case Fidelity::Full:
      return "full";
  }
  return "?";
}

std::optional<Fidelity> parse_fidelity(std::string_view text) {
  for (Fidelity fidelity :
       {Fidelity::Estimate, Fidelity::Fused, Fidelity::Folded, Fidelity::Replicas, Fidelity::Full}) {
    if (text == name(fidelity)) return fidelity;
  }
  return std::nullopt;
}

Playback estimate(const TaskGraph& tasks, const CostSource& costs, const PlayOptions& options) {
  PlayOptions without_contention = options;
  without_contention.fidelity = Fidelity::Estimate;
  const Preparation preparation = prepare(tasks, costs, without_contention);
  Player player(tasks, preparation.graph, preparation.classes, preparation.options);
  player.begin();
  while (player.has_timed() && !player.stopped()) player.fire();
  return finish(player, preparation, costs, without_contention);
}

Playback estimate(const TaskGraph& tasks, const Cluster& cluster, const CostModel& cost,
                  const PlayOptions& options) {
  return estimate(tasks, ModelCostSource(cluster, cost), options);
}

}  // namespace tandem
