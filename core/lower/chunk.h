// Lowers the operators of one chunk into bodies: what one microbatch does in one phase.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "core/lower/body.h"
#include "core/lower/recompute.h"
#include "core/lower/shard.h"

namespace tandem {

// A split operator reads all tokens of a tensor of which ranks hold shares (sequence parallelism), or copies
// whose gradients it must sum.
bool reads_whole_tokens(const Shard&, const Operator& reader, const Tensor& tensor);

// Everything that the writers of one chunk share.
struct ChunkContext {
  const ModelGraph& model;
  const Plan& plan;
  const Shard& shard;
  Interner& interner;
  std::uint32_t position = 0;
  OperatorId first, last;                 // inclusive
  std::vector<TensorId> inputs, outputs;  // tensors that cross the chunk's borders

  const PlanSpec& spec() const { return plan.spec; }
  bool contains(OperatorId op) const { return op >= first && op <= last; }
  std::string label(OperatorId op, std::string_view suffix = "") const;
  LabelId task_label(OperatorId op, Part part) const;
  // A whole-token form of `tensor` must be gathered over tp before `reader` can use it (sequence parallelism),
  // or its gradient be summed over tp afterwards (without).
  bool crosses_into_split(const Operator& reader, const Tensor& tensor) const;
  // Tensor-parallel collectives run in pieces, each beside a piece of the product it feeds or drains.
  bool pipelines_tensor_communication(const Operator&) const;
};

// Indices into the forward body's `kept`, by tensor and by attention operator.
struct KeptIndex {
  std::vector<std::uint32_t> tensor, attention;  // by TensorId, by OperatorId; no_task: not kept
};

struct ForwardBody {
  Body body;
  KeptIndex kept;
};
enum class BackwardMode : std::uint8_t { Both, InputGradient, WeightGradient };

ForwardBody lower_forward(const ChunkContext&, const Retention&);
// Both gradients in one body.
Body lower_backward(const ChunkContext&, const Retention&, const KeptIndex&);
// The same cut in two: what the previous stage waits for, and what only the optimizer waits for.
struct SplitBackward {
  Body input_gradient, weight_gradient;
};
SplitBackward lower_split_backward(const ChunkContext&, const Retention&, const KeptIndex&);

}  // namespace tandem
