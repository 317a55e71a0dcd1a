// Causes of spans, recorded or inferred, and the measured window.
#include "core/record/waiting.h"

#include <algorithm>
#include <map>

namespace tandem {

RecordWindow window(const RunRecord& record) {
  RecordWindow result;
  std::uint32_t steps = 0;
  for (const RecordSpan& span : record.spans) {
    if (span.step < record.warmup_steps) result.start = std::max(result.start, span.end);
    result.end = std::max(result.end, span.end);
    steps = std::max(steps, span.step + 1);
  }
  result.steps = steps > record.warmup_steps ? steps - record.warmup_steps : 1;
  if (const auto step = record.summary.find("step_time_s"); steps <= 1 && step != record.summary.end())
    result.end = std::max(result.end, Seconds(step->second));
  return result;
}

Waiting::Waiting(const RunRecord& record)
    : record_(record), rank_of_lane_(record.lanes.size()), spans_(record.lanes.size()) {
  std::map<std::uint32_t, std::uint32_t> index;
  for (std::uint32_t i = 0; i < record.lanes.size(); ++i) {
    const RecordLane& lane = record.lanes[i];
    const auto [place, is_new] = index.try_emplace(lane.rank.value, static_cast<std::uint32_t>(ranks_.size()));
    if (is_new) ranks_.push_back({lane.rank, lane.stage, lane.multiplicity, {}});
    rank_of_lane_[i] = place->second;
    auto& lanes = ranks_[place->second].lanes;
    lanes.insert(lane.lane == Lane::Compute ? lanes.begin() : lanes.end(), i);
  }
  for (const RecordLane& lane : record.lanes) has_stages_ |= lane.stage != record.lanes.front().stage;
  for (std::uint32_t i = 0; i < record.spans.size(); ++i) {
    spans_[record.spans[i].lane].push_back(i);
    if (last_span_ == no_span || record.spans[i].end > record.spans[last_span_].end) last_span_ = i;
  }
}

std::uint32_t Waiting::cause(std::uint32_t span, Seconds time) const {
  const RecordSpan& waited = record_.spans[span];
  if (waited.cause != no_span) return waited.cause;
  const auto held = static_cast<HeldBy>(waited.held_by);
  if (held == HeldBy::Peer || held == HeldBy::Host) return no_span;
  return last_ended(rank_of_lane_[waited.lane], time);
}

std::uint32_t Waiting::last_ended(std::uint32_t rank, Seconds time) const {
  std::uint32_t best = no_span;
  for (const std::uint32_t lane : ranks_[rank].lanes) {
    const auto& spans = spans_[lane];
    // The first that ends after `time`; those before it are candidates. An empty span at `time` itself would
    // not lead anywhere earlier and is passed over.
    auto place = std::upper_bound(spans.begin(), spans.end(), time + clock_resolution,
                                  [&](Seconds t, std::uint32_t s) { return t < record_.spans[s].end; });
    while (place != spans.begin() && !(record_.spans[*(place - 1)].start < time)) --place;
    if (place == spans.begin()) continue;
    const std::uint32_t candidate = *(place - 1);
    if (best == no_span || record_.spans[candidate].end > record_.spans[best].end) best = candidate;
  }
  return best;
}

}  // namespace tandem
