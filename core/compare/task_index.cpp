// Spans gathered under the keys of their tasks.
#include "core/compare/task_index.h"

#include "core/problem/problem.h"

namespace tandem {

std::uint32_t LabelTable::id(const std::string& label) {
  const auto [place, is_new] = ids_.try_emplace(label, static_cast<std::uint32_t>(labels_.size()));
  if (is_new) labels_.push_back(label);
  return place->second;
}

std::size_t TaskKeyHash::operator()(const TaskKey& key) const {
  // Multiplication by the golden ratio spreads neighbouring numbers (Knuth, TAOCP 3, 6.4).
  std::uint64_t hash = 0;
  const auto mix = [&](std::uint64_t part) {
    hash = (hash ^ part) * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 32;
  };
  mix(std::uint64_t{key.label} << 32 | key.rank.value);
  mix(std::uint64_t{key.microbatch} << 32 | key.occurrence);
  mix(std::uint64_t{key.chunk} << 16 | static_cast<std::uint64_t>(key.phase) << 8 |
      static_cast<std::uint64_t>(key.lane));
  return static_cast<std::size_t>(hash);
}

TaskIndex::TaskIndex(const RunRecord& record, LabelTable& labels) {
  std::vector<std::uint32_t> label_of_task;
  label_of_task.reserve(record.tasks.size());
  for (const RecordTask& task : record.tasks) label_of_task.push_back(labels.id(task.label));
  std::vector<std::uint32_t> entry_of_span(record.spans.size(), no_span);
  for (std::size_t i = 0; i < record.spans.size(); ++i)
    if (record.spans[i].step >= record.warmup_steps)
      entry_of_span[i] = entry_of(record, record.spans[i], label_of_task[record.spans[i].task]);
  gather(record, entry_of_span);
}

std::uint32_t TaskIndex::entry_of(const RunRecord& record, const RecordSpan& span, std::uint32_t label) {
  const RecordTask& task = record.tasks[span.task];
  const RecordLane& lane = record.lanes[span.lane];
  TaskKey key{label, task.phase, lane.lane, task.chunk, lane.rank, task.microbatch, 0};
  for (;; ++key.occurrence) {
    const auto [place, is_new] = places_.try_emplace(key, static_cast<std::uint32_t>(entries_.size()));
    if (is_new) entries_.push_back({key, span.task, lane.stage, 0, span.step, false});
    Entry& entry = entries_[place->second];
    if (!is_new && entry.last_step == span.step) continue;
    entry.last_step = span.step;
    ++entry.spans;
    return place->second;
  }
}

void TaskIndex::gather(const RunRecord& record, const std::vector<std::uint32_t>& entry_of_span) {
  begins_.assign(1, 0);
  for (const Entry& entry : entries_) begins_.push_back(begins_.back() + entry.spans);
  times_.resize(begins_.back());
  std::vector<std::size_t> next(begins_.begin(), begins_.end() - 1);
  for (std::size_t i = 0; i < entry_of_span.size(); ++i)
    if (entry_of_span[i] != no_span)
      times_[next[entry_of_span[i]]++] = record.spans[i].end - record.spans[i].start;
}

TaskIndex::Entry* TaskIndex::find(const TaskKey& key) {
  const auto place = places_.find(key);
  return place == places_.end() ? nullptr : &entries_[place->second];
}

Sampled<Seconds> TaskIndex::time(const Entry& entry) const {
  const auto index = static_cast<std::size_t>(&entry - entries_.data());
  check(index < entries_.size(), "an entry of this index");
  return sampled(std::vector<Seconds>(times_.begin() + static_cast<std::ptrdiff_t>(begins_[index]),
                                      times_.begin() + static_cast<std::ptrdiff_t>(begins_[index + 1])));
}

}  // namespace tandem
