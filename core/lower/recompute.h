// Which operators run again in the backward pass, and which tensors therefore need not be kept.
#pragma once
#include <vector>

#include "core/model/model_graph.h"
#include "core/plan/plan.h"

namespace tandem {

struct RecomputeGroup {
  std::vector<OperatorId> operators;  // in model order
  // The group's results are dropped too and made again just before their first backward use (norms,
  // activations); otherwise only what lies inside the group is dropped (checkpointing).
  bool discards_output = false;
  // The group runs again just before the backward of this operator.
  OperatorId trigger;
};

// Retention of one chunk's tensors under the plan's recomputation.
class Retention {
 public:
  Retention(const ModelGraph&, const Plan&, ChunkLayers);

  const std::vector<RecomputeGroup>& groups() const { return groups_; }
  // Kept from forward to backward.
  bool keeps(TensorId) const;
  // Kept beside it: what attention needs for its own backward pass (statistics, scores).
  bool keeps_attention_state(OperatorId) const;
  // Made again by some group.
  bool recomputed(TensorId) const;

 private:
  static constexpr std::uint32_t none = 0xffffffffu;
  std::uint32_t group_of(OperatorId) const;
  const ModelGraph& model_;
  OperatorId first_, last_;
  std::vector<std::uint32_t> group_of_;  // by operator - first
  std::vector<RecomputeGroup> groups_;
};

// Whether an operator's backward pass reads its inputs, its output.
bool backward_reads_inputs(const Operator&);
bool backward_reads_output(const Operator&);
// Whether the operator's weight gradient (and not only its input gradient) reads its input.
bool weight_gradient_reads_input(const Operator&);

}  // namespace tandem
