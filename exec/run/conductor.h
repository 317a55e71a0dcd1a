// Rank 0's view of a run: records it, shows it, and says when to write a checkpoint and when to stop.
#pragma once
#include <functional>

#include "exec/run/process_memory.h"
#include "exec/run/recorder.h"
#include "exec/run/run_rank.h"
#include "exec/run/run_totals.h"
#include "exec/run/step_lines.h"

namespace tandem {

class Conductor : public RunObserver {
 public:
  // `interrupted`: stop after the step in progress. `publish`: names a checkpoint of that many steps for good.
  struct Calls {
    std::function<bool()> interrupted;
    std::function<void(std::int64_t steps_done)> publish = {};  // empty: no checkpoints
  };
  // `processes`: over which the ranks are spread.
  Conductor(const RunCase& run, std::size_t processes, Calls calls, bool terminal);

  AfterStep step_done(const std::vector<RankReport>& by_rank) override;
  void checkpoint_written(std::int64_t steps_done) override { calls_.publish(steps_done); }
  void clocks_compared(Nanoseconds moved, Nanoseconds uncertainty) override;

  void note(const std::string& topic, std::string remark) { notes_[topic] = std::move(remark); }
  // Ends the record, and returns it as a report reads it.
  RunRecord finish();
  void fail(const std::string& why);
  bool was_interrupted() const { return interrupted_; }

 private:
  void show(const StepSpans&, double loss);

  const RunCase& run_;
  Calls calls_;
  std::int64_t done_ = 0;  // steps of this run
  MachineLoad load_ = machine_load();
  Recorder recorder_;
  RunTotals totals_;
  StepLines lines_;
  std::map<std::string, std::string> notes_;
  bool interrupted_ = false;
};

}  // namespace tandem
