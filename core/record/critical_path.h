// The chain of spans that made the step as long as it was, walked back from the last one over causes.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "core/record/activity.h"
#include "core/record/run_record.h"

namespace tandem {

struct PathSegment {
  std::uint32_t span = no_span;  // no_span: a time of waiting before the segment that follows
  Seconds start, end;
  Activity activity = Activity::Idle;  // waiting: Host when the host held the next span, Bubble when an
                                       // unrecorded rank did, else Idle
};

// Segments touch and cover the measured window (core/record/waiting.h) from its start to the end of its last
// span.
struct CriticalPath {
  std::vector<PathSegment> segments;  // in time order
  Seconds length;
  ByActivity<Seconds> by_activity{};           // sums to `length`; "exposed" means on the path here
  std::map<std::string, Seconds> by_operator;  // operator_of_label of the spans on it
};
CriticalPath critical_path(const RunRecord&);

// The path's sums, its `operators` longest operators and its `segments` longest segments.
struct PathTextOptions {
  std::size_t operators = 10, segments = 10;
};
std::string text(const CriticalPath&, const RunRecord&, const PathTextOptions& = {});

}  // namespace tandem
