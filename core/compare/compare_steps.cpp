// Medians and spreads over steps of all that a step is summed into.
#include "core/compare/compare_steps.h"

#include <algorithm>
#include <utility>

namespace tandem {
namespace {

// `of(step)` for all steps of both records.
template <class Of>
auto each(const StepSums& a, const StepSums& b, Of of) {
  using Q = decltype(of(Breakdown()));
  const auto sampled_of = [&](const std::vector<Breakdown>& steps) {
    std::vector<Q> values;
    for (const Breakdown& step : steps) values.push_back(of(step));
    return sampled(std::move(values));
  };
  return Compared<Q>{sampled_of(a.mean), sampled_of(b.mean)};
}

// Entries of both maps by key; what one of them lacks is empty.
template <class Key, class Value>
std::map<Key, std::pair<Value, Value>> joined(const std::map<Key, Value>& a, const std::map<Key, Value>& b) {
  std::map<Key, std::pair<Value, Value>> both;
  for (const auto& [key, value] : a) both[key].first = value;
  for (const auto& [key, value] : b) both[key].second = value;
  return both;
}

double hidden_share(const Breakdown& step) {
  Seconds hidden, busy;
  for (std::size_t axis = 0; axis < traffic_axis_count; ++axis) {
    hidden += step.hidden[axis];
    busy += step.busy[axis];
  }
  return busy > Seconds(0) ? hidden / busy : 0;
}

void add_axes(const StepSums& a, const StepSums& b, Comparison& result) {
  for (std::size_t i = 0; i < traffic_axis_count; ++i) {
    const auto axis = static_cast<TrafficAxis>(i);
    const AxisTime time{axis, each(a, b, [&](const Breakdown& step) { return step.busy[i]; }),
                        result.part(activity(axis)),
                        each(a, b, [&](const Breakdown& step) { return step.hidden[i]; })};
    if (time.total.a.median > Seconds(0) || time.total.b.median > Seconds(0)) result.axes.push_back(time);
  }
}

void add_kinds(const StepSums& a, const StepSums& b, Comparison& result) {
  for (const auto& [kind, sums] : joined(a.kinds, b.kinds))
    result.kinds.push_back(
        {kind, sums.first.tasks, sums.second.tasks, {sampled(sums.first.time), sampled(sums.second.time)}});
  std::stable_sort(result.kinds.begin(), result.kinds.end(), [](const KindTime& x, const KindTime& y) {
    return std::fabs(x.time.change().value) > std::fabs(y.time.change().value);
  });
}

}  // namespace

void compare_steps(const StepSums& a, const StepSums& b, Comparison& result) {
  result.step = each(a, b, [](const Breakdown& step) { return step.step; });
  for (std::size_t i = 0; i < activity_count; ++i)
    result.parts.push_back(each(a, b, [&](const Breakdown& step) { return step.parts[i]; }));
  result.bubble = each(a, b, [](const Breakdown& step) { return step.bubble_fraction(); });
  result.overlap = each(a, b, hidden_share);
  add_axes(a, b, result);
  for (const auto& [lane, busy] : joined(a.lanes, b.lanes))
    result.lanes.push_back({lane, {sampled(busy.first), sampled(busy.second)}});
  for (const auto& [stage, busy] : joined(a.stages, b.stages))
    result.stages.push_back({stage, {sampled(busy.first), sampled(busy.second)}, {}});
  add_kinds(a, b, result);
}

}  // namespace tandem
