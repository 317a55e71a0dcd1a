// Which kind each task of a record is: its operator, phase and lane.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "core/compare/comparison.h"

namespace tandem {

// Sums over layers, buckets and chunks: "L12.mlp.up" -> "mlp.up", "gradients.3.reduce_scatter" ->
// "gradients.reduce_scatter".
std::string kind_name(std::string_view label);

// Kinds by number, dense from 0: as many as `size()`, some of them without a span.
class TaskKinds {
 public:
  explicit TaskKinds(const RunRecord&);
  std::size_t size() const { return names_.size() * phase_count * lane_count; }
  std::size_t of(std::uint32_t task, Lane lane) const {
    return (name_of_task_[task] * phase_count + phase_of_task_[task]) * lane_count +
           static_cast<std::size_t>(lane);
  }
  TaskKindKey key(std::size_t kind) const;

 private:
  std::vector<std::string> names_;
  std::vector<std::uint32_t> name_of_task_;
  std::vector<std::uint8_t> phase_of_task_;
};

}  // namespace tandem
