// The tasks of a record by their keys, with their durations in the steps that count.
#pragma once
#include <string>
#include <unordered_map>
#include <vector>

#include "core/compare/comparison.h"

namespace tandem {

// Labels of both records by number.
class LabelTable {
 public:
  std::uint32_t id(const std::string& label);
  std::vector<std::string> take() { return std::move(labels_); }

 private:
  std::vector<std::string> labels_;
  std::unordered_map<std::string, std::uint32_t> ids_;
};

struct TaskKeyHash {
  std::size_t operator()(const TaskKey&) const;
};

class TaskIndex {
 public:
  struct Entry {
    TaskKey key;
    std::uint32_t task = 0, stage = 0;  // the record's task; the stage of its rank
    std::uint32_t spans = 0;            // of all steps
    std::uint32_t last_step = 0;
    bool matched = false;
  };
  TaskIndex(const RunRecord&, LabelTable&);

  std::vector<Entry>& entries() { return entries_; }
  Entry* find(const TaskKey&);
  Sampled<Seconds> time(const Entry&) const;  // of an entry of this index

 private:
  std::uint32_t entry_of(const RunRecord&, const RecordSpan&, std::uint32_t label);
  void gather(const RunRecord&, const std::vector<std::uint32_t>& entry_of_span);

  std::vector<Entry> entries_;
  std::unordered_map<TaskKey, std::uint32_t, TaskKeyHash> places_;
  std::vector<Seconds> times_;       // by entry
  std::vector<std::size_t> begins_;  // of an entry's times; one more than entries
};

}  // namespace tandem
