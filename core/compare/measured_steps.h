// The steps of a record that count, each as a record of its own.
#pragma once
#include <cstdint>
#include <vector>

#include "core/record/run_record.h"

namespace tandem {

struct MeasuredStep {
  std::uint32_t number = 0;
  Seconds start, end;
  Seconds length() const { return end - start; }
};

// Steps after the warm-up that have spans, in order; none where all is warm-up. A single step is the record's
// window (core/record/waiting.h). One of several lasts from its first span, but not before the step before it
// ended, to the end of its last one: what happens between steps (checks, writing records) is not of a step.
std::vector<MeasuredStep> measured_steps(const RunRecord&);

// Makes a record of a single step out of each: its spans, from time 0 on. Tasks keep their numbers and lose
// their texts.
class StepRecords {
 public:
  explicit StepRecords(const RunRecord&);  // keeps a reference
  const std::vector<MeasuredStep>& steps() const { return steps_; }
  const RunRecord& record_of(std::size_t step);  // until the next call

 private:
  const RunRecord& whole_;
  std::vector<MeasuredStep> steps_;
  std::vector<std::vector<std::uint32_t>> spans_;  // by index of steps_
  std::vector<std::uint32_t> place_;               // of a span of `whole_` in `part_`
  RunRecord part_;
};

}  // namespace tandem
