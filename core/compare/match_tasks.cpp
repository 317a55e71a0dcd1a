// Pairs of tasks with equal keys, on the rank itself or on the one that stands for it.
#include "core/compare/match_tasks.h"

#include <algorithm>

#include "core/compare/representatives.h"
#include "core/compare/task_index.h"

namespace tandem {
namespace {

struct Side {
  Side(const RunRecord& record, LabelTable& labels) : ranks(record), index(record, labels) {}
  // The entry that has the same key on the rank that stands for the entry's.
  TaskIndex::Entry* counterpart(const TaskIndex::Entry& entry) {
    const auto rank = ranks.of(entry.key.rank, entry.stage);
    if (!rank) return nullptr;
    TaskKey key = entry.key;
    key.rank = *rank;
    return index.find(key);
  }
  Representatives ranks;
  TaskIndex index;
};

void pair(Side& a, TaskIndex::Entry& entry_a, Side& b, TaskIndex::Entry& entry_b, Comparison& result) {
  entry_a.matched = entry_b.matched = true;
  result.tasks.push_back({entry_b.key, entry_a.key.rank, {a.index.time(entry_a), b.index.time(entry_b)}});
}

struct Missing {
  std::vector<MissingKind> kinds;
  std::size_t matched_spans = 0, spans = 0;
};

Missing missing(TaskIndex& index, const TaskKinds& kinds) {
  struct Count {
    std::size_t tasks = 0;
    std::set<RankId> ranks;
  };
  std::map<std::size_t, Count> counts;
  Missing result;
  for (const TaskIndex::Entry& entry : index.entries()) {
    (entry.matched ? result.matched_spans : result.spans) += entry.spans;
    if (entry.matched) continue;
    Count& count = counts[kinds.of(entry.task, entry.key.lane)];
    ++count.tasks;
    count.ranks.insert(entry.key.rank);
  }
  for (const auto& [kind, count] : counts)
    result.kinds.push_back({kinds.key(kind), count.tasks, static_cast<std::uint32_t>(count.ranks.size())});
  std::stable_sort(result.kinds.begin(), result.kinds.end(),
                   [](const MissingKind& x, const MissingKind& y) { return x.tasks > y.tasks; });
  return result;
}

}  // namespace

void match_tasks(const RunRecord& a, const TaskKinds& kinds_a, const RunRecord& b, const TaskKinds& kinds_b,
                 Comparison& result) {
  LabelTable labels;
  Side side_a(a, labels), side_b(b, labels);
  for (TaskIndex::Entry& entry : side_b.index.entries())
    if (TaskIndex::Entry* other = side_a.counterpart(entry)) pair(side_a, *other, side_b, entry, result);
  for (TaskIndex::Entry& entry : side_a.index.entries())
    if (!entry.matched)
      if (TaskIndex::Entry* other = side_b.counterpart(entry)) pair(side_a, entry, side_b, *other, result);
  result.labels = labels.take();
  Missing only_a = missing(side_a.index, kinds_a), only_b = missing(side_b.index, kinds_b);
  result.only_a = std::move(only_a.kinds);
  result.only_b = std::move(only_b.kinds);
  result.spans_matched_a = only_a.matched_spans;
  result.spans_matched_b = only_b.matched_spans;
  result.spans_only_a = only_a.spans;
  result.spans_only_b = only_b.spans;
}

}  // namespace tandem
