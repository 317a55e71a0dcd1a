// Works and labels stored once, however many tasks use them.
#pragma once
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/task/task_graph.h"

namespace tandem {

class Interner {
 public:
  explicit Interner(TaskGraph& graph) : graph_(graph) {}
  WorkId work(const Work&);
  LabelId label(const std::string&, Subject subject = {});
  const Work& operator[](WorkId id) const { return graph_.works[id]; }

 private:
  TaskGraph& graph_;
  std::unordered_map<std::size_t, std::vector<WorkId>> works_;  // by hash
  std::unordered_map<std::string, LabelId> labels_;
};

}  // namespace tandem
