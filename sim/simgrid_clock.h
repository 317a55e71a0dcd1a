// The clock of a simulation: SimGrid's engine with our model of timed operations and its links for flows.
#pragma once
#include <memory>

#include "core/estimate/play_graph.h"
#include "core/estimate/player.h"

namespace tandem {

// One a process: SimGrid's engine cannot be made twice.
class SimGridClock {
 public:
  // Builds a platform of the graph's link classes. The graph outlives this.
  explicit SimGridClock(const PlayGraph&);
  ~SimGridClock();
  SimGridClock(const SimGridClock&) = delete;
  SimGridClock& operator=(const SimGridClock&) = delete;

  FlowPort& port();
  // Runs until nothing is left that could happen, or the player was stopped.
  void run(Player&);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tandem
