// Steps of a record, cut out.
#include "core/compare/measured_steps.h"

#include <algorithm>
#include <map>

#include "core/record/waiting.h"

namespace tandem {

std::vector<MeasuredStep> measured_steps(const RunRecord& record) {
  std::map<std::uint32_t, MeasuredStep> steps;
  for (const RecordSpan& span : record.spans) {
    const auto [place, is_new] = steps.try_emplace(span.step, MeasuredStep{span.step, span.start, span.end});
    if (is_new) continue;
    place->second.start = std::min(place->second.start, span.start);
    place->second.end = std::max(place->second.end, span.end);
  }
  if (steps.size() <= 1 && record.warmup_steps == 0) {
    const RecordWindow whole = window(record);
    return {{steps.empty() ? 0 : steps.begin()->first, whole.start, whole.end}};
  }
  std::vector<MeasuredStep> measured;
  Seconds before;
  for (auto& [number, step] : steps) {
    step.start = std::min(std::max(step.start, before), step.end);
    before = std::max(before, step.end);
    if (number >= record.warmup_steps) measured.push_back(step);
  }
  return measured;
}

StepRecords::StepRecords(const RunRecord& record)
    : whole_(record),
      steps_(measured_steps(record)),
      spans_(steps_.size()),
      place_(record.spans.size(), no_span) {
  std::map<std::uint32_t, std::size_t> index;
  for (std::size_t i = 0; i < steps_.size(); ++i) index.emplace(steps_[i].number, i);
  for (std::uint32_t i = 0; i < record.spans.size(); ++i)
    if (const auto step = index.find(record.spans[i].step); step != index.end())
      spans_[step->second].push_back(i);
  part_.header = record.header;
  part_.lanes = record.lanes;
  part_.tasks.reserve(record.tasks.size());
  for (const RecordTask& task : record.tasks)
    part_.tasks.push_back({.phase = task.phase,
                           .kind = task.kind,
                           .microbatch = task.microbatch,
                           .message = task.message,
                           .chunk = task.chunk,
                           .flops = task.flops,
                           .bytes = task.bytes});
}

const RunRecord& StepRecords::record_of(std::size_t step) {
  const MeasuredStep& bounds = steps_[step];
  part_.spans.clear();
  for (const std::uint32_t i : spans_[step]) {
    place_[i] = static_cast<std::uint32_t>(part_.spans.size());
    RecordSpan span = whole_.spans[i];
    span.step = 0;
    span.start = std::max(span.start - bounds.start, Seconds(0));
    span.end = std::max(span.end - bounds.start, span.start);
    part_.spans.push_back(span);
  }
  for (RecordSpan& span : part_.spans)
    if (span.cause != no_span) span.cause = place_[span.cause];
  for (const std::uint32_t i : spans_[step]) place_[i] = no_span;
  part_.summary["step_time_s"] = bounds.length().value;
  return part_;
}

}  // namespace tandem
