// Times of trace formats: whole nanoseconds, on a lane neither overlapping nor running backwards.
#pragma once
#include <cmath>
#include <cstdint>
#include <vector>

#include "core/record/run_record.h"

namespace tandem {

inline std::int64_t nanoseconds(Seconds time) { return std::llround(time.value * 1e9); }

struct TraceInterval {
  std::int64_t start = 0, end = 0;  // ns
};

// By span. Neighbours that touch in the record touch here; an overlap within the clock's resolution is cut from
// the later.
inline std::vector<TraceInterval> trace_intervals(const RunRecord& record) {
  std::vector<std::int64_t> busy_until(record.lanes.size(), 0);
  std::vector<TraceInterval> intervals;
  intervals.reserve(record.spans.size());
  for (const RecordSpan& span : record.spans) {
    const std::int64_t start = std::max(nanoseconds(span.start), busy_until[span.lane]);
    const std::int64_t end = std::max(nanoseconds(span.end), start);
    busy_until[span.lane] = end;
    intervals.push_back({start, end});
  }
  return intervals;
}

}  // namespace tandem
