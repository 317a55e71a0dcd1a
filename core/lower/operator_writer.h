// Writes the forward tasks of operators: kernels and the communication around them. Used forward and for
// recomputation.
#pragma once
#include <string_view>
#include <vector>

#include "core/lower/chunk.h"
#include "core/lower/kernels.h"

namespace tandem {

// Memory of all tokens of a tensor of which a rank otherwise holds its share (sequence parallelism).
struct WholeForm {
  TensorId tensor;
  std::uint32_t take = no_task, last_use = no_task;
};

class OperatorWriter {
 public:
  OperatorWriter(const ChunkContext& context, BodyWriter& writer, Phase phase);

  // Writes one operator; its input tensors count as ready from the start unless an earlier write made them.
  void write(OperatorId);
  // First and last task of what write() made last, no_task when it made none.
  std::uint32_t first_task() const { return first_; }
  // Task that completes a tensor; no_task: it was there before.
  std::uint32_t ready(TensorId tensor) const { return ready_[tensor.value]; }
  // Whole-token forms: made by an all-gather and held to the last reader, or by a product and held to its
  // reduce-scatter.
  const std::vector<WholeForm>& gathered() const { return gathered_; }
  const std::vector<WholeForm>& partial_sums() const { return partial_sums_; }
  // Last task that read a tensor here.
  std::uint32_t last_read(TensorId tensor) const { return last_read_[tensor.value]; }

 private:
  std::uint32_t gather(TensorId);
  void product_with_gather(OperatorId, TensorId input);
  void product_with_scatter(OperatorId);
  void attention(OperatorId, const Attention&, std::vector<std::uint32_t> deps);
  void dispatch(OperatorId, const Dispatch&, std::vector<std::uint32_t> deps);
  void combine(OperatorId, const Combine&, std::vector<std::uint32_t> deps);
  std::uint32_t kernels(OperatorId, const std::vector<Kernel>&, std::vector<std::uint32_t> deps);
  std::uint32_t collective(OperatorId, Part, Lane, CollectiveKind, Axis, Bytes, std::vector<std::uint32_t>);
  void finish(OperatorId, std::uint32_t last);

  const ChunkContext& context_;
  BodyWriter& writer_;
  Phase phase_;
  std::vector<std::uint32_t> ready_, last_read_;
  std::vector<WholeForm> gathered_, partial_sums_;
  std::uint32_t first_ = no_task;
};

// The blocks of attention that one rank computes, in order, under context parallelism: its own keys first, then
// those that arrive from its neighbours (ring), all at once (all-gather), or a share of the heads (all-to-all).
std::vector<AttentionBlock> attention_blocks(const Attention&, const Shard&, Sequence queries);
// Bytes of the keys and values that one rank holds before any exchange.
Bytes key_value_bytes(const Attention&, const Shard&);
// Bytes of q, k and v together, and of the output, on one rank.
Bytes query_key_value_bytes(const Attention&, const Shard&, Sequence queries);
Bytes attention_output_bytes(const Attention&, const Shard&, Sequence queries);
// What a rank sends in one all-to-all of routed tokens, and what it holds after gathering over etp.
Bytes dispatch_bytes(const Operator&, const Shard&, std::int64_t width, std::int64_t top_k);
// Bytes of one tensor-parallel all-reduce, all-gather or reduce-scatter of a whole activation.
Bytes tensor_collective_bytes(const Operator&, const Shard&, std::int64_t width);

}  // namespace tandem
