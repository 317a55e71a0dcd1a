// Writes the record of a measured run, step by step.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "core/estimate/make_record.h"
#include "core/record/record_stream.h"
#include "exec/run/meetings.h"
#include "exec/run/run_case.h"

namespace tandem {

// A step as the record has it, for whoever sums it up.
struct StepSpans {
  Seconds start, duration;  // by the record's time
  RecordStep step;
};

// Time in the record is time in steps: they lie end to end, and what happens in between (reports, checkpoints)
// is left out. Steps count from the first one of this run.
class Recorder {
 public:
  explicit Recorder(const RunCase&);  // BackendError when the file cannot be written

  // What all ranks reported, by rank.
  StepSpans append(std::vector<RankReport> ranks, double loss);
  void finish(const RecordEnd& end) { stream_.finish(end); }
  void fail(const std::string& why) { stream_.fail(why); }

  // Lanes, tasks and header, without steps.
  const RunRecord& head() const { return head_.record; }

 private:
  void add_spans(RankId, const RankReport&, const std::vector<bool>& held, Nanoseconds step_start, RecordStep&);
  void add_memory(RankId, const RankReport&, Nanoseconds step_start, RecordStep&);

  const TaskGraph& graph_;
  RecordHead head_;
  Meetings meetings_;
  std::vector<Program> programs_;                               // with exact buffers
  std::vector<std::array<std::uint32_t, lane_count>> lane_of_;  // by rank: record lanes
  Seconds time_;                                                // where the next step begins
  std::uint32_t step_ = 0;
  RecordStream stream_;
};

}  // namespace tandem
