// The share of a microbatch and of each operator that one rank works on.
#pragma once
#include <cstdint>
#include <vector>

#include "core/model/model_graph.h"
#include "core/plan/plan.h"

namespace tandem {

// Sizes are those of one rank and one microbatch. Rows are tokens, or routed tokens inside experts.
class Shard {
 public:
  Shard(const ModelGraph&, const Plan&);

  std::int64_t tp() const { return tp_; }
  std::int64_t cp() const { return cp_; }
  std::int64_t ep() const { return ep_; }
  std::int64_t etp() const { return etp_; }
  bool sequence_parallel() const { return sequence_parallel_; }
  const Plan& plan() const { return plan_; }
  double element_bytes() const { return element_bytes_; }   // of an activation
  DType product_dtype() const { return plan_.spec.dtype; }  // of layer products; logits stay in tensor_dtype
  DType tensor_dtype() const { return plan_.spec.dtype == DType::Fp8 ? DType::Bf16 : plan_.spec.dtype; }

  std::int64_t batch() const { return plan_.tokens.batch; }
  std::int64_t length(Sequence) const;  // tokens of one whole sequence
  // Tokens of the context-parallel share, all of them (what split products see).
  std::int64_t gathered_rows(const Operator&) const;
  // What a rank holds of a tensor in Layout::Sequence: the gathered rows, or its 1/tp under sequence
  // parallelism.
  std::int64_t sequence_rows(const Operator&) const;
  // Rows that reach a rank's experts when tokens are spread evenly (after dispatch and, with etp > 1,
  // gathering).
  std::int64_t expert_rows(const Operator&, std::int64_t top_k) const;

  // Rows that an operator's own kernels work on.
  std::int64_t kernel_rows(const Operator&) const;
  // Output elements a row on this rank.
  std::int64_t local_width(const Operator&, std::int64_t width) const;
  std::int64_t local_heads(const Attention& a) const { return a.heads / tp_; }
  std::int64_t local_kv_heads(const Attention& a) const;

  // Elements and bytes of a tensor that this rank keeps, its layout applied.
  Bytes tensor_bytes(const ModelGraph&, const Tensor&) const;
  Bytes mask_bytes(const ModelGraph&, const Tensor&) const;
  // The whole-token form of a Layout::Sequence tensor, as a tensor-parallel all-gather makes it.
  Bytes gathered_bytes(const ModelGraph&, const Tensor&) const;

  // Learned elements of an operator that one rank holds (before ZeRO), vocabulary padding included.
  std::int64_t local_parameters(const Operator&) const;
  // Those of them that are whole copies on each tensor-parallel rank (norms, routers, row biases).
  std::int64_t replicated_parameters(const Operator&) const;

 private:
  std::int64_t tensor_rows(const ModelGraph&, const Tensor&) const;
  // Columns of a split product on one rank; more than out/tp where key and value heads are fewer than ranks.
  std::int64_t column_width(const Operator&, std::int64_t out) const;

  const Plan& plan_;
  std::int64_t tp_, cp_, ep_, etp_;
  bool sequence_parallel_ = false;
  double element_bytes_;
  std::vector<std::int64_t>
      shared_kv_width_;  // by layer: columns of its fused q-k-v product on one rank; 0: out/tp
};

}  // namespace tandem
