// Gaps of compute lanes, walked back to their reasons.
#include "core/record/breakdown.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/record/waiting.h"
#include "core/units/text.h"

namespace tandem {
namespace {

struct Interval {
  Seconds start, end;
};

Seconds overlap(const std::vector<Interval>& a, const std::vector<Interval>& b) {
  Seconds sum;
  for (std::size_t i = 0, k = 0; i < a.size() && k < b.size();) {
    const Seconds start = std::max(a[i].start, b[k].start), end = std::min(a[i].end, b[k].end);
    if (start < end) sum += end - start;
    a[i].end < b[k].end ? ++i : ++k;
  }
  return sum;
}

// Sorted and apart.
std::vector<Interval> merged(std::vector<Interval> intervals) {
  std::sort(intervals.begin(), intervals.end(),
            [](const Interval& a, const Interval& b) { return a.start < b.start; });
  std::vector<Interval> result;
  for (const Interval& interval : intervals) {
    if (!result.empty() && interval.start <= result.back().end)
      result.back().end = std::max(result.back().end, interval.end);
    else
      result.push_back(interval);
  }
  return result;
}

class RankWalk {
 public:
  RankWalk(const RunRecord& record, const Waiting& waiting, const RecordWindow& window, std::uint32_t rank)
      : record_(record), waiting_(waiting), window_(window), rank_(rank), at_(waiting.ranks()[rank]) {}

  Breakdown run() {
    find_model_computation();
    Seconds done = window_.start;
    for (const std::uint32_t index : compute_spans()) {
      const RecordSpan& span = record_.spans[index];
      const Seconds start = std::clamp(span.start, done, window_.end),
                    end = std::clamp(span.end, done, window_.end);
      if (start > done) explain(done, start, index);
      if (end <= start) continue;
      add(activity(record_, span), end - start);
      busy_.push_back({start, end});
      done = end;
    }
    if (done < window_.end) explain_tail(done);
    result_.step = window_.length();
    measure_communication();
    return result_;
  }

 private:
  void add(Activity activity, Seconds time) { result_.parts[static_cast<std::size_t>(activity)] += time; }

  std::vector<std::uint32_t> compute_spans() const {
    if (at_.lanes.empty() || record_.lanes[at_.lanes.front()].lane != Lane::Compute) return {};
    return waiting_.spans_of_lane(at_.lanes.front());
  }

  void find_model_computation() {
    first_ = window_.end;
    last_ = window_.start;
    for (const std::uint32_t index : compute_spans()) {
      const RecordSpan& span = record_.spans[index];
      if (record_.tasks[span.task].phase == Phase::Update || span.end <= window_.start) continue;
      first_ = std::min(first_, span.start);
      last_ = std::max(last_, span.end);
    }
  }

  Activity peer_wait(const RecordSpan& span, Seconds time) const {
    if (record_.tasks[span.task].kind != TaskKind::Collective) return Activity::Bubble;
    const bool known = span.cause != no_span;
    const bool other_stage = known ? record_.lanes[record_.spans[span.cause].lane].stage != at_.stage
                                   : waiting_.has_stages() && (time <= first_ || time > last_);
    return other_stage ? Activity::Bubble : Activity::Idle;
  }

  // [start, time] before `span` began.
  void explain(Seconds start, Seconds time, std::uint32_t index) {
    while (time > start) {
      const RecordSpan& span = record_.spans[index];
      const std::uint32_t cause = waiting_.cause(index, time);
      const bool elsewhere = cause != no_span && waiting_.rank_of_lane(record_.spans[cause].lane) != rank_;
      const auto held = static_cast<HeldBy>(span.held_by);
      if (held == HeldBy::Peer || elsewhere) return add(peer_wait(span, time), time - start);
      const Activity gap = held == HeldBy::Host ? Activity::Host : Activity::Idle;
      if (cause == no_span) return add(gap, time - start);
      time = explain_cause(start, time, cause, gap);
      index = cause;
    }
  }

  // The moments after the cause and of the cause itself; returns where the walk stands then.
  Seconds explain_cause(Seconds start, Seconds time, std::uint32_t cause, Activity gap) {
    const RecordSpan& span = record_.spans[cause];
    const Seconds end = std::clamp(span.end, start, time), begin = std::clamp(span.start, start, end);
    add(gap, time - end);
    add(activity(record_, span), end - begin);
    return begin;
  }

  void explain_tail(Seconds start) {
    const std::uint32_t last = waiting_.last_ended(rank_, window_.end);
    if (last == no_span) return add(tail_wait(), window_.end - start);
    const Seconds time = explain_cause(start, window_.end, last, tail_wait());
    explain(start, time, last);
  }

  Activity tail_wait() const {
    const std::uint32_t last = waiting_.last_span();
    const bool other = last != no_span && record_.lanes[record_.spans[last].lane].stage != at_.stage;
    return other ? Activity::Bubble : Activity::Idle;
  }

