// The kernels that an operator runs on one rank, phase by phase, as work without durations.
#pragma once
#include <string>
#include <vector>

#include "core/lower/shard.h"
#include "core/task/subject.h"
#include "core/task/work.h"

namespace tandem {

struct Kernel {
  Part part = Part::Main;
  Compute compute;
};

// Element-wise kernels are counted as fused kernels do them (one pass, nominal bytes); frameworks that run them
// unfused are the cost model's concern. Sources of byte counts stand beside each in kernels.cpp. `phase` is
// Forward or Recompute. Attention is made by attention_kernels below, since context parallelism cuts it.
std::vector<Kernel> forward_kernels(const Operator&, const Shard&, Phase phase);
// What the previous operator waits for.
std::vector<Kernel> input_gradient_kernels(const Operator&, const Shard&);
// What only the optimizer waits for; empty for operators whose parameter gradients come with the input
// gradient.
std::vector<Kernel> weight_gradient_kernels(const Operator&, const Shard&);

// One block of attention on this rank: its queries against `kv_length` keys.
struct AttentionBlock {
  std::int64_t heads = 1, kv_heads = 1, q_length = 0, kv_length = 0;
  AttentionMask mask = AttentionMask::Causal;
  // Scores that published figures count for each one of the block: more than one where context parallelism
  // leaves out keys that a causal mask hides.
  double counted = 1;
};
enum class AttentionPhase : std::uint8_t { Forward, Recompute, Backward };
std::vector<Kernel> attention_kernels(const Attention&, const AttentionBlock&, const Shard&, AttentionPhase);

// Bytes that attention itself keeps for its backward pass: softmax statistics (flash), or the score matrices.
Bytes attention_state_bytes(const Attention&, const AttentionBlock&, const Shard&);

// One of `pieces` equal parts of a kernel, cut along its rows.
Compute piece_of(const Compute&, std::int64_t pieces);

// A pass over memory, for kernels outside operators (optimizer, gradient norm, …).
Compute memory_pass(PassKind, Phase, double elements, double bytes_per_element, int launches = 1);

}  // namespace tandem
