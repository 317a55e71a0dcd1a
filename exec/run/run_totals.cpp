// One number for all steps: the median step, with the mean step's parts in proportion.
#include "exec/run/run_totals.h"

#include <algorithm>
#include <numeric>

#include "core/cli/summary.h"
#include "core/units/text.h"

namespace tandem {
namespace {

Seconds median(std::vector<Seconds> times) {
  if (times.empty()) return {};
  std::sort(times.begin(), times.end());
  const std::size_t middle = times.size() / 2;
  return times.size() % 2 == 1 ? times[middle] : (times[middle - 1] + times[middle]) * 0.5;
}

Bytes live(const RecordMemory& sample) {
  return std::accumulate(sample.live.begin(), sample.live.end(), Bytes());
}

Bytes bytes(std::uint64_t count) { return Bytes(static_cast<double>(count)); }

void add_to(Breakdown& sum, const Breakdown& step) {
  sum.step += step.step;
  for (std::size_t i = 0; i < sum.parts.size(); ++i) sum.parts[i] += step.parts[i];
  for (std::size_t i = 0; i < sum.busy.size(); ++i) {
    sum.busy[i] += step.busy[i];
    sum.hidden[i] += step.hidden[i];
  }
}

void scale(Breakdown& parts, double factor) {
  parts.step = parts.step * factor;
  for (auto* times : {&parts.busy, &parts.hidden})
    for (Seconds& time : *times) time = time * factor;
  for (Seconds& time : parts.parts) time = time * factor;
}

}  // namespace

RunTotals::RunTotals(const RunCase& run, std::size_t processes, RunRecord head)
    : run_(run), processes_(processes), head_(std::move(head)), alone_(head_) {
  alone_.warmup_steps = 0;
  for (RecordTask& task : alone_.tasks) task.label = task.detail = {};
}

Breakdown RunTotals::breakdown_of(const StepSpans& step) {
  alone_.summary["step_time_s"] = step.duration.value;
  alone_.spans = step.step.spans;
  for (RecordSpan& span : alone_.spans) {
    span.step = 0;
    span.start -= step.start;
    span.end -= step.start;
  }
  return breakdown(alone_).mean;
}

void RunTotals::add(const std::vector<RankReport>& ranks, const StepSpans& step, double loss) {
  const bool measured = steps_++ >= static_cast<std::size_t>(run_.options.warmup);
  (measured ? measured_ : warm_).push_back(step.duration);
  loss_ = loss;
  last_ = step.step;
  for (const RecordMemory& sample : last_.memory) peak_ = std::max(peak_, live(sample));
  for (const RankReport& rank : ranks) {
    arena_ = std::max(arena_, bytes(rank.arena_bytes));
    overflow_ = std::max(overflow_, bytes(rank.overflow_bytes));
    resident_ = std::max(resident_, bytes(rank.resident_bytes));
  }
  if (!measured) return;
  add_to(sum_, breakdown_of(step));
}

std::optional<double> RunTotals::mfu(Seconds step) const {
  const DeviceKind& device = run_.prepared.cluster.kind(DeviceId(run_.graph.device_of[0]));
  const auto peak = device.peak.find(run_.prepared.plan.spec.dtype);
  if (peak == device.peak.end() || run_.prepared.cluster.kinds().size() > 1) return std::nullopt;
  return run_.graph.model_flops / (peak->second * static_cast<double>(run_.graph.device_of.size())) / step;
}

Seconds RunTotals::step_time() const { return median(measured_.empty() ? warm_ : measured_); }

Breakdown RunTotals::mean_breakdown() const {
  Breakdown mean = sum_;
  if (mean.step > Seconds(0)) scale(mean, step_time() / mean.step);
  return mean;
}

RunRecord RunTotals::result() const {
  RunRecord record = head_;
  record.spans = last_.spans;
  record.memory = last_.memory;
  record.losses = last_.losses;
  const Breakdown mean = mean_breakdown();
  summarise_measurement({run_.scenario, run_.prepared, run_.graph, step_time(), mean}, record);
  auto& keys = record.summary;
  keys["steps"] = static_cast<double>(measured_.size());
  keys["warmup_steps"] = static_cast<double>(warm_.size());
  if (!measured_.empty()) {
    const auto [least, most] = std::minmax_element(measured_.begin(), measured_.end());
    keys["step_time_min_s"] = least->value;
    keys["step_time_max_s"] = most->value;
    keys["step_time_mean_s"] = std::accumulate(measured_.begin(), measured_.end(), Seconds()).value /
                               static_cast<double>(measured_.size());
  }
  keys["final_loss"] = loss_;
  if (run_.floor) keys["entropy_floor"] = *run_.floor;
  const double gib = gibibytes(1).value;
  keys["peak_memory_gib"] = peak_.value / gib;
  keys["arena_gib"] = arena_.value / gib;
  keys["overflow_gib"] = overflow_.value / gib;
  keys["processes"] = static_cast<double>(processes_);
  keys["resident_gib"] = resident_.value / gib;
  keys["memory_limit_gib"] = run_.prepared.cluster.kind(DeviceId(run_.graph.device_of[0])).memory.value / gib;
  return record;
}

}  // namespace tandem