  void measure_communication() {
    ByTrafficAxis<std::vector<Interval>> intervals;
    for (const std::uint32_t lane : at_.lanes) {
      const auto axis = traffic_axis(record_.lanes[lane].lane);
      if (!axis) continue;
      for (const std::uint32_t index : waiting_.spans_of_lane(lane)) {
        const Seconds start = std::max(record_.spans[index].start, window_.start);
        if (start < record_.spans[index].end)
          intervals[static_cast<std::size_t>(*axis)].push_back({start, record_.spans[index].end});
      }
    }
    for (std::size_t axis = 0; axis < traffic_axis_count; ++axis) {
      const auto wires = merged(std::move(intervals[axis]));
      for (const Interval& interval : wires) result_.busy[axis] += interval.end - interval.start;
      result_.hidden[axis] = overlap(wires, busy_);
    }
  }

  const RunRecord& record_;
  const Waiting& waiting_;
  const RecordWindow& window_;
  const std::uint32_t rank_;
  const Waiting::Rank& at_;
  Seconds first_, last_;        // of forward and gradient computation
  std::vector<Interval> busy_;  // the compute lane
  Breakdown result_;
};

void add_scaled(Breakdown& sum, const Breakdown& other, double factor) {
  sum.step += other.step * factor;
  for (std::size_t i = 0; i < activity_count; ++i) sum.parts[i] += other.parts[i] * factor;
  for (std::size_t i = 0; i < traffic_axis_count; ++i) {
    sum.busy[i] += other.busy[i] * factor;
    sum.hidden[i] += other.hidden[i] * factor;
  }
}

}  // namespace

Seconds Breakdown::compute() const {
  return (*this)[Activity::Forward] + (*this)[Activity::Backward] + (*this)[Activity::WeightGradient] +
         (*this)[Activity::Recompute];
}

Seconds Breakdown::exposed_communication() const {
  Seconds sum;
  for (std::size_t axis = 0; axis < traffic_axis_count; ++axis)
    sum += (*this)[activity(static_cast<TrafficAxis>(axis))];
  return sum;
}

double Breakdown::bubble_fraction() const { return step > Seconds(0) ? (*this)[Activity::Bubble] / step : 0; }

StepBreakdown breakdown(const RunRecord& record) {
  const Waiting waiting(record);
  const RecordWindow measured = window(record);
  StepBreakdown result;
  double weight = 0;
  for (const Waiting::Rank& rank : waiting.ranks()) weight += rank.multiplicity;
  for (std::uint32_t i = 0; i < waiting.ranks().size(); ++i) {
    const Waiting::Rank& rank = waiting.ranks()[i];
    Breakdown step;
    add_scaled(step, RankWalk(record, waiting, measured, i).run(), 1.0 / measured.steps);
    add_scaled(result.mean, step, rank.multiplicity / weight);
    result.ranks.push_back({rank.rank, rank.stage, rank.multiplicity, step});
  }
  return result;
}

std::map<std::string, double> breakdown_values(const Breakdown& breakdown) {
  std::map<std::string, double> values;
  for (std::size_t i = 0; i < activity_count; ++i)
    values[std::string(key(static_cast<Activity>(i)))] = breakdown.parts[i].value;
  for (std::size_t i = 0; i < traffic_axis_count; ++i) {
    const std::string_view axis = name(static_cast<TrafficAxis>(i));
    values[fmt::format("comm_{}_s", axis)] = breakdown.busy[i].value;
    values[fmt::format("hidden_{}_s", axis)] = breakdown.hidden[i].value;
  }
  values["compute_s"] = breakdown.compute().value;
  values["exposed_comm_s"] = breakdown.exposed_communication().value;
  values["bubble_fraction"] = breakdown.bubble_fraction();
  return values;
}

std::string text(const Breakdown& breakdown) {
  std::string lines;
  const auto share = [&](Seconds time) {
    return breakdown.step > Seconds(0) ? 100 * (time / breakdown.step) : 0;
  };
  for (std::size_t i = 0; i < activity_count; ++i) {
    const Seconds time = breakdown.parts[i];
    if (time > Seconds(0))
      lines +=
          fmt::format("{:<16} {:>9} {:>5.1f} %\n", name(static_cast<Activity>(i)), text(time), share(time));
  }
  lines += fmt::format("{:<16} {:>9}\n", "step", text(breakdown.step));
  std::string hidden;
  for (std::size_t i = 0; i < traffic_axis_count; ++i)
    if (breakdown.hidden[i] > Seconds(0))
      hidden += fmt::format("{}{} {}", hidden.empty() ? "" : ", ", name(static_cast<TrafficAxis>(i)),
                            text(breakdown.hidden[i]));
  if (!hidden.empty()) lines += fmt::format("hidden behind computation: {}\n", hidden);
  return lines;
}

}  // namespace tandem
