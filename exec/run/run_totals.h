// Sums of a run's measured steps, and the summary of its record.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "core/record/breakdown.h"
#include "exec/run/recorder.h"

namespace tandem {

// summary keys beside those of a prediction: steps, warmup_steps, step_time_mean_s, step_time_min_s,
// step_time_max_s, final_loss, entropy_floor; of the rank that holds most: peak_memory_gib (planned values
// alive at once), arena_gib (the block that holds them), overflow_gib (routed tokens beside it); resident_gib
// (most that one of the `processes` had in memory, all of its ranks).
class RunTotals {
 public:
  RunTotals(const RunCase& run, std::size_t processes, RunRecord head);

  void add(const std::vector<RankReport>& ranks, const StepSpans& step, double loss);

  Bytes resident() const { return resident_; }
  std::optional<double> mfu(Seconds step) const;  // of a step that took so long

  // Median of the measured steps; of the warm-up when nothing else was run.
  Seconds step_time() const;
  // The record as a report reads it: header, lanes, the last step alone, the summary of all.
  RunRecord result() const;

 private:
  Breakdown breakdown_of(const StepSpans&);
  Breakdown mean_breakdown() const;

  const RunCase& run_;
  std::size_t processes_;
  RunRecord head_;
  RunRecord alone_;  // one step, without texts
  std::size_t steps_ = 0;
  std::vector<Seconds> warm_, measured_;
  Breakdown sum_;  // over measured steps
  RecordStep last_;
  Bytes peak_, arena_, overflow_, resident_;
  double loss_ = 0;
};

}  // namespace tandem
