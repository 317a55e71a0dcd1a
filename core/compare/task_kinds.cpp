// Labels without the numbers of layers, buckets and chunks.
#include "core/compare/task_kinds.h"

#include <algorithm>
#include <unordered_map>

namespace tandem {

std::string kind_name(std::string_view label) {
  const std::string name = operator_of_label(label);
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  std::string result;
  for (std::size_t at = 0; at <= name.size();) {
    const std::size_t end = std::min(name.find('.', at), name.size());
    const std::string_view word = std::string_view(name).substr(at, end - at);
    if (word.empty() || !std::all_of(word.begin(), word.end(), is_digit))
      result += (result.empty() ? "" : ".") + std::string(word);
    at = end + 1;
  }
  return result.empty() ? name : result;
}

TaskKinds::TaskKinds(const RunRecord& record) {
  std::unordered_map<std::string_view, std::uint32_t> labels;
  std::unordered_map<std::string, std::uint32_t> names;
  name_of_task_.reserve(record.tasks.size());
  for (const RecordTask& task : record.tasks) {
    const auto [label, is_new] = labels.try_emplace(task.label, 0);
    if (is_new) {
      const auto name = names.try_emplace(kind_name(task.label), static_cast<std::uint32_t>(names_.size()));
      if (name.second) names_.push_back(name.first->first);
      label->second = name.first->second;
    }
    name_of_task_.push_back(label->second);
    phase_of_task_.push_back(static_cast<std::uint8_t>(task.phase));
  }
}

TaskKindKey TaskKinds::key(std::size_t kind) const {
  return {names_[kind / lane_count / phase_count], static_cast<Phase>(kind / lane_count % phase_count),
          static_cast<Lane>(kind % lane_count)};
}

}  // namespace tandem
