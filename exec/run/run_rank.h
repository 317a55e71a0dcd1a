// One rank of a run: its memory, its device, its communicator, and the loop over steps.
#pragma once
#include <functional>
#include <vector>

#include "exec/rank_program.h"
#include "exec/run/rank_report.h"

namespace tandem {

// What all ranks do after a step.
struct AfterStep {
  bool checkpoint = false, stop = false;
};

// Hears of the run on rank 0, in its main thread, outside of timed steps.
class RunObserver {
 public:
  virtual ~RunObserver() = default;
  virtual AfterStep step_done(const std::vector<RankReport>& by_rank) = 0;
  // All files of a checkpoint are written.
  virtual void checkpoint_written(std::int64_t /*steps_done*/) {}
  // How far clocks of ranks moved against rank 0's during the run, at most, and how far off they may be.
  virtual void clocks_compared(Nanoseconds /*moved*/, Nanoseconds /*uncertainty*/) {}
};

struct RankOptions {
  std::int64_t first_step = 0, steps = 10;
  int threads = 1;  // of its computation
  int core = -1;    // the first one of its own; -1: not bound
  ExchangeOptions exchanges = {};
  bool align_clocks = false;  // ranks are on several machines
  // Called by the rank itself; each may be empty.
  std::function<void(RankState&)> load = {};  // fills parameters, instead of their initial values
  std::function<void(RankState&)> save = {};  // writes its part of a checkpoint
  std::function<void(RankState&, const RankProgram&)> program_ready = {};
  std::function<void(RankState&, const RankProgram&)> after_step = {};
  std::function<void(Nanoseconds)> step_took = {};
  std::function<void()> before_end = {};  // the state and the program go away next
};

// The rank's memory and parameters, then steps. `lanes` carries the step's communication, `control` what ranks
// say in between. `observer` on rank 0, null elsewhere.
void run_rank(const RunSetup&, Transport& lanes, Transport& control, RunObserver* observer, const RankOptions&);

}  // namespace tandem
