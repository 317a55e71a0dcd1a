// The steps between a task graph and a player that estimate and simulate share.
#pragma once
#include <memory>
#include <string>

#include "core/estimate/cost_source.h"
#include "core/estimate/play_graph.h"
#include "core/estimate/playback.h"
#include "core/estimate/player.h"
#include "core/estimate/traffic.h"

namespace tandem {

// Everything a player needs, in one place that outlives it. `tasks` and `costs` must outlive this.
struct Preparation {
  Traffic traffic;
  Classes classes;
  PlayGraph graph;
  PlayerOptions options;
  std::vector<double> carried;  // by link; empty when nothing is shared
  std::string remark;
};

// Throws InputError for options that make no sense (a negative jitter, a recorded rank that does not exist).
Preparation prepare(const TaskGraph&, const CostSource&, const PlayOptions&);

// Adds what the player cannot know: fidelity, remark and the bytes that links carried.
Playback finish(Player&, const Preparation&, const CostSource&, const PlayOptions&);

// estimate with any costs.
Playback estimate(const TaskGraph&, const CostSource&, const PlayOptions&);

}  // namespace tandem
