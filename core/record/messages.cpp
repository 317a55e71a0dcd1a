// Matching by step, message number and order of ranks.
#include "core/record/messages.h"

#include <algorithm>
#include <tuple>

namespace tandem {

std::vector<MessagePair> message_pairs(const RunRecord& record) {
  struct End {
    std::uint32_t step, message;
    bool receive;
    std::uint32_t rank, span;
    auto key() const { return std::tie(step, message); }
    auto order() const { return std::tie(step, message, receive, rank, span); }
  };
  std::vector<End> ends;
  for (std::uint32_t i = 0; i < record.spans.size(); ++i) {
    const RecordSpan& span = record.spans[i];
    const RecordTask& task = record.tasks[span.task];
    if (task.message == no_message || (task.kind != TaskKind::Send && task.kind != TaskKind::Receive)) continue;
    ends.push_back(
        {span.step, task.message, task.kind == TaskKind::Receive, record.lanes[span.lane].rank.value, i});
  }
  std::sort(ends.begin(), ends.end(), [](const End& a, const End& b) { return a.order() < b.order(); });
  std::vector<MessagePair> pairs;
  for (std::size_t first = 0; first < ends.size();) {
    std::size_t receives = first, last = first;
    while (receives < ends.size() && ends[receives].key() == ends[first].key() && !ends[receives].receive)
      ++receives;
    for (last = receives; last < ends.size() && ends[last].key() == ends[first].key();) ++last;
    if (receives - first == last - receives)
      for (std::size_t i = 0; i < receives - first; ++i)
        pairs.push_back({ends[first + i].span, ends[receives + i].span});
    first = last;
  }
  return pairs;
}

}  // namespace tandem
