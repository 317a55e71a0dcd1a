// What a task does, as amounts (flops, bytes) and never as a duration: the closed list of kinds of work.
#pragma once
#include <cstdint>
#include <variant>

#include "core/collective/collective.h"
#include "core/model/operator.h"
#include "core/plan/mesh.h"
#include "core/plan/plan_spec.h"
#include "core/units/dtype.h"
#include "core/units/quantity.h"

namespace tandem {

// c (m x n) = a (m x k) b (k x n), `batch` times. Grouped products (experts) have equal groups.
struct MatrixProduct {
  std::int64_t m = 0, n = 0, k = 0, batch = 1;
  DType input = DType::Bf16;
  double output_bytes = 2;  // an element; 8: accumulate into fp32, 4: accumulate into bf16
  bool grouped = false;
  bool operator==(const MatrixProduct&) const = default;
};

// One fused attention kernel (flash), forward or both backward products. Lengths in tokens.
struct FusedAttention {
  std::int64_t batch = 1, heads = 1, kv_heads = 1, q_length = 0, kv_length = 0, qk_head_dim = 0, v_head_dim = 0;
  AttentionMask mask = AttentionMask::Causal;
  std::int64_t window = 0;  // 0: none
  DType dtype = DType::Bf16;
  bool backward = false;
  bool operator==(const FusedAttention&) const = default;
};

// Kernels bound by memory traffic; `kind` picks the measured efficiency.
enum class PassKind : std::uint8_t {
  Norm,
  Activation,
  Residual,
  Rotary,
  Softmax,
  Embedding,
  CrossEntropy,
  Router,
  Permute,
  Cast,
  Scale,
  Optimizer,
  GradientNorm,
  Accumulate,
  Copy
};
struct MemoryPass {
  PassKind kind = PassKind::Copy;
  double elements = 0;
  Bytes bytes;  // nominal reads and writes of a fused kernel
  bool operator==(const MemoryPass&) const = default;
};

struct Compute {
  std::variant<MatrixProduct, FusedAttention, MemoryPass> kernel;
  Phase phase = Phase::Forward;
  Flops flops;  // arithmetic really done
  // The same work in the convention of Megatron's published figures (whole score matrix, no tile padding). The
  // sum without Phase::Recompute is what MFU counts, the sum with it what HFU counts.
  Flops model_flops;
  int launches = 1;  // kernels that the host must launch for it
  bool operator==(const Compute&) const = default;
};
// All members of this rank's group along `axis` meet in it, in the order of their lanes.
struct Collective {
  CollectiveKind kind = CollectiveKind::AllReduce;
  Axis axis = Axis::Tensor;
  Bytes size;  // nccl-tests' convention
  Algorithm algorithm = Algorithm::Auto;
  bool operator==(const Collective&) const = default;
};
// Point to point along `axis`; the peer is a place in the group. Matched by the task's message number.
struct Send {
  Axis axis = Axis::Pipeline;
  std::uint32_t peer = 0;
  Bytes size;
  bool operator==(const Send&) const = default;
};
struct Receive {
  Axis axis = Axis::Pipeline;
  std::uint32_t peer = 0;
  Bytes size;
  bool operator==(const Receive&) const = default;
};
// Between device and host memory (offload).
struct Copy {
  bool to_host = true;
  Bytes size;
  bool operator==(const Copy&) const = default;
};
// The input pipeline hands over a microbatch, or the host does its own work: known host seconds, bytes read.
struct WaitForInput {
  Seconds host;
  Bytes size;
  bool operator==(const WaitForInput&) const = default;
};

using Work = std::variant<Compute, Collective, Send, Receive, Copy, WaitForInput>;

}  // namespace tandem
