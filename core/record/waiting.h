// Walks from a span back to what it waited for: the one rule of breakdown and critical path.
#pragma once
#include <vector>

#include "core/record/run_record.h"

namespace tandem {

// The part of a record that is measured: after the warm-up steps, until the last span ends (or, for one
// predicted step, until its step_time_s, when that is later).
struct RecordWindow {
  Seconds start, end;
  std::uint32_t steps = 1;  // in it
  Seconds length() const { return end - start; }
};
RecordWindow window(const RunRecord&);

// Spans of each rank's lanes in time order, and the cause of each span.
class Waiting {
 public:
  explicit Waiting(const RunRecord&);  // keeps a reference

  struct Rank {
    RankId rank;
    std::uint32_t stage = 0, multiplicity = 1;
    std::vector<std::uint32_t> lanes;  // into record.lanes, the compute lane (if there) first
  };
  const std::vector<Rank>& ranks() const { return ranks_; }
  std::uint32_t rank_of_lane(std::uint32_t lane) const { return rank_of_lane_[lane]; }  // index into ranks()
  const std::vector<std::uint32_t>& spans_of_lane(std::uint32_t lane) const { return spans_[lane]; }
  // The recorded cause; without one, and unless another rank or the host held the span, the span of the same
  // rank that ended last before `time` (measured records carry no causes). no_span when there is none.
  std::uint32_t cause(std::uint32_t span, Seconds time) const;
  // Of the rank (index), ends last at or before `time` and starts before it; no_span when there is none.
  std::uint32_t last_ended(std::uint32_t rank, Seconds time) const;
  std::uint32_t last_span() const { return last_span_; }  // of all, ends last; no_span: there are none
  bool has_stages() const { return has_stages_; }         // ranks of more than one pipeline stage are recorded

 private:
  const RunRecord& record_;
  std::uint32_t last_span_ = no_span;
  bool has_stages_ = false;
  std::vector<Rank> ranks_;
  std::vector<std::uint32_t> rank_of_lane_;
  std::vector<std::vector<std::uint32_t>> spans_;  // by lane
};

}  // namespace tandem
