// Walking causes from the last span to the start.
#include "core/record/critical_path.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/record/waiting.h"
#include "core/units/text.h"

namespace tandem {
namespace {

// A receive whose cause was not recorded starts when its message does: the walk goes on at the sender, if that
// is known.
Activity waiting_activity(const RecordSpan& span) {
  switch (static_cast<HeldBy>(span.held_by)) {
    case HeldBy::Host:
      return Activity::Host;
    case HeldBy::Peer:
      return Activity::Bubble;
    case HeldBy::Nothing:
    case HeldBy::Lane:
    case HeldBy::Dependency:
      break;
  }
  return Activity::Idle;
}

std::string label(const RunRecord& record, const PathSegment& segment) {
  if (segment.span == no_span) return fmt::format("waiting ({})", name(segment.activity));
  const RecordSpan& span = record.spans[segment.span];
  const RecordTask& task = record.tasks[span.task];
  const RecordLane& lane = record.lanes[span.lane];
  std::string result = fmt::format("{}/{}", task.label, name(task.phase));
  if (task.microbatch != no_microbatch) result += fmt::format(" mb{}", task.microbatch);
  return result + fmt::format(" r{} ({})", lane.rank.value, name(lane.lane));
}

}  // namespace

CriticalPath critical_path(const RunRecord& record) {
  const Waiting waiting(record);
  const Seconds begin = window(record).start;
  CriticalPath path;
  std::uint32_t at = waiting.last_span();
  if (at == no_span) return path;
  Seconds time = record.spans[at].end;
  path.length = time - begin;
  const auto add = [&](std::uint32_t span, Seconds start, Activity activity) {
    start = std::clamp(start, begin, time);
    if (start < time) path.segments.push_back({span, start, time, activity});
    time = start;
  };
  // Causes form no circle, but inferred ones may close one among spans shorter than the clock's resolution.
  for (std::size_t steps = 0; time > begin && steps <= 2 * record.spans.size(); ++steps) {
    const RecordSpan& span = record.spans[at];
    add(at, span.start, activity(record, span));
    const std::uint32_t cause = waiting.cause(at, time);
    const Seconds caused = cause == no_span ? begin : record.spans[cause].end;
    add(no_span, caused, waiting_activity(span));
    if (cause == no_span) break;
    at = cause;
  }
  add(no_span, begin, Activity::Idle);
  std::reverse(path.segments.begin(), path.segments.end());
  for (const PathSegment& segment : path.segments) {
    const Seconds length = segment.end - segment.start;
    path.by_activity[static_cast<std::size_t>(segment.activity)] += length;
    if (segment.span != no_span)
      path.by_operator[operator_of_label(record.tasks[record.spans[segment.span].task].label)] += length;
  }
  return path;
}

std::string text(const CriticalPath& path, const RunRecord& record, const PathTextOptions& options) {
  std::set<std::uint32_t> ranks;
  std::size_t spans = 0;
  for (const PathSegment& segment : path.segments)
    if (segment.span != no_span) {
      ++spans;
      ranks.insert(record.lanes[record.spans[segment.span].lane].rank.value);
    }
  std::string lines =
      fmt::format("critical path: {} over {} {} of {} {}\n", text(path.length), spans,
                  spans == 1 ? "span" : "spans", ranks.size(), ranks.size() == 1 ? "rank" : "ranks");
  const auto line = [&](std::string_view what, Seconds time) {
    lines += fmt::format("  {:<40} {:>9} {:>5.1f} %\n", what, text(time),
                         path.length > Seconds(0) ? 100 * (time / path.length) : 0);
  };
  for (std::size_t i = 0; i < activity_count; ++i) {
    std::string_view what = name(static_cast<Activity>(i));
    if (what.starts_with("exposed ")) what.remove_prefix(8);
    if (path.by_activity[i] > Seconds(0)) line(what, path.by_activity[i]);
  }
  std::vector<std::pair<std::string, Seconds>> operators(path.by_operator.begin(), path.by_operator.end());
  std::stable_sort(operators.begin(), operators.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  if (options.operators > 0 && !operators.empty()) lines += "longest operators on it:\n";
  for (std::size_t i = 0; i < std::min(options.operators, operators.size()); ++i)
    line(operators[i].first, operators[i].second);
  std::vector<PathSegment> longest = path.segments;
  std::stable_sort(longest.begin(), longest.end(), [](const PathSegment& a, const PathSegment& b) {
    return a.end - a.start > b.end - b.start;
  });
  if (options.segments > 0 && !longest.empty()) lines += "longest segments:\n";
  for (std::size_t i = 0; i < std::min(options.segments, longest.size()); ++i)
    line(fmt::format("at {:>9} {}", text(longest[i].start), label(record, longest[i])),
         longest[i].end - longest[i].start);
  return lines;
}

}  // namespace tandem
